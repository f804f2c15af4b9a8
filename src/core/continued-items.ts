/** How the items of a list are recognized in a later one. */
export interface Likeness<T> {
  isSame(one: T, other: T): boolean;
  /** Texts of an item, each of which alike ones share; the strictest first. */
  readonly identities: readonly ((item: T) => string)[];
}

/**
 * Returns for each written item the place of the present one that it continues: that of an equal one at either end of both lists, else
 * the first unused one with the same text by each identity in turn, else the one at its own place where there are as many; null for
 * none. A present item is null if it cannot be read.
 */
export function placesContinued<T>(
  written: readonly T[],
  present: readonly (T | null)[],
  { isSame, identities }: Likeness<T>,
): readonly (number | null)[] {
  const left = new Set(present.keys());
  const places: (number | null)[] = written.map(() => null);
  const take = (index: number, place: number | undefined): void => {
    if (place !== undefined && places[index] === null && left.delete(place)) places[index] = place;
  };
  const isSameAt = (index: number, place: number): boolean => {
    const [one, other] = [written[index], present[place]];
    return one !== undefined && other != null && isSame(one, other);
  };
  const most = Math.min(written.length, present.length);
  let head = 0;
  for (; head < most && isSameAt(head, head); head += 1) take(head, head);
  const moved = present.length - written.length;
  for (let at = written.length - 1; at >= head && at + moved >= head && isSameAt(at, at + moved); at -= 1)
    take(at, at + moved);
  for (const identityOf of identities) {
    const free = new AlikeQueue<number>();
    for (const place of left) {
      const item = present[place];
      if (item != null) free.put(identityOf(item), place);
    }
    for (const [index, item] of written.entries()) if (places[index] === null) take(index, free.take(identityOf(item)));
  }
  if (written.length === present.length) for (const index of written.keys()) take(index, index);
  return places;
}

/** Values that wait to be taken by a text that alike ones share. Of those the first is taken first. */
export class AlikeQueue<V> {
  readonly #byText = new Map<string, { readonly values: V[]; taken: number }>();

  put(text: string, value: V): void {
    const alike = this.#byText.get(text);
    if (alike === undefined) this.#byText.set(text, { values: [value], taken: 0 });
    else alike.values.push(value);
  }

  take(text: string): V | undefined {
    const alike = this.#byText.get(text);
    if (alike === undefined) return undefined;
    alike.taken += 1;
    return alike.values[alike.taken - 1];
  }
}
