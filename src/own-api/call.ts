import type { FastifyRequest } from 'fastify';
import type { Actors } from '../core/actors.js';
import type { Backend } from '../core/backend.js';
import type { Core } from '../core/core.js';
import type { DomainError } from '../core/errors.js';
import type { KeyMakers } from '../core/keys/key-makers.js';
import type { KeyNotes } from '../core/keys/key-notes.js';
import { createWaiting, type Waiting } from '../core/keys/waiting.js';
import { LongPolls } from '../core/long-polls.js';
import type { AnnouncedServer, ListInUse } from '../core/model.js';
import type { NamedTokens } from '../core/named-tokens.js';
import type { OperationUse } from '../core/operation-use.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import type { Principal } from '../core/principal.js';
import { RecentMap } from '../core/recent-map.js';
import { SharedAnswers } from '../core/shared-answers.js';
import { Turns } from '../core/steps.js';
import { ExplainedVersions } from '../document/explained-versions.js';
import type { OfferFacts } from '../subscription/offer.js';
import { successEnvelope } from '../wire/envelope.js';
import { type Encodable, encodeJson } from '../wire/json/write-json.js';
import type { ServerFile } from '../wire/traits/server-file.js';
import { failureRow, failureText, OwnError, wireCode } from './errors.js';
import type { Events } from './events.js';
import type { Jobs } from './jobs.js';
import type { KeptAddresses } from './kept-addresses.js';
import { KeyChanges } from './key-changes.js';
import { type ChangesPage, KeyPages } from './key-pages.js';
import { KnownFingerprints } from './known-fingerprints.js';
import { LargeAnswers } from './large-answers.js';
import type { QueryValues } from './operation.js';
import type { Rotations } from './rotations.js';
import type { EventSource } from './streams.js';

/** Everything that calls work on: the state, and what Keyway's own interface keeps. */
export interface OwnContext {
  readonly core: Core;
  readonly backend: Backend;
  readonly named: NamedTokens;
  readonly makers: KeyMakers;
  readonly notes: KeyNotes;
  readonly actors: Actors;
  readonly addresses: KeptAddresses;
  /** The facts of the server that addresses name. */
  readonly offerFacts: () => Promise<OfferFacts>;
  /** Keeps the address that links name, and resolves to it. Rejects with `conflict` where something else decides it, and with `invalidBody`. */
  readonly keepAddress: (host: string, port: number | null) => Promise<Pick<AnnouncedServer, 'host' | 'port'>>;
  readonly use: OperationUse;
  /** Subscriptions are answered by their tokens. */
  readonly servesTokens: boolean;
  /** The announced ends of revisions, in milliseconds since the epoch. */
  readonly sunsets: ReadonlyMap<string, number>;
  /** How servers of each line read a configuration file. */
  readonly serverFiles: readonly ServerFile[];
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  readonly fingerprints: KnownFingerprints;
  readonly versions: ExplainedVersions;
  readonly jobs: Jobs;
  readonly rotations: Rotations;
  readonly keyChanges: KeyChanges;
  readonly keyPages: KeyPages;
  /** Pages of changes that callers who see all keys are told. */
  readonly sharedChanges: SharedAnswers<Promise<ChangesPage | null>>;
  /** Lists of events that callers who see all keys are told. */
  readonly sharedEvents: SharedAnswers<OwnAnswer>;
  /** Takes turns between calls that read many keys. */
  readonly turns: Turns;
  /** Calls that wait for the next change of keys. */
  readonly keysWaiting: Waiting;
  readonly events: Events;
  readonly eventsWaiting: Waiting;
  readonly polls: LongPolls;
  readonly largeAnswers: LargeAnswers;
  /** Lists of the DNS server that were switched off by a call, and that its settings cannot name any more, by their URLs. */
  readonly forgottenLists: RecentMap<string, ListInUse>;
}

const MOST_FORGOTTEN = 100;

/** The context of the calls to one gateway. */
export function createOwnContext(
  parts: Omit<
    OwnContext,
    | 'fingerprints'
    | 'versions'
    | 'keyChanges'
    | 'keyPages'
    | 'turns'
    | 'sharedChanges'
    | 'sharedEvents'
    | 'keysWaiting'
    | 'eventsWaiting'
    | 'polls'
    | 'largeAnswers'
    | 'forgottenLists'
  >,
): OwnContext {
  const { keys } = parts.core;
  const polls = new LongPolls();
  return {
    ...parts,
    fingerprints: new KnownFingerprints(),
    versions: new ExplainedVersions(),
    keyChanges: new KeyChanges(keys, parts),
    keyPages: new KeyPages(parts.clock),
    turns: new Turns(),
    sharedChanges: new SharedAnswers(parts.clock),
    sharedEvents: new SharedAnswers(parts.clock),
    keysWaiting: createWaiting(keys.changes),
    eventsWaiting: createWaiting(parts.events),
    polls,
    largeAnswers: new LargeAnswers(polls),
    forgottenLists: new RecentMap(MOST_FORGOTTEN),
  };
}

/**
 * Follows keys that are held elsewhere for some milliseconds. While their holder is away they are as last known.
 */
export async function follow({ backend }: Pick<OwnContext, 'backend'>, milliseconds: number): Promise<void> {
  try {
    await backend.replica?.lastKnown(milliseconds);
  } catch {
    // The next look asks again.
  }
}

/** A call whose caller was admitted, and whose query and body fit their schemas. */
export interface OwnCall {
  readonly context: OwnContext;
  readonly principal: Principal;
  readonly request: FastifyRequest;
  /** The root of this interface at the mount that was called, such as `/panel/keyway/v1`. */
  readonly root: string;
  /** The parts of the path in braces, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryValues;
  /** The body that its row's schema describes; undefined where that has none. */
  readonly body: unknown;
  /**
   * Resolves once it is the turn of this call and its credential may have one more large answer; to be awaited before
   * one is made. Rejects with `tooManyPolls`.
   */
  readonly awaitPlace: () => Promise<void>;
}

/** A success; `payload` is the whole envelope. */
export interface OwnAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly payload: string | Buffer | readonly Buffer[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A stream of events in place of an answer. */
export interface OwnStream {
  readonly stream: EventSource;
}

export type OwnHandler = (call: OwnCall) => OwnAnswer | OwnStream | Promise<OwnAnswer | OwnStream>;

const LONGEST_IDEMPOTENCY_KEY = 255;

/** The `Idempotency-Key` of a call; null without one. Throws `invalidQuery`. */
export function idempotencyKeyOf({ request }: OwnCall): string | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && key !== '' && key.length <= LONGEST_IDEMPOTENCY_KEY) return key;
  throw new OwnError('invalidQuery', `Idempotency-Key: expected 1 to ${LONGEST_IDEMPOTENCY_KEY} characters`);
}

/** A success of this data. */
export const answer = (data: Encodable): OwnAnswer => ({ payload: successEnvelope(data) });

/** A change that was done: a success, or 507 with the same data where the change is in memory alone. */
export function answerOfChange(data: Encodable, unsaved: DomainError | null): OwnAnswer {
  if (unsaved === null) return answer(data);
  const failure = { ok: false, error: failureText(unsaved), code: wireCode(unsaved.code), data };
  return { status: failureRow(unsaved.code).status, payload: encodeJson(failure) };
}

/** Gives a handler its body typed; it has been found to fit its row's schema. */
export const withBody =
  <Body>(handler: (call: OwnCall, body: Body) => OwnAnswer | Promise<OwnAnswer>): OwnHandler =>
  (call) =>
    handler(call, call.body as Body);
