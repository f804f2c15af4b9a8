/** One line of a comparison: in both texts, only in the first, or only in the second. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
  /** Numbers from 1 in the old and the new text; null where the line is not in it. */
  readonly before: number | null;
  readonly after: number | null;
}

/** Pairs of lines that are compared at most; a larger middle is shown as replaced, so that a large paste cannot stop the page. */
const MOST_CELLS = 9_000_000;

/** The shortest line comparison, exact where up to 3,000 lines differ. */
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

/** The longest common subsequence of two lists as a way from one to the other; null where both are too long for it. */
function compare(a: readonly string[], b: readonly string[]): readonly DiffLine['kind'][] | null {
  const width = b.length + 1;
  if (a.length * width > MOST_CELLS) return null;
  // What the rests of both lists have in common, by where they begin.
  const common = new Uint16Array((a.length + 1) * width);
  const at = (x: number, y: number) => common[x * width + y] ?? 0;
  for (let x = a.length - 1; x >= 0; x -= 1)
    for (let y = b.length - 1; y >= 0; y -= 1)
      common[x * width + y] = a[x] === b[y] ? at(x + 1, y + 1) + 1 : Math.max(at(x + 1, y), at(x, y + 1));
  const way: DiffLine['kind'][] = [];
  for (let [x, y] = [0, 0]; x < a.length || y < b.length; ) {
    const kind =
      x < a.length && y < b.length && a[x] === b[y]
        ? 'same'
        : y === b.length || (x < a.length && at(x + 1, y) >= at(x, y + 1))
          ? 'removed'
          : 'added';
    way.push(kind);
    if (kind !== 'added') x += 1;
    if (kind !== 'removed') y += 1;
  }
  return way;
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
