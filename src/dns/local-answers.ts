import { isIP } from 'node:net';
import { addressBytes } from '../core/caller-network.js';
import type { DnsRewrite, ResolverSettings } from '../core/model.js';
import { domainName } from '../wire/dns-values.js';
import { CLASS_IN, HEADER_BYTES, RCODE, readRecord, TYPE } from './message.js';
import { type DnsAnswer, EXTENDED_ERROR, emptyAnswer } from './reply.js';

/** Seconds for which clients may keep a local answer: short, so that a changed setting soon shows. */
const LOCAL_TTL = 60;
/** The name of a record that stands for the question's: a pointer to it (RFC 1035 section 4.1.4). */
const QUESTION_POINTER = 0xc000 | HEADER_BYTES;

function record(type: number, data: Buffer, ttl = LOCAL_TTL): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(QUESTION_POINTER, 0);
  fixed.writeUInt16BE(type, 2);
  fixed.writeUInt16BE(CLASS_IN, 4);
  fixed.writeUInt32BE(ttl, 6);
  fixed.writeUInt16BE(data.length, 10);
  return Buffer.concat([fixed, data]);
}

/** Lets resolvers keep a negative answer (RFC 2308 section 3). The names in it exist nowhere (RFC 6761 section 6.4). */
const SOA = record(TYPE.soa, soaData(LOCAL_TTL));

function soaData(ttl: number): Buffer {
  const numbers = Buffer.alloc(20);
  for (const [index, value] of [1, 3600, 600, 86_400, ttl].entries()) numbers.writeUInt32BE(value, index * 4);
  return Buffer.concat([wireName('keyway.invalid'), wireName('nobody.invalid'), numbers]);
}

function wireName(name: string): Buffer {
  return Buffer.concat([
    ...name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.alloc(1),
  ]);
}

function localAnswer(
  rcode: number,
  records: Buffer,
  kind: { answers: number; extendedError: number | null },
): DnsAnswer {
  return {
    rcode,
    authoritative: true,
    authenticated: false,
    records,
    answers: kind.answers,
    authorities: 1 - kind.answers,
    additionals: 0,
    ttlOffsets: [6],
    extendedError: kind.extendedError,
  };
}

function addressAnswer(address: string, extendedError: number | null, ttl = LOCAL_TTL): DnsAnswer {
  const data = addressBytes(address);
  return localAnswer(RCODE.noError, record(data.length === 4 ? TYPE.a : TYPE.aaaa, data, ttl), {
    answers: 1,
    extendedError,
  });
}

const NO_DATA = localAnswer(RCODE.noError, SOA, { answers: 0, extendedError: null });
const BLOCKED = { extendedError: EXTENDED_ERROR.blocked };
const REFUSED = emptyAnswer(RCODE.refused, EXTENDED_ERROR.blocked);

/** Makes the answers for blocked names of every type. */
export function createBlockedAnswers({
  blockingMode,
  blockedTtl,
}: Pick<ResolverSettings, 'blockingMode' | 'blockedTtl'>): (type: number) => DnsAnswer {
  const ttl = Math.min(blockedTtl, MOST_TTL);
  const soa = record(TYPE.soa, soaData(ttl), ttl);
  const noName = localAnswer(RCODE.nxDomain, soa, { answers: 0, ...BLOCKED });
  const noData = localAnswer(RCODE.noError, soa, { answers: 0, ...BLOCKED });
  const v4 = addressAnswer('0.0.0.0', EXTENDED_ERROR.blocked, ttl);
  const v6 = addressAnswer('::', EXTENDED_ERROR.blocked, ttl);
  return (type) => {
    if (blockingMode === 'refused') return REFUSED;
    if (blockingMode === 'nxdomain') return noName;
    if (type === TYPE.a || type === TYPE.any) return v4;
    return type === TYPE.aaaa ? v6 : noData;
  };
}

