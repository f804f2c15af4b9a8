import { DomainError, type DomainErrorCode } from '../core/errors.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { decodeError } from '../wire/errors.js';
import type { JsonValue } from '../wire/json/json.js';
import { accessOf, type Operation, operationNamed, serves } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import { type AnswerSize, isGrowing, MOST_KEYS, mostBytes } from './answer-bounds.js';
import { type Asked, callOf, outcomeOf } from './asked.js';
import { type Caller, NoAnswer } from './call.js';
import { CallFailures } from './call-failures.js';
import { NoEnvelope } from './envelope.js';
import { type Access, findLine, isLater, type Lines, noteOf, shownVersion, startOfServer } from './find-line.js';
import type { PieceReader } from './list-reader.js';
import { LEAST_HIDDEN, Secrets, type ServerTexts } from './secrets.js';
import type { AskedThing, CallOutcome, CallsObserverPort, Purpose, Sent } from './server.js';
import { createSessionKeeper, type LoginOutcome, type NoSession, type SessionKeeper } from './session.js';
import { logIn, SESSION_USELESS, TOKEN_REFUSED, whyClosed, whyNoSession } from './sign-in.js';
import type { TargetCredentials } from './signed-in-caller.js';
import { createTroubles, type Troubles } from './troubles.js';
import { UpstreamError } from './upstream-error.js';

/** The address, credentials and ports for one running server. */
export interface ExchangeOptions {
  readonly caller: Caller;
  readonly lines: Lines;
  /** `http://host:port`. */
  readonly origin: string;
  /** Without leading and trailing slashes; empty if there is none. */
  readonly webpath: string;
  /** The line that it is called as, whatever version it reports; null to detect it. */
  readonly revision: Revision | null;
  readonly credentials: TargetCredentials;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly observer?: CallsObserverPort | undefined;
  /** The most keys of a list, which limits the bytes of a list and of a configuration; default a million. */
  readonly mostKeys?: number;
}

/** The server that was found. */
export interface Known {
  readonly revision: Revision;
  readonly version: string;
  /** True if its version is later than the last known one. */
  readonly isLater: boolean;
  readonly apiRoot: string;
  readonly access: Access;
}

/** Milliseconds between two searches because of a refused credential. */
const SEARCH_AGAIN = 1_000;

