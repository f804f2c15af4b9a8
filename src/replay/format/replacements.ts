/** What a recorded value is to a reader; it decides the placeholder. */
export type ValueKind = 'key' | 'name' | 'text';

/**
 * The placeholders of one recording: the same value is the same placeholder wherever it stands, in every file. Nothing is
 * ever given back, so the values themselves stay in memory.
 */
export interface Replacements {
  /** A secret, whatever else it may be known as. */
  secret(value: string): string;
  /** A value that the server made, which is another one at the next run: a key, a session token, an audit id. */
  generated(kind: 'key' | 'session' | 'audit-id', value: string): string;
  /** A value of a client or of the configuration: kept as it is when values are kept and it is not known as something else. */
  value(kind: ValueKind, value: string): string;
}

/**
 * With `keepValues`, keys, names and texts that nobody generated stay readable; secrets never do. `present` are
 * placeholders (`key:1`) with their values that exist already.
 */
export function createReplacements(
  keepValues: boolean,
  present: ReadonlyMap<string, string> = new Map(),
): Replacements {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const [name, value] of present) {
    const [kind = '', number = ''] = name.split(':');
    if (kind === 'form') continue;
    known.set(value, `<${name}>`);
    counts.set(kind, Math.max(counts.get(kind) ?? 0, Number(number)));
  }

  function next(kind: string): string {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return `<${kind}:${count}>`;
  }

  function remembered(kind: string, value: string): string {
    const shown = known.get(value);
    if (shown !== undefined) return shown;
    const fresh = next(kind);
    known.set(value, fresh);
    return fresh;
  }

  return {
    secret(value) {
      const shown = known.get(value);
      if (shown?.startsWith('<secret:') === true || shown?.startsWith('<session:') === true) return shown;
      const fresh = next('secret');
      known.set(value, fresh);
      return fresh;
    },
    generated: remembered,
    value(kind, value) {
      if (value === '') return value;
      const shown = known.get(value);
      if (shown !== undefined) return shown;
      // What looks like a placeholder itself cannot be written out: it would be read as one.
      return keepValues && !value.includes('<') ? value : remembered(kind, value);
    },
  };
}