/** The highest TTL that is one (RFC 2181 section 8). */
const MOST_TTL = 0x7fff_ffff;

/** The operator's own names. */
export type CustomDomains = ReturnType<typeof createCustomDomains>;

interface CustomEntry {
  /** The address, or the name whose addresses are the answer. */
  readonly to: string;
  /** Null for a name. */
  readonly answer: DnsAnswer | null;
}

/** An own name that stands for another one. */
export interface Alias {
  readonly alias: string;
}

/** Reads the setting; what is no name, or leads to none and to no address, is left out. */
export function createCustomDomains(rewrites: readonly DnsRewrite[]) {
  const exact = new Map<string, CustomEntry>();
  const below = new Map<string, CustomEntry>();
  const ignored: string[] = [];
  for (const { domain, answer } of rewrites) {
    const name = domainName(domain.trim());
    const entry = entryOf(answer.trim());
    if (name === null || entry === null) ignored.push(domain);
    else if (name.startsWith('*.')) below.set(name.slice(2), entry);
    else exact.set(name, entry);
  }

  function find(name: string): CustomEntry | null {
    const own = exact.get(name);
    if (own !== undefined) return own;
    if (below.size === 0) return null;
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const entry = below.get(name.slice(dot + 1));
      if (entry !== undefined) return entry;
    }
    return null;
  }

  function answerOf({ to, answer }: CustomEntry, type: number): DnsAnswer | Alias {
    if (answer === null) return type === TYPE.a || type === TYPE.aaaa ? { alias: to } : NO_DATA;
    const own = isIP(to) === 4 ? TYPE.a : TYPE.aaaa;
    return type === own || type === TYPE.any ? answer : NO_DATA;
  }

  return {
    /**
     * The answer when a custom domain covers the name: its own entry, else the `*.` entry of the nearest name above it. Its
     * address, the name to ask for instead, or no data for another type (the name exists here alone). Null when none covers it.
     */
    answer(name: string, type: number): DnsAnswer | Alias | null {
      const entry = find(name);
      return entry === null ? null : answerOf(entry, type);
    },
    /** The target of the entry that covers a name; null when none does. */
    leadsTo: (name: string): string | null => find(name)?.to ?? null,
    /** The address of the entry of exactly this name, or null. */
    address(name: string): string | null {
      const { to = '' } = exact.get(name.toLowerCase()) ?? {};
      return isIP(to) === 0 ? null : to;
    },
    /** Entries that are none, as they were written. */
    ignored,
  };
}

function entryOf(to: string): CustomEntry | null {
  if (isIP(to) !== 0) return to.includes('%') ? null : { to, answer: addressAnswer(to, null) };
  const name = domainName(to);
  return name === null || name.startsWith('*.') ? null : { to: name, answer: null };
}

/** The addresses in an answer for another name, as the answer for the name of the question. */
export function addressesAsOwn(answer: DnsAnswer, questionBytes: number, type: number): DnsAnswer {
  if (answer.rcode !== RCODE.noError) return answer;
  // Names in the records may point into the question, of which the length alone counts.
  const message = Buffer.concat([Buffer.alloc(HEADER_BYTES + questionBytes), answer.records]);
  const found: Buffer[] = [];
  let offset = HEADER_BYTES + questionBytes;
  for (let index = 0; index < answer.answers; index++) {
    const place = readRecord(message, offset);
    if (place === null) break;
    if (place.type === type)
      found.push(record(type, message.subarray(place.dataOffset, place.end), message.readUInt32BE(place.ttlOffset)));
    offset = place.end;
  }
  if (found.length === 0) return NO_DATA;
  const size = found[0]?.length ?? 0;
  return {
    ...answer,
    authoritative: true,
    authenticated: false,
    records: Buffer.concat(found),
    answers: found.length,
    authorities: 0,
    additionals: 0,
    ttlOffsets: found.map((_, index) => index * size + 6),
  };
}