/** Calls one server: finds its line, signs in, and tells its refusals from missing answers (docs/upstream.md). */
export class Exchange {
  readonly troubles: Troubles;
  readonly texts: ServerTexts;
  readonly #options: ExchangeOptions;
  readonly #caller: Caller;
  readonly #secrets: Secrets;
  readonly #failures: CallFailures;
  readonly #sessions: SessionKeeper;
  readonly #mostKeys: number;
  readonly #searches = new Map<Purpose, Promise<Known>>();
  readonly #listeners: (() => void)[] = [];
  #known: Known | null = null;
  /** True if another server may have replaced it since it was found. */
  #isDoubtful = false;
  #wasAway = false;
  #searchedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ExchangeOptions) {
    const { origin, credentials, clock, log } = options;
    this.#options = options;
    this.#secrets = new Secrets(credentials);
    this.texts = this.#secrets;
    this.#caller = withStruckHeaders(options.caller, this.#secrets);
    this.#mostKeys = options.mostKeys ?? MOST_KEYS;
    this.troubles = createTroubles(origin, clock, log);
    this.#failures = new CallFailures(origin, this.troubles, this.#secrets);
    this.#sessions = createSessionKeeper({
      login: (apiRoot) => this.#logIn(apiRoot),
      startedAt: (apiRoot, token) => startOfServer(apiRoot, token, this.#caller, clock),
      clock,
      onLost: () => this.#sessionEnded(),
    });
    for (const which of this.#secrets.short) log.warn({ upstream: origin }, tooShort(which));
    this.troubles.onChange(() => {
      const isAway = this.troubles.all().some(({ kind }) => kind === 'away');
      // A server that was away may be back with another version.
      if (this.#wasAway && !isAway) this.#isDoubtful = true;
      this.#wasAway = isAway;
      this.#changed();
    });
  }

  known(): Known | null {
    return this.#known;
  }

  /** Calls back when line, version or troubles have changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async find(purpose: Purpose = 'caller'): Promise<Known> {
    if (this.#known !== null && !this.#isDoubtful) return this.#known;
    const underWay = this.#searches.get(purpose) ?? this.#search(purpose).finally(() => this.#searches.delete(purpose));
    this.#searches.set(purpose, underWay);
    return underWay.catch((error: unknown) => {
      throw this.#failures.away(error, 'single calls', false);
    });
  }

  async ask<T>(asked: Asked<T>): Promise<Sent<T>> {
    const { clock, observer } = this.#options;
    const began = clock.monotonic();
    const ended = (outcome: CallOutcome) => {
      observer?.called({ operation: asked.operation, outcome, milliseconds: clock.monotonic() - began });
    };
    try {
      const sent = await this.#attempt(asked);
      ended('answered');
      return sent;
    } catch (error) {
      const outcome = error instanceof UpstreamError ? OUTCOMES[error.code] : undefined;
      ended(outcome === undefined || (outcome === 'refused' && asked.purpose === 'look') ? 'answered' : outcome);
      throw error;
    }
  }

  /** Notes the version that a status reports. */
  reported(version: string): void {
    const known = this.#known;
    if (known === null || known.version === version) return;
    const { lines, revision: wanted, webpath } = this.#options;
    const resolved = lines.resolve(version);
    const revision = wanted ?? (resolved.ok ? resolved.revision : null);
    // The line is searched for again if its API is at another path, or no line is known.
    if (revision === null || revision.root.paths(webpath).api !== known.apiRoot) this.#isDoubtful = true;
    else this.#becomes({ ...known, revision, version, isLater: isLater(resolved, wanted) }, noteOf(resolved, wanted));
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  async #logIn(apiRoot: string): Promise<LoginOutcome> {
    try {
      const outcome = await logIn(apiRoot, { caller: this.#caller, credentials: this.#options.credentials });
      if (outcome.kind === 'begun') this.#secrets.learn(outcome.token);
      return outcome;
    } catch (error) {
      this.#failures.loginFailed(error);
      throw error;
    }
  }

  #sessionEnded(): void {
    const { origin, log, observer } = this.#options;
    observer?.sessionLost();
    log.warn(
      { upstream: origin },
      'the session of Keyway has ended: somebody else signed in, or the server was restarted',
    );
  }

  #becomes(next: Known, note: string | null): Known {
    const { origin, log } = this.#options;
    const before = this.#known;
    this.#known = next;
    this.#isDoubtful = false;
    if (before !== null && before.version === next.version && before.revision === next.revision) return next;
    const fields = { upstream: origin, version: next.version, line: next.revision.id };
    if (note !== null) log.warn(fields, note);
    log.info(fields, before === null ? 'the server was found' : 'the server has become another version');
    if (next.revision.recordedFrom === null)
      log.warn(fields, 'no server of this line was measured: it is called by what is known of it');
    if (next.access === 'session') log.warn(fields, ONE_SESSION);
    this.#changed();
    return next;
  }

  async #search(purpose: Purpose): Promise<Known> {
    const { lines, webpath, revision, credentials, clock } = this.#options;
    this.#searchedAt = clock.monotonic();
    let none: NoSession | null = null;
    let given: string | null = null;
    const session = async (apiRoot: string) => {
      const answer = await this.#sessions.obtain(apiRoot, purpose);
      none = 'token' in answer ? null : answer;
      given = 'token' in answer ? answer.token : null;
      return given;
    };
    const asked = {
      caller: this.#caller,
      lines,
      webpath,
      revision,
      token: credentials.token,
      strike: (data: JsonValue) => this.#secrets.struckIn(data),
      ...(credentials.operator === null ? {} : { session }),
    };
    let finding = await findLine(asked);
    if (finding.kind === 'closed' && purpose === 'look') throw this.#failures.closedToLook(whyClosed(finding, none));
    if (finding.kind === 'closed' && given !== null) {
      this.#sessions.lost(given);
      finding = await findLine(asked);
    }
    if (finding.kind === 'closed') throw this.#failures.refused(whyClosed(finding, none));
    if (finding.kind === 'none') throw new NoEnvelope(finding.answers.join('; '));
    const { status, apiRoot, access, note } = finding;
    if (finding.revision === null) {
      const reason = `it reports version ${shownVersion(status.version)}, which no known line has: give --upstream-revision`;
      throw new NoEnvelope(reason);
    }
    return this.#becomes(
      { revision: finding.revision, version: status.version, isLater: finding.isLater, apiRoot, access },
      note,
    );
  }

  /** Returns the `Authorization` for a server, or null if it needs none. */
  async #authorization({ access, apiRoot }: Known, purpose: Purpose): Promise<string | null> {
    if (access === 'open') return null;
    if (access === 'token') return `Bearer ${this.#options.credentials.token}`;
    const answer = await this.#sessions.obtain(apiRoot, purpose).catch((error: unknown) => {
      throw this.#failures.away(error, 'sign-in', false);
    });
    if ('token' in answer) return `Bearer ${answer.token}`;
    if (purpose === 'look') return null;
    throw this.#failures.refused(whyNoSession(answer));
  }

  /** Returns the server to ask once more after a 401 to this credential, or null if that would be pointless. */
  async #afterUnauthorized(at: Known, shown: string | null, purpose: Purpose): Promise<Known | null> {
    if (at.access === 'session') {
      this.#sessions.lost(shown?.slice('Bearer '.length) ?? '');
      return at;
    }
    if (this.#options.clock.monotonic() - this.#searchedAt < SEARCH_AGAIN) return null;
    this.#isDoubtful = true;
    const now = await this.find(purpose);
    return now.access === at.access && now.apiRoot === at.apiRoot ? null : now;
  }

  /** Makes a call. Reads are repeated once if that may help, and any call once after a 401. */
  async #attempt<T>(asked: Asked<T>): Promise<Sent<T>> {
    const { purpose = 'caller', size = 'single' } = asked;
    const operation = operationNamed(asked.operation);
    const isRead = operation.effect.kind === 'reads';
    let retries = isRead ? 1 : 0;
    let signIns = 1;
    let at = await this.find(purpose);
    for (;;) {
      if (!serves(at.revision, operation)) throw new Error(`line ${at.revision.id} has no ${operation.name}`);
      const shown = isShownNothing(operation, at.revision) ? null : await this.#authorization(at, purpose);
      const pieces = asked.readPieces?.(at.revision, this.#mostKeys) ?? null;
      try {
        const sent = await this.#send(asked, operation, { at, shown, pieces });
        if (sent !== null) return sent;
        if (purpose === 'look') throw this.#failures.closedToLook(TOKEN_REFUSED);
        const next = signIns > 0 ? await this.#afterUnauthorized(at, shown, purpose) : null;
        signIns -= 1;
        if (next === null) throw this.#failures.refused(at.access === 'session' ? SESSION_USELESS : TOKEN_REFUSED);
        at = next;
      } catch (error) {
        pieces?.giveUp();
        if (error instanceof NoEnvelope) this.#isDoubtful = true;
        const fail = () => this.#failures.away(error, thingOf(operation, size), !isRead && mayHaveArrived(error));
        if (retries === 0 || !isWorthwhile(error, size)) throw fail();
        retries -= 1;
        const next = await this.find(purpose);
        // A large answer is requested again only if the server has changed.
        if (error instanceof NoEnvelope && isGrowing(size) && isSamePlace(at, next)) throw fail();
        at = next;
      }
    }
  }

  /** Sends one call. Resolves to null if the credential is refused. */
  async #send<T>(
    asked: Asked<T>,
    operation: Operation,
    {
      at,
      shown,
      pieces,
    }: { readonly at: Known; readonly shown: string | null; readonly pieces: PieceReader<T> | null },
  ): Promise<Sent<T> | null> {
    const { size = 'single', unknownKey } = asked;
    const secrets = this.#secrets;
    const isOpen = accessOf(operation, at.revision) === 'open';
    const of = thingOf(operation, size);
    const answerLimit = mostBytes(size, this.#mostKeys);
    const call = callOf(asked, operation, at, { authorization: shown, pieces, secrets, answerLimit });
    const sentAt = this.#options.clock.monotonic();
    const answer = await this.#caller.send(call);
    if (answer.status === TOO_LARGE) throw new DomainError('configRefused', tooLargeFor(call.body?.length ?? 0));
    const outcome = await outcomeOf(answer, asked, { line: at.revision, pieces, secrets });
    const answered = { sentAt, serverMilliseconds: answer.firstByteMilliseconds };
    if (outcome.kind === 'value') {
      this.#failures.answered(of, !isOpen);
      return { value: outcome.value, ...answered };
    }
    if (outcome.status === 401 && !isOpen) return null;
    // There is nothing in a list that could be refused.
    const decoded = size === 'list' ? null : decodeError(at.revision.errors, operation, outcome);
    // An open operation is refused with one of the line's own texts; other texts are not shown.
    const refusal = isOpen && decoded?.detail !== '' ? null : decoded;
    if (refusal === null) throw this.#failures.unknownFailure(outcome, of, operation.effect.kind !== 'reads');
    this.#failures.answered(of, !isOpen);
    if (refusal.code !== 'userNotFound' || unknownKey === undefined)
      throw new DomainError(refusal.code, secrets.inSentence(refusal.detail), refusal.retryAfter);
    return { value: unknownKey.value, ...answered };
  }
}

