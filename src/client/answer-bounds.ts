/**
 * The size of an answer: `single` is one thing or none, `section` a list of the settings' kind; a list of keys and a
 * configuration are as large as the server's state.
 */
export type AnswerSize = 'single' | 'section' | 'list' | 'configuration';

/** The most that is read of an answer. */
export interface AnswerBound {
  readonly bytes: number;
  /** The most keys of a list. */
  readonly keys: number;
}

const KIB = 1024;
/** Bytes. */
export const SINGLE = 64 * KIB;
const FIXED = { single: SINGLE, section: 4 * KIB * KIB } as const;

/** The most keys of a server that nothing is known of yet. */
export const MOST_KEYS = 250_000;
/** Bytes that a key takes on average at most, in a list and in a configuration. */
const KEY_BYTES = 256;
/** Keys that a small server may get between two lists. */
const NEW_KEYS = 10_000;

type Growing = Exclude<AnswerSize, keyof typeof FIXED>;

/**
 * The bounds of one server's answers: for the first of a kind as much as `mostKeys` keys need, for a later one twice
 * the last and 10,000 keys. A bound that was met grows in the same way, never beyond that of the first.
 */
export class AnswerBounds {
  readonly #first: AnswerBound;
  readonly #bounds: Record<Growing, AnswerBound>;

  constructor(mostKeys = MOST_KEYS) {
    this.#first = { keys: mostKeys, bytes: mostKeys * KEY_BYTES };
    this.#bounds = { list: this.#first, configuration: this.#first };
  }

  of(size: AnswerSize): AnswerBound {
    return isGrowing(size) ? this.#bounds[size] : { bytes: FIXED[size], keys: 0 };
  }

  /** An answer of this size was read. */
  taken(size: AnswerSize, answer: AnswerBound): void {
    if (isGrowing(size)) this.#bounds[size] = grown(answer);
  }

  /** An answer was longer. Returns whether the setting alone allows more. */
  exceeded(size: AnswerSize): boolean {
    if (!isGrowing(size)) return false;
    const before = this.#bounds[size];
    const next = grown(before);
    const after = {
      keys: Math.max(before.keys, Math.min(next.keys, this.#first.keys)),
      bytes: Math.max(before.bytes, Math.min(next.bytes, this.#first.bytes)),
    };
    this.#bounds[size] = after;
    return after.keys === before.keys && after.bytes === before.bytes;
  }
}

export function isGrowing(size: AnswerSize): size is Growing {
  return !(size in FIXED);
}

function grown({ bytes, keys }: AnswerBound): AnswerBound {
  return { bytes: 2 * bytes + NEW_KEYS * KEY_BYTES, keys: 2 * keys + NEW_KEYS };
}
