/** One line of a comparison: in both texts, only in the first, or only in the second. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
  /** Numbers from 1 in the old and the new text; null where the line is not in it. */
  readonly before: number | null;
  readonly after: number | null;
}

/** Beyond this many edits the middle is shown as replaced as a whole, so that a large paste cannot stop the page. */
const MOST_EDITS = 2000;

/** The shortest line comparison (Myers, "An O(ND) Difference Algorithm"), exact up to 2,000 edits. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
    tail += 1;
  const kinds = [
    ...Array<Kind>(head).fill('same'),
    ...editScript(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...Array<Kind>(tail).fill('same'),
  ];
  return numbered(kinds, a, b);
}

type Kind = DiffLine['kind'];

function numbered(kinds: readonly Kind[], a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  let i = 0;
  let j = 0;
  return kinds.map((kind) => {
    const text = (kind === 'added' ? b[j] : a[i]) ?? '';
    const line = { kind, text, before: kind === 'added' ? null : i + 1, after: kind === 'removed' ? null : j + 1 };
    if (kind !== 'added') i += 1;
    if (kind !== 'removed') j += 1;
    return line;
  });
}

function editScript(a: readonly string[], b: readonly string[]): readonly Kind[] {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const offset = most + 1;
  const furthest = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(furthest.slice(offset - edits - 1, offset + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && at(furthest, offset + k - 1) < at(furthest, offset + k + 1));
      let x = down ? at(furthest, offset + k + 1) : at(furthest, offset + k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      furthest[offset + k] = x;
      if (x >= a.length && x - k >= b.length) return backtrack(trace, a.length, b.length);
    }
  }
  return [...a.map((): Kind => 'removed'), ...b.map((): Kind => 'added')];
}

/** `trace[d]` holds the furthest points before round d, for diagonals -d-1 … d+1. */
function backtrack(trace: readonly Int32Array[], length: number, width: number): readonly Kind[] {
  const kinds: Kind[] = [];
  let x = length;
  let y = width;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const furthest = trace[edits] ?? new Int32Array(0);
    const k = x - y;
    const middle = edits + 1;
    const down = k === -edits || (k !== edits && at(furthest, middle + k - 1) < at(furthest, middle + k + 1));
    const from = down ? k + 1 : k - 1;
    const startX = edits === 0 ? 0 : at(furthest, middle + from);
    const startY = edits === 0 ? 0 : startX - from;
    const snakeX = edits === 0 ? 0 : down ? startX : startX + 1;
    while (x > snakeX) {
      kinds.push('same');
      x -= 1;
      y -= 1;
    }
    if (edits > 0) kinds.push(down ? 'added' : 'removed');
    x = startX;
    y = startY;
  }
  return kinds.reverse();
}

function at(values: Int32Array, index: number): number {
  return values[index] ?? 0;
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
