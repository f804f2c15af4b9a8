/** The names of the resolver's benches: of the length that public lists have on the average. */

/** The n-th blocked name: about 22 characters. */
export function blockedName(index: number): string {
  return `host${index.toString(36)}.site-${(index * 7919) % 100_003}.example`;
}

/** The n-th name that no list has. */
export function freeName(index: number): string {
  return `www${index}.free.example`;
}

/** A list of rules, each of which blocks a name and those below it in every revision. */
export function* listText(names: number): Generator<string> {
  const lines = 1000;
  for (let start = 0; start < names; start += lines) {
    const count = Math.min(lines, names - start);
    yield Array.from({ length: count }, (_, index) => `||${blockedName(start + index)}^\n`).join('');
  }
}
