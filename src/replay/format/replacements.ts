/** The meaning of a recorded value, which decides its placeholder. */
export type ValueKind = 'key' | 'name' | 'text';

/**
 * The placeholders of one recording: the same value is the same placeholder wherever it stands, in every file. Nothing is
 * ever given back, so the values themselves stay in memory.
 */
export class Replacements {
  readonly #keepValues: boolean;
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /**
   * With `keepValues`, keys, names and texts that nobody generated stay readable; secrets never do. `present` are
   * placeholders (`key:1`) with their values that exist already.
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

  /** A secret, whatever else it may be known as. */
  secret(value: string): string {
    const shown = this.#known.get(value);
    return shown?.startsWith('<secret:') || shown?.startsWith('<session:') ? shown : this.#next('secret', value);
  }

  /** A value that the server made, which is another one at the next run. */
  generated(kind: 'key' | 'session' | 'audit-id', value: string): string {
    return this.#known.get(value) ?? this.#next(kind, value);
  }

  /** A value of a client or of the configuration: kept as it is when values are kept and it is not known as something else. */
  value(kind: ValueKind, value: string): string {
    if (value === '') return value;
    const shown = this.#known.get(value);
    if (shown !== undefined) return shown;
    // A value that looks like a placeholder cannot be written out: it would be read as one.
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
