import { andThen } from '../core/maybe-async.js';
import type { DnsLogEntry } from '../core/model.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { domainName } from '../wire/dns-values.js';
import { reasonOf } from './failure-reason.js';
import { CACHE, type ForwardedAnswer, type Forwarder } from './forwarder.js';
import { aliasAnswer, aliasesIn, ownAnswer } from './local-answers.js';
import { HEADER_BYTES, MAX_MESSAGE_BYTES, RCODE, typeName } from './message.js';
import { addressesOf, type Decision, type Policy } from './policy.js';
import { type Query, queryFor, readQuery } from './query.js';
import type { PendingEntry, QueryLog } from './query-log.js';
import type { RateLimit } from './rate-limit.js';
import { type DnsAnswer, replyLimit, UNREACHABLE, writeRefusal, writeReply } from './reply.js';
import type { Client, Responder } from './udp.js';

/** The settings for answering a query, read for each one, so that a change applies from the next query on. */
export interface AnsweringState {
  readonly policy: Policy;
  /** Returns the answer for a blocked name, by the question's type and whether the name does not exist at all. */
  readonly blockedAnswer: (type: number, isNameless: boolean) => DnsAnswer;
  /** Null without a usable upstream. */
  readonly forwarder: Forwarder | null;
  /** Null on loopback. */
  readonly rateLimit: RateLimit | null;
  /** In bytes. */
  readonly mostUdpBytes: number;
}

export interface AnsweringCounts {
  queries: number;
  blocked: number;
}

export interface AnsweringOptions {
  readonly state: () => AnsweringState;
  /** Tells whether this name's address is being looked up for Keyway itself. */
  readonly isOwnLookup: (name: string) => boolean;
  readonly queryLog: QueryLog;
  readonly counts: AnsweringCounts;
  readonly clock: ClockPort;
  readonly log: LogPort;
}

/** Answers messages: own names first, then blocked ones, then the upstream. Never throws, never rejects. */
export function createResponder(options: AnsweringOptions): Responder {
  let faults = 0;
  return (packet, client) => {
    try {
      return respond(options, packet, client);
    } catch (error) {
      faults += 1;
      if (faults === 1) options.log.error({ reason: reasonOf(error) }, 'a DNS query could not be answered');
      return packet.length < HEADER_BYTES
        ? null
        : writeRefusal({ kind: 'refused', packet, rcode: RCODE.servFail, questionEnd: null, edns: null }, 512);
    }
  };
}

function respond(
  { state, isOwnLookup, queryLog, counts, clock }: AnsweringOptions,
  packet: Buffer,
  client: Client,
): Buffer | null | Promise<Buffer | null> {
  const query = readQuery(packet);
  if (query.kind === 'ignored') return null;
  const now = state();
  const pace = client.transport === 'udp' ? (now.rateLimit?.check(client.address) ?? 'answer') : 'answer';
  if (pace === 'drop') return null;
  if (query.kind === 'refused') return writeRefusal(query, now.mostUdpBytes);
  const form = { limit: limitFor(query, client, now), ownUdpBytes: now.mostUdpBytes };
  if (pace === 'truncate') return writeReply(query, UNREACHABLE_BY_UDP, { ...form, limit: 0, age: 0 });
  counts.queries += 1;
  const decision = now.policy.decide(query.name);
  const askedAt = clock.monotonic();
  const logged: PendingEntry = {
    time: clock.now(),
    client: plainAddress(client.address),
    name: query.name === '' ? '.' : query.name,
    type: typeName(query.type),
    outcome: decision.outcome,
    rule: decision.logged,
    source: decision.logged === null ? null : decision.source,
    upstream: null,
    elapsed: 0,
  };
  queryLog.add(logged);
  const told = (answer: DnsAnswer, outcome: DnsLogEntry['outcome'], upstream: string | null = null, age = 0) => {
    queryLog.settle(logged, { outcome, upstream, elapsed: clock.monotonic() - askedAt });
    return writeReply(query, answer, { ...form, age });
  };
  const blocked = ({ isNameless, logged: rule, source }: Decision, upstream: string | null = null) => {
    counts.blocked += 1;
    Object.assign(logged, { rule, source });
    return told(now.blockedAnswer(query.type, isNameless), 'blocked', upstream);
  };
  if (decision.outcome === 'blocked') return blocked(decision);
  const addresses = addressesOf(decision.targets);
  if (addresses.length > 0) return told(ownAnswer(addresses, query.type), 'rewritten');
  const [alias] = decision.targets;
  const asked = alias === undefined ? query : isLegal(alias) ? queryFor(query, alias) : null;
  if (asked === null) return told(UNREACHABLE, 'failed');
  const reply = ({ answer, age, upstream }: ForwardedAnswer) => {
    if (answer.rcode === RCODE.servFail) return told(answer, 'failed', null, age);
    if (alias !== undefined) return told(aliasAnswer(answer, asked), 'rewritten', null, age);
    const isCached = upstream === CACHE;
    const hidden = now.policy.looksAtAliases ? now.policy.decideAnswer(aliasesIn(answer, asked)) : null;
    if (hidden !== null) return blocked(hidden, isCached ? null : upstream);
    return told(answer, isCached ? 'cached' : 'allowed', isCached ? null : upstream, age);
  };
  // Asking the upstream for its own address would deadlock; the machine's other name servers may know it.
  if (isOwnLookup(asked.name) || now.forwarder === null) return reply({ answer: UNREACHABLE, age: 0, upstream: null });
  return andThen(now.forwarder.resolve(asked), reply);
}

/** Tells whether a name may be asked for. */
function isLegal(name: string): boolean {
  return domainName(name) === name && !name.startsWith('*.');
}

/** The code must not look like a failure: the client is to come back over TCP. */
const UNREACHABLE_BY_UDP = { ...UNREACHABLE, rcode: RCODE.noError, extendedError: null };

function limitFor(query: Query, client: Client, { mostUdpBytes }: AnsweringState): number {
  return client.transport === 'tcp' ? MAX_MESSAGE_BYTES : replyLimit(query.edns, mostUdpBytes);
}

/** Returns the IPv4 address of an IPv4 client on an IPv6 socket; any other address unchanged. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
