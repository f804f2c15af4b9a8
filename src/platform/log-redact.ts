/** Names whose values never show, in lower case and without `_` and `-`. */
const SECRET_NAMES = new Set(['authorization', 'cookie', 'token', 'password', 'passwordhash', 'accesskey']);

/** Levels of a log line's fields that are searched; deeper ones are not written by this project. */
const DEEPEST = 4;

const REDACTED = '[redacted]';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The same fields, with `[redacted]` in place of every secret under its usual name (design: "Secrets in logs"). A second
 * net: callers log no secrets. Written by hand because pino's own wildcards cost several times the line itself.
 */
export function redactSecrets(fields: Fields, depth = 0): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields))
    shown[name] = isSecret(name) ? REDACTED : redactValue(value, depth);
  return shown;
}

function isSecret(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replaceAll(/[_-]/g, ''));
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth >= DEEPEST) return value;
  if (Array.isArray(value)) return value.map((element: unknown) => redactValue(element, depth + 1));
  return isPlain(value) ? redactSecrets(value, depth + 1) : value;
}

/** Errors, dates and the like have their own way of being written. */
function isPlain(value: object): value is Fields {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
