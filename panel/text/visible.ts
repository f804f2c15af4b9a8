/** Characters that reorder what stands around them (UAX #9), and control characters, which show nothing at all. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A text in which nothing can pretend to be another: each direction mark and control character by its code point. */
export function visible(text: string): string {
  return text.replace(
    UNSEEN,
    (mark) => `[U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}
