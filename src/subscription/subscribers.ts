import type { Core } from '../core/core.js';
import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import type { KeySnapshot } from '../core/model.js';
import type { ClockPort } from '../core/ports.js';
import { TokenIndex } from './token-index.js';

/** Between two looks for unknown tokens, ms: whoever guesses them is no load on a server behind. */
const LEAST_GAP = 1_000;

/** Finds the keys of subscription tokens, wherever the state lives. */
export class Subscribers {
  readonly #core: Pick<Core, 'subscriber' | 'lookForKeys'>;
  readonly #clock: ClockPort;
  readonly #index: TokenIndex;
  readonly #keptKey: (token: string) => string | undefined;
  #look: Promise<void> | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** `keptKey` gives the key of an address that has outlived the one that it was made from. */
  constructor(
    core: Pick<Core, 'keys' | 'subscriber' | 'lookForKeys'>,
    clock: ClockPort,
    keptKey: (token: string) => string | undefined = () => undefined,
  ) {
    this.#keptKey = keptKey;
    this.#core = core;
    this.#clock = clock;
    this.#index = new TokenIndex(core.keys);
  }

  /** The key as last known; undefined for an unknown token. Rejects with a `DomainError` where that cannot be told. */
  find(token: string): MaybeAsync<KeySnapshot | undefined> {
    const kept = this.#keptKey(token);
    if (kept !== undefined) return this.#core.subscriber(kept);
    return mapMaybeAsync(this.#index.find(token), (accessKey) =>
      accessKey === undefined ? this.#lookFor(token) : this.#core.subscriber(accessKey),
    );
  }

  /** Waits for one look a second at most, which everybody who asks has in common. */
  #lookFor(token: string): MaybeAsync<KeySnapshot | undefined> {
    const { lookForKeys } = this.#core;
    if (lookForKeys === null) return undefined;
    const now = this.#clock.monotonic();
    if (this.#look === null || now - this.#lookedAt >= LEAST_GAP) {
      this.#lookedAt = now;
      this.#look = Promise.resolve().then(lookForKeys);
    }
    return this.#look.then(async () => {
      const accessKey = await this.#index.find(token);
      return accessKey === undefined ? undefined : this.#core.subscriber(accessKey);
    });
  }
}
