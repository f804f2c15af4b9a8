import { DomainError, type DomainErrorCode } from '../core/errors.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { decodeError } from '../wire/errors.js';
import { JsonSyntaxError, type JsonValue } from '../wire/json/json.js';
import { type Operation, type OperationName, operationNamed, serves } from '../wire/operations.js';
import { SchemaError } from '../wire/schema-check.js';
import type { Revision } from '../wire/traits/revision.js';
import { AnswerBounds, type AnswerSize, isGrowing } from './answer-bounds.js';
import { type Answer, type Call, type Caller, isSuccess, NoAnswer } from './call.js';
import { NoEnvelope, notAnEnvelope, readEnvelope } from './envelope.js';
import { type Access, findLine, isLater, type Lines, noteOf, shownVersion } from './find-line.js';
import type { PieceReader } from './list-reader.js';
import { LEAST_HIDDEN, Secrets, type ServerTexts } from './secrets.js';
import type { AskedThing, CallOutcome, CallsObserverPort, Purpose, Sent } from './server.js';
import { createSessionKeeper, type NoSession } from './session.js';
import { logIn, RETRY_REFUSED, SESSION_USELESS, TOKEN_REFUSED, whyClosed, whyNoSession } from './sign-in.js';
import type { TargetCredentials } from './signed-in-caller.js';
import { createTroubles, type Troubles } from './troubles.js';
import { UpstreamError } from './upstream-error.js';

/** What one running server is called with. */
export interface ExchangeOptions {
  readonly caller: Caller;
  readonly lines: Lines;
  readonly origin: string;
  readonly webpath: string;
  /** The line that it is called as, whatever version it reports; null to find out. */
  readonly revision: Revision | null;
  readonly credentials: TargetCredentials;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly observer?: CallsObserverPort | undefined;
  /** The most keys of its first list; default 250,000. */
  readonly mostKeys?: number | undefined;
}

/** One call of an operation. */
export interface Asked<T> {
  readonly operation: OperationName;
  /** The access key of the path. */
  readonly key?: string;
  /** Such as `a=b`; servers that do not know it leave it unread. */
  readonly query?: string;
  /** Given the line, so that the body is in its form. */
  readonly body?: (line: Revision) => Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly purpose?: Purpose | undefined;
  readonly onProgress?: Call['onProgress'];
  /** How much its answer may have; default `single`. */
  readonly size?: AnswerSize;
  /** Whether the request may have many megabytes, and take its time, as one with a large answer may. */
  readonly isLong?: boolean;
  /** What a success says. Throws `SchemaError` for data that is not of the line's form. */
  readonly read: (data: JsonValue, line: Revision) => T;
  /** What it stands for that the server does not know the key; a refusal like any other where it is not given. */
  readonly unknownKey?: { readonly value: T };
  /** The same as `read` from the whole answer, where a tree of it would be large; null for what is no success. */
  readonly readWhole?: (body: Buffer) => T | null;
  /** The same from the answer as it comes. */
  readonly readPieces?: (line: Revision, mostKeys: number) => PieceReader<T>;
}

/** The server that was found. */
export interface Known {
  readonly revision: Revision;
  readonly version: string;
  /** Whether it was found by a version that is later than the last known one. */
  readonly isLater: boolean;
  readonly apiRoot: string;
  readonly access: Access;
}

/** Calls one server, knows which line it speaks, and how to be let in. */
export interface Exchange {
  readonly troubles: Troubles;
  known(): Known | null;
  find(purpose?: Purpose): Promise<Known>;
  ask<T>(asked: Asked<T>): Promise<Sent<T>>;
  /** Called when line, version or trouble have become others. */
  onChange(listener: () => void): void;
  /** To be told of each version that a status reports. */
  reported(version: string): void;
  readonly texts: ServerTexts;
}

/** Seconds. */
const RETRY_AWAY = 5;
/** Milliseconds between two searches because a credential was refused. */
const SEARCH_AGAIN = 1_000;

