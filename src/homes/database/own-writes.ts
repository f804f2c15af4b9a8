import { DomainError } from '../../core/errors.js';
import type { AccessKey } from '../../core/model.js';
import type { ClockPort, LogPort } from '../../core/ports.js';
import type { Follower } from './follower.js';
import type { Jitter } from './jitter.js';
import { createSharedCreates, type WrittenCreates } from './shared-creates.js';
import { WRITES, type WriteStatement, withKey } from './statements.js';
import type { NotDone, Patience, Writes, Written } from './writes.js';

export interface OwnWritesOptions {
  readonly writes: Pick<Writes, 'write' | 'refusal'>;
  readonly follower: Pick<Follower, 'fresh' | 'status' | 'wrote'>;
  /** Called after each commit. */
  readonly committed: () => void;
  readonly clock: ClockPort;
  readonly jitter: Jitter;
  readonly log: LogPort;
}

/** The error code of a write that did not happen. */
type Refusal = 'saveFailed' | 'backendAway';

/**
 * The whole reason for callers without a credential, who may ask for a subscription or add to the audit list; details
 * are in the log.
 */
export const TO_STRANGERS = 'the database did not answer';
/** In milliseconds. */
const SHOWING = 10_000;

/** Writes this gateway's changes to the state; each is visible here before it is answered. */
export class OwnWrites {
  /** The number of writes by outcome, since the start. */
  readonly counts = { done: 0, nothing: 0, unknown: 0 };
  readonly #options: OwnWritesOptions;
  readonly #createShared: (key: AccessKey) => Promise<void>;

  constructor(options: OwnWritesOptions) {
    this.#options = options;
    this.#createShared = createSharedCreates({
      write: (keys, patience) => this.#writeCreates(keys, patience),
      errorOf: (written) => this.#errorOf(written, 'saveFailed'),
      clock: options.clock,
    });
  }

  /** Executes a statement; never rejects. */
  async write(statement: WriteStatement, patience?: Patience): Promise<Written> {
    const written = await this.#options.writes.write(statement, patience);
    this.counts[written.kind] += 1;
    if (written.kind === 'done') this.#options.committed();
    return written;
  }

  /** Resolves once the committed write is visible here, so that the next answer is not behind this one. */
  async showing(): Promise<void> {
    const { clock, follower, jitter } = this.#options;
    const until = clock.monotonic() + SHOWING;
    for (;;) {
      try {
        return await follower.fresh('state');
      } catch {
        if (clock.monotonic() > until) throw new DomainError('outcomeUnknown', 'it cannot be read back');
        await new Promise((resolve) => setTimeout(resolve, jitter(100)));
      }
    }
  }

  async save(statement: WriteStatement, refusal: Refusal = 'saveFailed'): Promise<void> {
    await this.#show(await this.write(statement), refusal);
  }

  /** Saves a change that depends on an expected value; returns false if the value differs, and nothing has changed. */
  async saveExpecting(statement: WriteStatement): Promise<boolean> {
    const written = await this.write(statement);
    await this.#show(written, 'saveFailed');
    return written.kind === 'done' && written.outcome === 'done';
  }

  /** Saves a change of one key, which then becomes visible without a look if nothing came in between. */
  async saveKey(accessKey: string, statement: WriteStatement): Promise<void> {
    await (await this.#writeKey(accessKey, statement)).show();
  }

  async createKey(key: AccessKey): Promise<void> {
    // While writes are refused, each create is sent alone, so that it does not wait for another's.
    if (this.#options.writes.refusal() === null) await this.#createShared(key);
    else await (await this.#writeCreates([key])).show();
  }

  async #writeKey(accessKey: string, statement: WriteStatement, patience?: Patience): Promise<WrittenCreates> {
    const { stateMark } = this.#options.follower.status().seen;
    const written = await this.write(withKey(statement, accessKey, stateMark), patience);
    return { written, show: () => this.#show(written, 'saveFailed', stateMark) };
  }

  async #writeCreates(created: readonly AccessKey[], patience?: Patience): Promise<WrittenCreates> {
    const [first, ...others] = created;
    const statement = WRITES.createKeys(created, true);
    if (first !== undefined && others.length === 0) return this.#writeKey(first.accessKey, statement, patience);
    const written = await this.write(statement, patience);
    return { written, show: () => this.#show(written, 'saveFailed') };
  }

  /** Resolves once the change is visible here; `seenMark` is that of a statement that returns a key. */
  async #show(written: Written, refusal: Refusal, seenMark = ''): Promise<void> {
    if (written.kind !== 'done') throw this.#errorOf(written, refusal);
    const { outcome, number, operation: mark, rest: key } = written;
    if (!this.#options.follower.wrote({ number, mark, seenMark, key })) await this.showing();
    if (outcome === 'userNotFound' || outcome === 'outboundNotConfigured') throw new DomainError(outcome);
  }

  #errorOf(written: NotDone, refusal: Refusal): DomainError {
    if (written.kind === 'unknown') return new DomainError('outcomeUnknown');
    this.#options.log.error({ reason: written.reason }, 'the database did not take a change');
    return new DomainError(refusal, refusal === 'saveFailed' ? '' : TO_STRANGERS);
  }
}
