import type { JsonValue } from '../../wire/json/json.js';
import { type Effect, MAY_CHANGE, READS } from '../../wire/operations/operation.js';
import { OPERATIONS, type Operation } from '../../wire/operations.js';
import type { ScenarioRequest } from './scenario.js';

/** A request that is one of the API's operations. */
export interface MatchedRequest {
  readonly operation: Operation;
  /** The access key as it is in the path, percent-encoded; null if the operation has none. */
  readonly keySegment: string | null;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

const TEMPLATES = OPERATIONS.map((operation) => ({ operation, segments: operation.path.split('/') }));

/** Returns the operation of any revision for a method and a path below the API root, or null. */
export function matchOperation(method: string, path: string): MatchedRequest | null {
  const wanted = method === 'HEAD' ? 'GET' : method;
  const given = pathOnly(path).split('/');
  for (const { operation, segments } of TEMPLATES) {
    if (operation.method !== wanted || segments.length !== given.length) continue;
    if (!segments.every((segment, index) => segment === '{key}' || segment === given[index])) continue;
    const at = segments.indexOf('{key}');
    const keySegment = at < 0 ? null : (given[at] ?? '');
    // Every router prefers literal paths such as /users/bulk to the pattern.
    if (keySegment !== null && isLiteral(wanted, given)) continue;
    return { operation, keySegment };
  }
  return null;
}

function isLiteral(method: string, given: readonly string[]): boolean {
  const path = given.join('/');
  return OPERATIONS.some((each) => each.method === method && each.path === path);
}

/** Returns the path of the same request with another access key, percent-encoded as given; its query stays. */
export function pathWithKey({ operation }: MatchedRequest, path: string, keySegment: string): string {
  return operation.path.replace('{key}', () => keySegment) + path.slice(pathOnly(path).length);
}

/** Returns the path without its query. */
export function pathOnly(path: string): string {
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}

/** Returns the operation of a revision for a scenario's request, or null. */
export function matchRequest(request: Asked): MatchedRequest | null {
  return request.root === 'v1' ? null : matchOperation(request.method, operationPath(request));
}

type Asked = Pick<ScenarioRequest, 'method' | 'root' | 'path'>;

/** Returns the most that a request may do to a server that serves its operation, whatever the server answers. */
export function effectOf(request: Asked): Effect {
  const matched = matchRequest(request);
  if (matched !== null) return matched.operation.effect;
  return SAFE_METHODS.has(request.method) ? READS : MAY_CHANGE;
}

/** Tells whether an operation makes keys, which its answer names: it writes keys and has none in its path. */
export function makesKeys({ subject, effect, path }: Operation): boolean {
  return subject === 'keys' && effect.kind !== 'reads' && !path.includes('{key}');
}

/** Lists the keys that a success of such an operation names in its data. */
export function keysNamed(data: JsonValue | undefined): readonly string[] {
  return (Array.isArray(data) ? data : [data]).filter((each) => typeof each === 'string');
}

/** Decodes a segment of a path; returns it unchanged if that is impossible. */
export function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns the part of a request's path that may be an operation's: below the API root, wherever the path begins. */
function operationPath({ root, path }: Asked): string {
  if (root === undefined || root === 'api') return path;
  return /\/api(\/.*)$/s.exec(path)?.[1] ?? path;
}
