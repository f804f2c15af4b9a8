/** Matches the end of a parser's message: how much of the body it had read when it stopped. */
const PLACE = /at line (\d+) column (\d+)$/;

/** Matches the tokens of JSON, complete or cut off. */
const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g;

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Adapts a server's message about a body to another spelling of the body, in which blanks and longer texts move the
 * place where its parser stops. Unchanged if the message names no place, or one that is no boundary of tokens.
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

/** Returns the same boundary of tokens in the other spelling. */
function takenAfter(taken: number, from: string, to: string): number | null {
  const [left, right] = [tokensOf(from), tokensOf(to)];
  if (left.length !== right.length) return null;
  if (taken === 0) return 0;
  const ending = left.findIndex(({ end }) => end === taken);
  if (ending >= 0) return right[ending]?.end ?? null;
  // A parser that rejects the beginning of a token has read its first character.
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