/** Makes the calls to one server: finds its line, signs in, tells its refusals from no answer (docs/upstream.md). */
export function createExchange(options: ExchangeOptions): Exchange {
  const { origin, credentials, clock, log, observer } = options;
  const troubles = createTroubles(origin, clock, log);
  const bounds = new AnswerBounds(options.mostKeys);
  const secrets = new Secrets(credentials);
  const caller = withStruckHeaders(options.caller, secrets);
  for (const which of secrets.short) log.warn({ upstream: origin }, tooShort(which));
  /** Ends of logins, which say nothing of the call that needed them. */
  const loginFailures = new WeakSet<object>();
  const listeners: (() => void)[] = [];
  const changed = () => {
    for (const listener of listeners) listener();
  };
  let known: Known | null = null;
  /** Whether the server may have become another one since it was found. */
  let isDoubtful = false;
  let searchedAt = Number.NEGATIVE_INFINITY;
  const searches = new Map<Purpose, Promise<Known>>();
  const keeper = createSessionKeeper(
    async (apiRoot) => {
      try {
        const outcome = await logIn(apiRoot, { caller, credentials });
        if (outcome.kind === 'begun') secrets.learn(outcome.token);
        return outcome;
      } catch (error) {
        if (error instanceof Error) loginFailures.add(error);
        throw error;
      }
    },
    clock,
    () => {
      observer?.sessionLost();
      log.warn(
        { upstream: origin },
        'the session of Keyway has ended: somebody else signed in, or the server was restarted',
      );
    },
  );
  troubles.onChange(() => {
    // A server that was away may be back as another version.
    if (troubles.now() === null) isDoubtful = true;
    changed();
  });

  /** What a call ends with that was not answered by the API. */
  function away(error: unknown, of: AskedThing, mayHaveHappened: boolean): Error {
    if (!(error instanceof NoAnswer) && !(error instanceof NoEnvelope))
      return error instanceof Error ? error : new Error(String(error));
    const isSilent = error instanceof NoAnswer && error.kind === 'silent';
    const reason = secrets.inSentence(error.message);
    const { since } = troubles.met(thingOf(error, of), 'away', reason);
    const detail = `${origin}: ${reason}, since ${new Date(since).toISOString()}`;
    return new UpstreamError(
      isSilent ? 'upstreamSilent' : 'upstreamAway',
      mayHaveHappened ? `${detail}; the change may have been made` : detail,
      { mayHaveHappened, retryAfter: RETRY_AWAY },
    );
  }

  function thingOf(error: NoAnswer | NoEnvelope, of: AskedThing): AskedThing {
    if (error instanceof NoAnswer && error.kind === 'unreachable') return 'connection';
    return loginFailures.has(error) ? 'sign-in' : of;
  }

  function refused(reason: string, retryAfter = RETRY_REFUSED): UpstreamError {
    troubles.met('sign-in', 'refused', reason);
    return new UpstreamError('upstreamRefused', `${origin}: ${reason}`, { mayHaveHappened: false, retryAfter });
  }

  /** It was answered, by the API. */
  function isWell(of: AskedThing, isLetIn: boolean): void {
    troubles.over('connection');
    troubles.over(of);
    if (isLetIn) troubles.over('sign-in');
  }

  /** An envelope with a failure that no line has. */
  function odd({ status, text }: Refusal, of: AskedThing, mayHaveHappened: boolean): UpstreamError {
    const reason = `it answered ${status}: ${secrets.inSentence(text)}`;
    troubles.over('connection');
    troubles.met(of, 'away', reason);
    return new UpstreamError('upstreamAway', `${origin}: ${reason}`, { mayHaveHappened, retryAfter: RETRY_AWAY });
  }

  function becomes(next: Known, note: string | null): Known {
    const before = known;
    known = next;
    isDoubtful = false;
    if (before !== null && before.version === next.version && before.revision === next.revision) return next;
    const fields = { upstream: origin, version: next.version, line: next.revision.id };
    if (note !== null) log.warn(fields, note);
    log.info(fields, before === null ? 'the server was found' : 'the server has become another version');
    if (next.revision.recordedFrom === null)
      log.warn(fields, 'no server of this line was measured: it is called by what is known of it');
    if (next.access === 'session') log.warn(fields, ONE_SESSION);
    changed();
    return next;
  }

  async function search(purpose: Purpose): Promise<Known> {
    searchedAt = clock.monotonic();
    let none: NoSession | null = null;
    let given: string | null = null;
    const session = async (apiRoot: string) => {
      const answer = await keeper.obtain(apiRoot, purpose);
      none = 'token' in answer ? null : answer;
      given = 'token' in answer ? answer.token : null;
      return given;
    };
    const { lines, webpath, revision } = options;
    const { token, operator } = credentials;
    const asked = {
      caller,
      lines,
      webpath,
      revision,
      token,
      strike: (data: JsonValue) => secrets.struckIn(data),
      ...(operator === null ? {} : { session }),
    };
    let finding = await findLine(asked);
    if (finding.kind === 'closed' && given !== null) {
      keeper.lost(given);
      finding = await findLine(asked);
    }
    if (finding.kind === 'closed') throw refused(...whyClosed(finding, none));
    if (finding.kind === 'none') throw new NoEnvelope(finding.answers.join('; '));
    const { status, apiRoot, access, note } = finding;
    if (finding.revision === null) {
      const reason = `it reports version ${shownVersion(status.version)}, which no known line has: give --upstream-revision`;
      throw new NoEnvelope(reason);
    }
    return becomes(
      { revision: finding.revision, version: status.version, isLater: finding.isLater, apiRoot, access },
      note,
    );
  }

  async function find(purpose: Purpose = 'caller'): Promise<Known> {
    if (known !== null && !isDoubtful) return known;
    const underWay = searches.get(purpose) ?? search(purpose).finally(() => searches.delete(purpose));
    searches.set(purpose, underWay);
    return underWay.catch((error: unknown) => {
      throw away(error, 'single calls', false);
    });
  }

  /** The `Authorization` for a server, or null where none is needed. */
  async function authorization({ access, apiRoot }: Known, purpose: Purpose): Promise<string | null> {
    if (access === 'open') return null;
    if (access === 'token') return `Bearer ${credentials.token}`;
    const answer = await keeper.obtain(apiRoot, purpose);
    if ('token' in answer) return `Bearer ${answer.token}`;
    throw refused(...whyNoSession(answer));
  }

  /** Whether it is worth asking once more after a 401 to what was shown. */
  async function mayPass(at: Known, shown: string | null, purpose: Purpose): Promise<Known | null> {
    if (at.access === 'session') {
      keeper.lost(shown?.slice('Bearer '.length) ?? '');
      return at;
    }
    if (clock.monotonic() - searchedAt < SEARCH_AGAIN) return null;
    isDoubtful = true;
    const now = await find(purpose);
    return now.access === at.access && now.apiRoot === at.apiRoot ? null : now;
  }

  async function attempt<T>(asked: Asked<T>): Promise<Sent<T>> {
    const { operation: name, purpose = 'caller', size = 'single' } = asked;
    const operation = operationNamed(name);
    const isRead = operation.effect.kind === 'reads';
    const of = isRead ? THINGS[size] : 'writes';
    let retries = isRead ? 1 : 0;
    let signIns = 1;
    let at = await find(purpose);
    for (;;) {
      if (!serves(at.revision, operation)) throw new Error(`line ${at.revision.id} has no ${name}`);
      const shown = operation.access === 'open' ? null : await authorization(at, purpose);
      const bound = bounds.of(size);
      const pieces = asked.readPieces?.(at.revision, bound.keys) ?? null;
      const call = callOf(asked, operation, at, { authorization: shown, pieces, secrets, answerLimit: bound.bytes });
      const sentAt = clock.monotonic();
      try {
        const answer = await caller.send(call);
        if (answer.status === TOO_LARGE) throw new DomainError('configRefused', tooLargeFor(call.body?.length ?? 0));
        const outcome = await outcomeOf(answer, asked, { line: at.revision, pieces, secrets });
        const isOpen = operation.access === 'open';
        const answered = { sentAt, serverMilliseconds: answer.firstByteMilliseconds };
        if (outcome.kind === 'value') {
          isWell(of, !isOpen);
          bounds.taken(size, { bytes: pieces?.length ?? answer.body.length, keys: pieces?.keys ?? 0 });
          return { value: outcome.value, ...answered };
        }
        if (outcome.status !== 401 || isOpen) {
          // A list has nothing that could be refused.
          const decoded = size === 'list' ? null : decodeError(at.revision.errors, operation, outcome);
          // What anyone may ask for is refused by one of the line's own texts, and by nothing that anyone is to read.
          const refusal = isOpen && decoded?.detail !== '' ? null : decoded;
          if (refusal === null) throw odd(outcome, of, !isRead);
          isWell(of, !isOpen);
          if (refusal.code !== 'userNotFound' || asked.unknownKey === undefined)
            throw new DomainError(refusal.code, secrets.inSentence(refusal.detail), refusal.retryAfter);
          return { value: asked.unknownKey.value, ...answered };
        }
        const next = signIns > 0 ? await mayPass(at, shown, purpose) : null;
        signIns -= 1;
        if (next === null) throw refused(at.access === 'session' ? SESSION_USELESS : TOKEN_REFUSED);
        at = next;
      } catch (error) {
        pieces?.giveUp();
        if (error instanceof NoEnvelope) isDoubtful = true;
        const told = isTooLong(error) ? longerThan(error, bounds.exceeded(size)) : error;
        const fail = () => away(told, of, !isRead && mayHaveArrived(error));
        if (retries === 0 || !isWorthwhile(error, size)) throw fail();
        retries -= 1;
        const next = await find(purpose);
        // What costs much is asked for again only where something else stands now.
        if (error instanceof NoEnvelope && isGrowing(size) && isSamePlace(at, next)) throw fail();
        at = next;
      }
    }
  }

  return {
    troubles,
    texts: secrets,
    known: () => known,
    find,
    onChange: (listener) => void listeners.push(listener),
    async ask(asked) {
      const began = clock.monotonic();
      const ended = (outcome: CallOutcome) => {
        observer?.called({ operation: asked.operation, outcome, milliseconds: clock.monotonic() - began });
      };
      try {
        const sent = await attempt(asked);
        ended('answered');
        return sent;
      } catch (error) {
        ended((error instanceof UpstreamError ? OUTCOMES[error.code] : undefined) ?? 'answered');
        throw error;
      }
    },
    reported(version) {
      if (known === null || known.version === version) return;
      const resolved = options.lines.resolve(version);
      const revision = options.revision ?? (resolved.ok ? resolved.revision : null);
      // Where the API of that line stands elsewhere, or none is known, it is looked for anew.
      if (revision === null || revision.root.paths(options.webpath).api !== known.apiRoot) isDoubtful = true;
      else {
        const wanted = options.revision;
        becomes({ ...known, revision, version, isLater: isLater(resolved, wanted) }, noteOf(resolved, wanted));
      }
    },
  };
}

