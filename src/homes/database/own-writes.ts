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
  /** Is called after each commit. */
  readonly committed: () => void;
  readonly clock: ClockPort;
  readonly jitter: Jitter;
  readonly log: LogPort;
}

/** The error code of a write that did not happen. */
type Refusal = 'saveFailed' | 'backendAway';

/** Anybody may ask for a subscription or add to the audit list: where the database is, and who asks it, stands in the log. */
export const TO_STRANGERS = 'the database did not answer';
/** Milliseconds. */
const SHOWING = 10_000;

/** Writes of this gateway to the state, each of which shows here before it is answered. */
export class OwnWrites {
  /** Writes by how they ended, since the start. */
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

  /** Carries a statement out; never rejects. */
  async write(statement: WriteStatement, patience?: Patience): Promise<Written> {
    const written = await this.#options.writes.write(statement, patience);
    this.counts[written.kind] += 1;
    if (written.kind === 'done') this.#options.committed();
    return written;
  }

  /** Resolves once what was committed shows here: an answer must not be ahead of the next. */
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

  /** Saves a change that goes by what it expects to find; false where that is not there, and nothing has changed. */
  async saveExpecting(statement: WriteStatement): Promise<boolean> {
    const written = await this.write(statement);
    await this.#show(written, 'saveFailed');
    return written.kind === 'done' && written.outcome === 'done';
  }

  /** Saves a change of one key, which then shows without a look where nothing came in between. */
  async saveKey(accessKey: string, statement: WriteStatement): Promise<void> {
    await (await this.#writeKey(accessKey, statement)).show();
  }

  async createKey(key: AccessKey): Promise<void> {
    // A create is sent alone where writes are refused: nobody waits for another's.
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

  /** Resolves once the change shows here; `seenMark` is that of a statement which answers a key. */
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
