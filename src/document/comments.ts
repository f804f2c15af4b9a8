import { commentEnd } from '../wire/json/scanner.js';

/** A comment with its span, a line comment without its line end. */
export interface Comment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HASH = 0x23;
const SLASH = 0x2f;

/** The comments between two offsets of a valid text, neither of which is inside a string or a comment. */
export function commentsBetween(bytes: Buffer, from: number, to: number): readonly Comment[] {
  const comments: Comment[] = [];
  for (let at = from; at < to; ) {
    const byte = bytes[at];
    if (byte === HASH || byte === SLASH) {
      const end = commentEnd(bytes, at);
      comments.push({ start: at, end, text: bytes.toString('utf8', at, end) });
      at = end;
    } else at = byte === QUOTE ? stringEnd(bytes, at) : at + 1;
  }
  return comments;
}

/** The end of the string that opens here, exclusive. */
function stringEnd(bytes: Buffer, open: number): number {
  let at = open + 1;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}
