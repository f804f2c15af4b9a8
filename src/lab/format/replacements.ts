/** The meaning of a recorded value, which decides its placeholder. */
export type ValueKind = 'key' | 'name' | 'text';

/**
 * The placeholders of one recording: the same value becomes the same placeholder everywhere, in every file. They are
 * never converted back, so the values themselves stay in memory.
 */
export class Replacements {
  readonly #keepValues: boolean;
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /**
   * With `keepValues`, keys, names and texts that were not generated stay readable; secrets never do. `present` has
   * existing placeholders (`key:1`) with their values.
   */
  constructor(keepValues: boolean, present: ReadonlyMap<string, string> = new Map()) {
    this.#keepValues = keepValues;
    for (const [name, value] of present) {
      const [kind = '', number = ''] = name.split(':');
      if (kind === 'form') continue;
      this.#known.set(value, `<${name}>`);
      this.#counts.set(kind, Math.max(this.#counts.get(kind) ?? 0, Number(number)));
    }
  }

  /** Returns the placeholder of a secret, even if the value also has another one. */
  secret(value: string): string {
    const shown = this.#known.get(value);
    return shown?.startsWith('<secret:') || shown?.startsWith('<session:') ? shown : this.#next('secret', value);
  }

  /** Returns the placeholder of a value that the server made, which differs in the next run. */
  generated(kind: 'key' | 'session' | 'audit-id', value: string): string {
    return this.#known.get(value) ?? this.#next(kind, value);
  }

  /**
   * Returns the placeholder of a client's or configuration's value, or the value itself if values are kept and it has
   * no other meaning.
   */
  value(kind: ValueKind, value: string): string {
    if (value === '') return value;
    const shown = this.#known.get(value);
    if (shown !== undefined) return shown;
    // A value that looks like a placeholder cannot be written out, because it would be read as one.
    return this.#keepValues && !value.includes('<') ? value : this.#next(kind, value);
  }

  #next(kind: string, value: string): string {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const placeholder = `<${kind}:${count}>`;
    this.#known.set(value, placeholder);
    return placeholder;
  }
}