const ONE_SESSION =
  'the server has one session: when Keyway signs in, its own panel is signed out, and the other way round. Keyway signs in again for a caller alone, every 30 s at most, every 10 min where somebody else keeps taking it';

function tooShort(which: string): string {
  return `the ${which} for the server has less than ${LEAST_HIDDEN} characters: where the server says it, it is hidden in messages alone, and not in names, rules and other settings`;
}

/** Before anything of them is cut off: half a credential would be none that is found. */
function withStruckHeaders(caller: Caller, secrets: Secrets): Caller {
  return {
    async send(call) {
      const answer = await caller.send(call);
      // Seconds are a number, which a short credential may be as well.
      const hidden = (name: string, value: string) =>
        name === 'retry-after' ? secrets.struck(value) : secrets.inSentence(value);
      const headers = new Map([...answer.headers].map(([name, value]) => [name, hidden(name, value)]));
      return { ...answer, headers };
    },
    close: caller.close,
  };
}

const OUTCOMES: Readonly<Partial<Record<DomainErrorCode, CallOutcome>>> = {
  upstreamAway: 'away',
  upstreamSilent: 'silent',
  upstreamRefused: 'refused',
};

function mayHaveArrived(error: unknown): boolean {
  return (error instanceof NoAnswer || error instanceof NoEnvelope) && error.mayHaveArrived;
}

