/**
 * The size class of an answer: `single` is at most one thing, `section` a list among the settings; a list of keys and a
 * configuration are as large as the server's state.
 */
export type AnswerSize = 'single' | 'section' | 'list' | 'configuration';

const KIB = 1024;
/** In bytes. */
export const SINGLE = 64 * KIB;
const FIXED = { single: SINGLE, section: 4 * KIB * KIB } as const;

/** The most keys of a server. */
export const MOST_KEYS = 1_000_000;
/** The most bytes of a key on average, in a list and in a configuration. */
const KEY_BYTES = 256;

/** Returns the most bytes of an answer that are read. */
export function mostBytes(size: AnswerSize, mostKeys: number): number {
  return isGrowing(size) ? mostKeys * KEY_BYTES : FIXED[size];
}

export function isGrowing(size: AnswerSize): size is Exclude<AnswerSize, keyof typeof FIXED> {
  return !(size in FIXED);
}
