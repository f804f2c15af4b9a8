import type { KeyReader } from '../core/keys/types.js';
import type { MaybeAsync } from '../core/maybe-async.js';
import { inTurns, pieces, type Steps } from '../core/steps.js';
import { subscriptionToken } from './token.js';

/** Tokens that are made in one turn of the event loop, which takes a millisecond or two. */
const AT_ONCE = 500;

/**
 * Finds keys by their subscription tokens. It is made in pieces when it is first asked, and brought up to date by what has changed
 * since whenever it is asked again, so that a known token and an unknown one cost one look-up each.
 */
export class TokenIndex {
  readonly #keys: KeyReader;
  readonly #byToken = new Map<string, string>();
  /** The changes that it has followed; null before it is made. */
  #version: number | null = null;
  #catchingUp: Promise<void> | null = null;

  constructor(keys: KeyReader) {
    this.#keys = keys;
  }

  /** The key of a token. */
  find(token: string): MaybeAsync<string | undefined> {
    const changed = this.#changed();
    if (changed === null || changed.length > AT_ONCE || this.#catchingUp !== null) {
      this.#catchingUp ??= this.#catchUp().finally(() => {
        this.#catchingUp = null;
      });
      return this.#catchingUp.then(() => this.find(token));
    }
    this.#version = this.#keys.admissions.version;
    for (const accessKey of changed) this.#follow(accessKey);
    return this.#byToken.get(token);
  }

  /** The keys that have changed since it was up to date; null where that is not known. */
  #changed(): readonly string[] | null {
    return this.#version === null ? null : this.#keys.admissions.since(this.#version);
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      const { version } = this.#keys.admissions;
      const changed = this.#changed();
      if (changed !== null && changed.length <= AT_ONCE) return;
      if (changed === null) this.#byToken.clear();
      await inTurns(this.#followAll(changed ?? this.#present()));
      this.#version = version;
    }
  }

  *#present(): Generator<string, void> {
    for (const { accessKey } of this.#keys.entries()) yield accessKey;
  }

  *#followAll(accessKeys: Iterable<string>): Steps<void> {
    for (const piece of pieces(accessKeys, AT_ONCE)) {
      for (const accessKey of piece) this.#follow(accessKey);
      yield;
    }
  }

  #follow(accessKey: string): void {
    const token = subscriptionToken(accessKey);
    if (this.#keys.get(accessKey) === undefined) this.#byToken.delete(token);
    else this.#byToken.set(token, accessKey);
  }
}