/** What the server says in its own words. */
interface Refusal {
  readonly kind: 'refusal';
  readonly status: number;
  readonly text: string;
}

type Outcome<T> = { readonly kind: 'value'; readonly value: T } | Refusal;

/** By what the outcome of a read is told. */
const THINGS: Readonly<Record<AnswerSize, AskedThing>> = {
  single: 'single calls',
  section: 'single calls',
  list: 'lists',
  configuration: 'configuration',
};

/** Whether to ask once more after this end: what has cost time, or much of an answer, would do so again. */
function isWorthwhile(error: unknown, size: AnswerSize): boolean {
  if (error instanceof NoEnvelope) return true;
  if (!(error instanceof NoAnswer) || error.kind === 'silent' || error.kind === 'too long') return false;
  return !(isGrowing(size) && error.hasBegun);
}

function isSamePlace(left: Known, right: Known): boolean {
  return left.apiRoot === right.apiRoot && left.revision === right.revision;
}

function isTooLong(error: unknown): error is NoAnswer {
  return error instanceof NoAnswer && error.kind === 'too long';
}

function longerThan(error: NoAnswer, isMost: boolean): NoAnswer {
  return isMost ? new NoAnswer(error.kind, `${error.message}; --upstream-most-keys allows more`, error) : error;
}

