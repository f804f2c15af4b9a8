import { diffArrays } from 'diff';

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
  const middle = diffArrays(removed, added, { maxEditLength: MOST_EDITS }) ?? [
    { value: removed, removed: true, added: false },
    { value: added, removed: false, added: true },
  ];
  const numbers = { before: 0, after: 0 };
  const line = (text: string, kind: DiffLine['kind']): DiffLine => {
    if (kind !== 'added') numbers.before += 1;
    if (kind !== 'removed') numbers.after += 1;
    const { before: old, after: now } = numbers;
    return { kind, text, before: kind === 'added' ? null : old, after: kind === 'removed' ? null : now };
  };
  return [
    ...a.slice(0, head).map((text) => line(text, 'same')),
    ...middle.flatMap((part) =>
      part.value.map((text) => line(text, part.added ? 'added' : part.removed ? 'removed' : 'same')),
    ),
    ...a.slice(a.length - tail).map((text) => line(text, 'same')),
  ];
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
