/** Edits (insertion, deletion, replacement, swap of neighbours) that lead from one word to the other. */
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

/** No suggestion is made for words longer than this: the distance costs the product of both lengths. */
const LONGEST_WORD = 64;

/** The candidate that the word was most likely meant to be, or undefined when none is near (a third of its letters, at least 2). */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > LONGEST_WORD) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    // So many letters have to be put in or taken out at least.
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word, candidate);
    if (distance < bestDistance && distance < candidate.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The same as the end of a sentence: ` (did you mean X?)`, or nothing. */
export function didYouMean(word: string, candidates: readonly string[], prefix = ''): string {
  const candidate = suggest(word, candidates);
  return candidate === undefined ? '' : ` (did you mean ${prefix}${candidate}?)`;
}
