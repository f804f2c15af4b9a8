import { DomainError } from '../../core/errors.js';
import type { ServerConfiguration } from '../../core/model.js';
import { pieces, type Steps } from '../../core/steps.js';
import { storedSettings } from './server-settings.js';

/**
 * The most bytes of a key that PostgreSQL can index, by itself and after the kind of a record. An entry of a B-tree has
 * at most 2,704 bytes (a third of a page, less its overhead); 24 are for its header and the kind.
 */
const MOST_KEY_BYTES = 2_680;

/** Returns why a key with this name cannot be stored, naming the member, or null. */
export function textProblem(accessKey: string, name: string | null): string | null {
  if (accessKey.includes('\0')) return 'access_key: expected a text without U+0000';
  if (Buffer.byteLength(accessKey) > MOST_KEY_BYTES) return `access_key: expected at most ${MOST_KEY_BYTES} bytes`;
  return name?.includes('\0') === true ? 'name: expected a text without U+0000' : null;
}

/** Tells whether a key, or a name by which something is kept, can be stored. */
export const canHold = (accessKey: string): boolean => textProblem(accessKey, null) === null;

/** Returns why a value cannot be stored, naming it, or null: PostgreSQL stores no U+0000 in a text. */
function valueProblem(value: unknown, what: string): string | null {
  return holdsNul(value) ? `${what}: expected texts without U+0000` : null;
}

/** Returns the value; throws `invalidBody` if it cannot be stored. */
export function withoutNul<T>(value: T, what: string): T {
  const problem = valueProblem(value, what);
  if (problem !== null) throw new DomainError('invalidBody', problem);
  return value;
}

/** Returns why a configuration cannot be stored, naming the member, or null. */
export function* configurationProblem(configuration: ServerConfiguration): Steps<string | null> {
  for (const some of pieces(configuration.keys)) {
    for (const { accessKey, name } of some) {
      const problem = textProblem(accessKey, name);
      if (problem !== null) return problem;
    }
    yield;
  }
  const { outbound, dns, listener: api, announced: listen, published } = storedSettings(configuration);
  const problems = Object.entries({ outbound, dns, api, listen, ...published }).map(([member, value]) =>
    valueProblem(value, member),
  );
  return problems.find((problem) => problem !== null) ?? null;
}

function holdsNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  return typeof value === 'object' && value !== null && Object.entries(value).flat().some(holdsNul);
}
