/** One line of a comparison: in both texts, only in the first, or only in the second. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
  /** Numbers from 1 in the old and the new text; null where the line is not in it. */
  readonly before: number | null;
  readonly after: number | null;
}

/** Beyond this many edits the middle is shown as replaced as a whole, so that a large paste cannot stop the page. */
const MOST_EDITS = 1000;

/** The shortest line comparison, exact up to 1,000 edits. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
    tail += 1;
  const [removed, added] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const middle = compare(removed, added) ?? [
    ...removed.map(() => 'removed' as const),
    ...added.map(() => 'added' as const),
  ];
  const numbers = { before: 0, after: 0 };
  const line = (kind: DiffLine['kind']): DiffLine => {
    if (kind !== 'added') numbers.before += 1;
    if (kind !== 'removed') numbers.after += 1;
    const { before: old, after: now } = numbers;
    const text = (kind === 'added' ? b[now - 1] : a[old - 1]) ?? '';
    return { kind, text, before: kind === 'added' ? null : old, after: kind === 'removed' ? null : now };
  };
  const same = (count: number) => Array.from({ length: count }, () => 'same' as const);
  return [...same(head), ...middle, ...same(tail)].map(line);
}

/**
 * The furthest places in the first list that so many edits reach, by diagonal: how many more items of the first list than of the
 * second were gone over. The middle is the diagonal 0.
 */
type Reach = Int32Array;

function reachOn(reach: Reach, diagonal: number): number {
  return reach[diagonal + MOST_EDITS + 1] ?? 0;
}

/** Tells whether the last of so many edits on a diagonal adds an item, or else removes one. */
function isAdded(before: Reach, diagonal: number, edits: number): boolean {
  if (Math.abs(diagonal) === edits) return diagonal < 0;
  return reachOn(before, diagonal - 1) < reachOn(before, diagonal + 1);
}

/** The shortest way from one list to the other (Myers, "An O(ND) Difference Algorithm", 1986); null beyond `MOST_EDITS`. */
function compare(a: readonly string[], b: readonly string[]): readonly DiffLine['kind'][] | null {
  const reach: Reach = new Int32Array(2 * MOST_EDITS + 3);
  const rounds: Reach[] = [];
  for (let edits = 0; edits <= MOST_EDITS; edits += 1) {
    const before = reach.slice();
    rounds.push(before);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const isAdd = isAdded(before, diagonal, edits);
      let place = edits === 0 ? 0 : reachOn(before, isAdd ? diagonal + 1 : diagonal - 1) + (isAdd ? 0 : 1);
      while (place < a.length && place - diagonal < b.length && a[place] === b[place - diagonal]) place += 1;
      reach[diagonal + MOST_EDITS + 1] = place;
      if (place >= a.length && place - diagonal >= b.length) return wayTo(a.length, diagonal, rounds);
    }
  }
  return null;
}

/** The way to a place, found backwards from what each number of edits had reached. */
function wayTo(end: number, last: number, rounds: readonly Reach[]): readonly DiffLine['kind'][] {
  const way: DiffLine['kind'][] = [];
  let [place, diagonal] = [end, last];
  for (const [edits, before] of [...rounds.entries()].slice(1).reverse()) {
    const isAdd = isAdded(before, diagonal, edits);
    diagonal += isAdd ? 1 : -1;
    const from = reachOn(before, diagonal);
    const start = isAdd ? from : from + 1;
    for (; place > start; place -= 1) way.push('same');
    way.push(isAdd ? 'added' : 'removed');
    place = from;
  }
  for (; place > 0; place -= 1) way.push('same');
  return way.reverse();
}

/** The changed lines with `context` unchanged ones around them; null stands for lines left out. */
export function hunks(lines: readonly DiffLine[], context = 3): readonly (DiffLine | null)[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ kind }, index) => {
    if (kind !== 'same') near.fill(1, Math.max(0, index - context), index + context + 1);
  });
  const shown: (DiffLine | null)[] = [];
  lines.forEach((line, index) => {
    if (near[index] === 1) shown.push(line);
    else if (shown.at(-1) !== null && shown.length > 0) shown.push(null);
  });
  if (shown.at(-1) === null) shown.pop();
  return shown;
}
