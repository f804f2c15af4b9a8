/** Counts the edits (insertion, deletion, replacement, swap of neighbours) that lead from one word to the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const present = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      present[column] = Math.min(
        (last[column] ?? 0) + 1,
        (present[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = present;
  }
  return last[to.length] ?? 0;
}

/** Longer words get no suggestion, because the time grows with the product of both lengths. */
const LONGEST_WORD = 64;

/**
 * Returns the candidate that was most likely meant, or undefined if none is close enough (a third of the word's
 * letters, at least 2).
 */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > LONGEST_WORD) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    // At least this many letters have to be inserted or deleted.
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word, candidate);
    if (distance < bestDistance && distance < candidate.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns the suggestion as the end of a sentence, ` (did you mean X?)`, or an empty text. */
export function didYouMean(word: string, candidates: readonly string[], prefix = ''): string {
  const candidate = suggest(word, candidates);
  return candidate === undefined ? '' : ` (did you mean ${prefix}${candidate}?)`;
}
