import type { KeptCounters } from './types.js';

/** The keys whose kept counters differ from what a store has been told. */
export class ChangedKeys {
  readonly #tracks: boolean;
  readonly #keptOf: (accessKey: string) => KeptCounters | null;
  #names = new Set<string>();
  #leftOut = 0;
  #leftOutSince = 0;

  /** Lists nothing unless it `tracks`. `keptOf` returns what is to be kept of a key. */
  constructor(tracks: boolean, keptOf: (accessKey: string) => KeptCounters | null) {
    this.#tracks = tracks;
    this.#keptOf = keptOf;
  }

  /** Lists a key whose counters have changed, whether it is registered or not. */
  list(accessKey: string): void {
    if (this.#tracks) this.#names.add(accessKey);
  }

  /** Takes a key off the list: the store has its counters as they are. */
  strike(accessKey: string): void {
    this.#names.delete(accessKey);
  }

  /** Hands out what is listed, as `CounterSource.takeChanged` says; the list is empty then. */
  take(visit: (accessKey: string, kept: KeptCounters | null) => void): void {
    const taken = this.#names;
    this.#names = new Set();
    for (const accessKey of taken) visit(accessKey, this.#keptOf(accessKey));
  }

  /** Counts new keys, with counters since this time, that are too many to list: everything is rewritten instead. */
  leaveOut(count: number, since: number): void {
    this.#leftOut += count;
    this.#leftOutSince = since;
  }

  /** Notes that the store has a key whose counters began at this time, so that it was not left out. */
  isKept(since: number): void {
    if (this.#leftOut > 0 && since === this.#leftOutSince) this.#leftOut -= 1;
  }

  /** Returns whether any were left out since the last call. */
  takeLeftOut(): boolean {
    const isAny = this.#leftOut > 0;
    this.#leftOut = 0;
    return isAny;
  }
}