const ONE_SESSION =
  'the server has one session: when Keyway signs in, its own panel is signed out, and the other way round. Keyway signs in again for a caller alone, and every 30 s to 10 min where somebody else keeps taking it';

function tooShort(which: string): string {
  return `the ${which} for the server has less than ${LEAST_HIDDEN} characters: where the server says it, it is hidden in messages alone, and not in names, rules and other settings`;
}

/** Strikes credentials out of headers before those are cut off, because half a credential would not be found. */
function withStruckHeaders(caller: Caller, secrets: Secrets): Caller {
  return {
    async send(call) {
      const answer = await caller.send(call);
      // Seconds are a number, and a short credential may be one, too.
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

/** The kind of call that a read's outcome counts for. */
const THINGS: Readonly<Record<AnswerSize, AskedThing>> = {
  single: 'single calls',
  section: 'single calls',
  list: 'lists',
  configuration: 'configuration',
};

/**
 * Tells whether a call carries no credential. Servers may require one for the audit list though their line does not, so
 * it always carries one.
 */
function isShownNothing(operation: Operation, line: Revision): boolean {
  return operation.subject !== 'audit' && accessOf(operation, line) === 'open';
}

function thingOf({ effect }: Operation, size: AnswerSize): AskedThing {
  return effect.kind === 'reads' ? THINGS[size] : 'writes';
}

/** Tells whether to try again after this failure: not if it took time, or much of an answer. */
function isWorthwhile(error: unknown, size: AnswerSize): boolean {
  if (error instanceof NoEnvelope) return true;
  if (!(error instanceof NoAnswer) || error.kind === 'silent' || error.kind === 'too long') return false;
  return !(isGrowing(size) && error.hasBegun);
}

function isSamePlace(left: Known, right: Known): boolean {
  return left.apiRoot === right.apiRoot && left.revision === right.revision;
}

/** RFC 9110, 15.5.14. */
const TOO_LARGE = 413;

function tooLargeFor(bytes: number): string {
  return `the server refuses ${bytes} bytes for their size`;
}
