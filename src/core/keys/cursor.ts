/** Positions in the changes of one process, given to callers as opaque texts. */
export class Cursors {
  readonly #mark: string;

  /** `mark` tells the places of this process from those of another; it has no hyphen. */
  constructor(mark: string) {
    this.#mark = mark;
  }

  text(...numbers: readonly number[]): string {
    return [this.#mark, ...numbers].join('-');
  }

  /** Reads the numbers of a cursor of this process; null for a text with another count of them, or any other text. */
  numbers(text: string, count: number): readonly number[] | null {
    const [mark, ...parts] = text.split('-');
    const isOwn = mark === this.#mark && parts.length === count && parts.every((part) => /^\d{1,15}$/.test(part));
    return isOwn ? parts.map(Number) : null;
  }
}
