import { messageOf } from '../../core/errors.js';
import { PerKeyQueue } from '../../core/per-key-queue.js';
import type { ClockPort, LogPort } from '../../core/ports.js';
import { UnfitDatabase } from './changes.js';
import { type Connections, StatementError } from './connection.js';
import type { Jitter } from './jitter.js';
import type { Looked } from './statements.js';

export interface LooksOptions {
  /** Asks whether there is anything new, and reads it. */
  readonly poll: () => Promise<void>;
  readonly read: (what: Looked) => Promise<void>;
  readonly connections: Pick<Connections, 'renew'>;
  readonly clock: ClockPort;
  readonly jitter: Jitter;
  readonly log: LogPort;
  /** Milliseconds between two looks, varied by half of that either way. */
  readonly pollMilliseconds?: number;
  /** Milliseconds between looks for requests about unknown keys; default 25. */
  readonly lookUpMilliseconds?: number;
  readonly observe?: DurationsObserver;
}

/** Called with the milliseconds that an operation of the database took. */
export type DurationsObserver = (operation: 'look' | 'write' | 'batch', milliseconds: number) => void;

export interface LooksStatus {
  /** Milliseconds since the moment whose state is in memory. */
  readonly age: number;
  /** Why the last look failed; null if it did not. */
  readonly failure: string | null;
  /** The same if the database answers, but this Keyway must not serve its state. */
  readonly refusal: string | null;
  /** Counts since the start. */
  readonly looks: number;
}

const POLL = 400;
/** In milliseconds. */
const MOST_BACKOFF = 1_500;
/** Milliseconds between looks for requests about unknown keys. */
const LOOK_UP = 25;
const AWAY = 'the database does not answer; what was last known is served meanwhile';
const UNFIT = 'the database is not one that this Keyway may use; what was last known is served meanwhile';
const KINDS: readonly Looked[] = ['state', 'connections', 'all'];

/** Looks at the database periodically and on request, one look of a kind at a time, and reports failures. */
export class Looks {
  readonly #options: LooksOptions;
  readonly #queue = new PerKeyQueue();
  /** Looks that have not begun; callers share them until they do. */
  readonly #next = new Map<Looked, Promise<void>>();
  #goodAt: number;
  #failure: string | null = null;
  #refusal: string | null = null;
  /** Counted since the last look that succeeded. */
  #failures = 0;
  #count = 0;
  #timer: NodeJS.Timeout | null = null;
  /** The look for unknown keys that waits for its time. */
  #asked: Promise<void> | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(options: LooksOptions) {
    this.#options = options;
    this.#goodAt = options.clock.monotonic();
  }

  /** Schedules the next periodic look, unless one is scheduled. */
  schedule(): void {
    if (this.#isStopped || this.#timer !== null) return;
    const { pollMilliseconds: pause = POLL, jitter, poll } = this.#options;
    const backoff = this.#failures === 0 ? pause : Math.min(MOST_BACKOFF, pause * this.#failures);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#queue.run('all', () => this.#look(poll)).catch(() => undefined);
    }, jitter(backoff));
  }

  /**
   * Resolves after a look that begins after the call, shared by all callers until then. A partial look never waits for
   * a full one.
   */
  fresh(what: Looked): Promise<void> {
    if (this.#isStopped) return Promise.reject(new StatementError('not sent', 'Keyway is shutting down'));
    const present = this.#next.get(what);
    if (present !== undefined) return present;
    const coming = this.#queue.run(what, async () => {
      // Even if nothing is under way, so that callers in this turn share it.
      await Promise.resolve();
      this.#next.delete(what);
      if (what === 'all') this.#unschedule();
      await this.#look(() => this.#options.read(what));
    });
    this.#next.set(what, coming);
    return coming;
  }

  /** Does what `fresh` does for requests about unknown keys, with a limited number of looks a second. */
  lookUp(): Promise<void> {
    const { clock, lookUpMilliseconds = LOOK_UP } = this.#options;
    const wait = this.#askedAt + lookUpMilliseconds - clock.monotonic();
    const ask = () => {
      this.#askedAt = clock.monotonic();
      this.#asked = null;
      return this.fresh('state');
    };
    if (wait <= 0) return ask();
    this.#asked ??= new Promise((resolve) => setTimeout(resolve, wait)).then(ask);
    return this.#asked;
  }

  /** Looks because of a hint that the state has changed. */
  hint(): void {
    if (!this.#isStopped) this.fresh('state').catch(() => undefined);
  }

  /** Tells whether the last look failed. */
  isFailing(): boolean {
    return this.#failure !== null;
  }

  status(): LooksStatus {
    const age = this.#options.clock.monotonic() - this.#goodAt;
    return { age, failure: this.#failure, refusal: this.#refusal, looks: this.#count };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unschedule();
    await Promise.all(KINDS.map((kind) => this.#queue.run(kind, async () => undefined)));
  }

  #unschedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #look(read: () => Promise<void>): Promise<void> {
    const { clock, log, observe } = this.#options;
    const began = clock.monotonic();
    this.#count += 1;
    try {
      await read();
      observe?.('look', clock.monotonic() - began);
      this.#goodAt = began;
      if (this.#failure !== null) log.info({}, 'the database answers again');
      this.#failure = null;
      this.#refusal = null;
      this.#failures = 0;
    } catch (error) {
      this.#fail(error);
      throw error;
    } finally {
      this.schedule();
    }
  }

  #fail(error: unknown): void {
    const { log, connections } = this.#options;
    this.#failures += 1;
    const words = messageOf(error);
    const isUnfit = error instanceof UnfitDatabase;
    if (this.#failure === null || isUnfit !== (this.#refusal !== null))
      log.error({ reason: words }, isUnfit ? UNFIT : AWAY);
    this.#failure = words;
    this.#refusal = isUnfit ? words : null;
    // After a fail-over the name may have led to the wrong server for a moment.
    if (isUnfit) connections.renew();
  }
}
