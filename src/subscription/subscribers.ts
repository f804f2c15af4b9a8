import type { Core } from '../core/core.js';
import type { MaybeAsync } from '../core/maybe-async.js';
import type { KeySnapshot } from '../core/model.js';
import type { ClockPort } from '../core/ports.js';
import type { StrangersWaiting } from '../core/strangers-waiting.js';
import { TokenIndex } from './token-index.js';

/** Between two looks for unknown tokens, ms: so that guessing them puts no load on a server behind. */
const LEAST_GAP = 1_000;

/** Finds the keys of subscription tokens, wherever the state lives. */
export class Subscribers {
  readonly #core: Pick<Core, 'subscriber' | 'lookForKeys'>;
  readonly #clock: ClockPort;
  readonly #waiting: Pick<StrangersWaiting, 'count'>;
  readonly #index: TokenIndex;
  readonly #keptKey: (token: string) => string | undefined;
  #look: Promise<void> | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** `keptKey` gives the key of an address that has outlived the one that it was made from. */
  constructor(
    core: Pick<Core, 'keys' | 'subscriber' | 'lookForKeys'>,
    clock: ClockPort,
    waiting: Pick<StrangersWaiting, 'count'>,
    keptKey: (token: string) => string | undefined = () => undefined,
  ) {
    this.#keptKey = keptKey;
    this.#core = core;
    this.#clock = clock;
    this.#waiting = waiting;
    this.#index = new TokenIndex(core.keys);
  }

  /** The key as last known; undefined for an unknown token. Rejects with a `DomainError` where that cannot be told, or too many wait. */
  async find(token: string): Promise<KeySnapshot | undefined> {
    const waiting = this.#waiting;
    const accessKey = this.#keptKey(token) ?? (await waiting.count(this.#index.find(token)));
    if (accessKey !== undefined) return waiting.count(this.#core.subscriber(accessKey));
    const { lookForKeys } = this.#core;
    return lookForKeys === null ? undefined : waiting.count(this.#lookFor(token, lookForKeys));
  }

  /** Waits for one look a second at most, which everybody who asks has in common. */
  async #lookFor(token: string, lookForKeys: () => MaybeAsync<void>): Promise<KeySnapshot | undefined> {
    const now = this.#clock.monotonic();
    if (this.#look === null || now - this.#lookedAt >= LEAST_GAP) {
      this.#lookedAt = now;
      this.#look = Promise.resolve().then(lookForKeys);
    }
    await this.#look;
    const accessKey = await this.#index.find(token);
    return accessKey === undefined ? undefined : this.#core.subscriber(accessKey);
  }
}
