/** Ends the words of a parser: how much of the body it has taken when it stops. */
const PLACE = /at line (\d+) column (\d+)$/;

/** The tokens of JSON, whole or broken off. */
const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g;

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Rewrites a server's text on a body for another spelling of it, where blanks and longer texts move the place at which
 * its parser stops. Unchanged where the text names none, or one that is no border of tokens.
 */
export function movedPlace(text: string, from: string, to: string): string {
  const found = PLACE.exec(text);
  if (found === null || from === to) return text;
  const taken = takenAt(from, Number(found[1]), Number(found[2]));
  const moved = taken === null ? null : takenAfter(taken, from, to);
  return moved === null ? text : text.slice(0, found.index) + placeOf(to, moved);
}

/** Counts the characters before a line (from 1) and column (bytes, from 0); null beyond the text. */
function takenAt(text: string, line: number, column: number): number | null {
  const lines = text.split('\n');
  const here = lines[line - 1];
  if (here === undefined || column > Buffer.byteLength(here)) return null;
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return before + Buffer.from(here).subarray(0, column).toString('utf8').length;
}

/** The same border of tokens in the other spelling. */
function takenAfter(taken: number, from: string, to: string): number | null {
  const [left, right] = [tokensOf(from), tokensOf(to)];
  if (left.length !== right.length) return null;
  if (taken === 0) return 0;
  const ending = left.findIndex(({ end }) => end === taken);
  if (ending >= 0) return right[ending]?.end ?? null;
  // A parser that does not like how a token begins has looked at its first character.
  for (const looked of [0, 1]) {
    const starting = right[left.findIndex(({ start }) => start + looked === taken)];
    if (starting !== undefined) return starting.start + looked;
  }
  return null;
}

function tokensOf(text: string): readonly Span[] {
  return [...text.matchAll(TOKEN)].map(({ 0: token, index }) => ({ start: index, end: index + token.length }));
}

function placeOf(text: string, taken: number): string {
  const lines = text.slice(0, taken).split('\n');
  return `at line ${lines.length} column ${Buffer.byteLength(lines.at(-1) ?? '')}`;
}