interface ReadWith<T> {
  readonly line: Revision;
  readonly pieces: PieceReader<T> | null;
  readonly secrets: Secrets;
}

/** Rejects with `NoEnvelope`, or with `NoAnswer` for more than is read. */
async function outcomeOf<T>(
  answer: Answer,
  { operation, read, readWhole }: Asked<T>,
  { line, pieces, secrets }: ReadWith<T>,
): Promise<Outcome<T>> {
  await pieces?.take(answer.body);
  const inWords = () => notAnEnvelope(answer, pieces?.length);
  try {
    const whole = isSuccess(answer.status) ? ((await pieces?.end()) ?? readWhole?.(answer.body) ?? null) : null;
    if (whole !== null) return { kind: 'value', value: whole };
    const envelope = readEnvelope({ ...answer, body: pieces?.unread() ?? answer.body });
    if (envelope === null) throw new NoEnvelope(inWords(), !wasTurnedAway(answer.status));
    if (envelope.ok) return { kind: 'value', value: read(struckFor(operation, envelope.data, secrets), line) };
    return { kind: 'refusal', status: envelope.status, text: envelope.text };
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new NoEnvelope(inWords(), true);
    if (error instanceof SchemaError)
      throw new NoEnvelope(`its answer is none of line ${line.id}: ${error.message}`, true);
    throw error;
  }
}

function struckFor(operation: OperationName, data: JsonValue, secrets: Secrets): JsonValue {
  return operation === 'listAudit' ? secrets.struckForStrangers(data) : secrets.struckIn(data);
}

/** RFC 9110, 15.5.14. */
const TOO_LARGE = 413;

function tooLargeFor(bytes: number): string {
  return `the server refuses ${bytes} bytes for their size`;
}

/** A page with such a status comes from whoever stands before the server, which has then got nothing (RFC 9110, 15.4, 15.5). */
function wasTurnedAway(status: number): boolean {
  return status >= 300 && status < 500;
}

/** Milliseconds for an exchange whose answer may be large, and for any other. */
const WHOLE_LARGE = 300_000;
const WHOLE_SMALL = 30_000;

interface CallWith<T> {
  readonly authorization: string | null;
  readonly pieces: PieceReader<T> | null;
  readonly secrets: Secrets;
  /** Bytes. */
  readonly answerLimit: number;
}

function callOf<T>(
  asked: Asked<T>,
  { name, method, path, effect }: Operation,
  at: Known,
  { authorization, pieces, secrets, answerLimit }: CallWith<T>,
): Call {
  const headers = new Map(Object.entries(asked.headers ?? {}));
  if (authorization !== null) headers.set('authorization', authorization);
  const given = asked.body?.(at.revision);
  const key = asked.key ?? '';
  if (effect.kind !== 'reads') secrets.give(key);
  const body = given && bodyOf(name, given, secrets);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const { onProgress } = asked;
  const query = asked.query === undefined ? '' : `?${asked.query}`;
  return {
    method,
    path: `${at.apiRoot}${path.replace('{key}', () => keyInPath(secrets.own(key)))}${query}`,
    headers,
    body,
    timeoutMilliseconds: asked.isLong === true || isGrowing(asked.size ?? 'single') ? WHOLE_LARGE : WHOLE_SMALL,
    answerLimit,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(pieces === null ? {} : { take: pieces.take }),
  };
}

/** The body as it is sent. A configuration is the server's own text as it is, and an audit entry whatever anybody wrote. */
function bodyOf(operation: OperationName, given: Buffer, secrets: Secrets): Buffer {
  if (operation === 'putConfig') return given;
  secrets.giveBody(given);
  return operation === 'addAudit' ? given : secrets.restored(given);
}

/** A key of dots would be a step between folders to whoever reads paths on the way (RFC 3986, 5.2.4). */
function keyInPath(accessKey: string): string {
  const encoded = encodeURIComponent(accessKey);
  return /^\.+$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded;
}
