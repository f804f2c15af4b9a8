import { OPERATIONS, type Operation } from '../wire/operations.js';
import type { ScenarioRequest } from './scenario.js';

/**
 * What a request does to a server: nothing; a login (which ends the session before it); something to keys; something else
 * that a server may do on request; or a replacement of what cannot be told apart from the state of others.
 */
export type Effect =
  | 'reads'
  | 'login'
  | 'keys'
  | 'other'
  | 'config'
  | 'rules'
  | 'dns'
  | 'audit'
  | 'clears the audit list';

/** A request that is one of the API's operations. */
export interface MatchedRequest {
  readonly operation: Operation;
  /** The access key as it stands in the path, percent-encoded; null where the operation has none. */
  readonly keySegment: string | null;
}

const EFFECTS: Readonly<Record<string, Effect>> = {
  login: 'login',
  createUser: 'keys',
  bulkCreateUsers: 'keys',
  updateUser: 'keys',
  deleteUser: 'keys',
  setLimit: 'keys',
  resetUser: 'keys',
  putConfig: 'config',
  putRules: 'rules',
  putDnsConfig: 'dns',
  addAudit: 'audit',
  clearAudit: 'clears the audit list',
  refreshBlocklists: 'other',
};

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

const TEMPLATES = OPERATIONS.map((operation) => ({ operation, segments: operation.path.split('/') }));

/** The operation of any revision that a method and a path below the API root stand for, or null. */
export function matchOperation(method: string, path: string): MatchedRequest | null {
  const wanted = method === 'HEAD' ? 'GET' : method;
  const given = pathOnly(path).split('/');
  for (const { operation, segments } of TEMPLATES) {
    if (operation.method !== wanted || segments.length !== given.length) continue;
    if (!segments.every((segment, index) => segment === '{key}' || segment === given[index])) continue;
    const at = segments.indexOf('{key}');
    const keySegment = at < 0 ? null : (given[at] ?? '');
    // Literal paths such as /users/bulk come before the pattern in every router.
    if (keySegment !== null && isLiteral(wanted, given)) continue;
    return { operation, keySegment };
  }
  return null;
}

function isLiteral(method: string, given: readonly string[]): boolean {
  const path = given.join('/');
  return OPERATIONS.some((each) => each.method === method && each.path === path);
}

/** The path without its query. */
export function pathOnly(path: string): string {
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}

/** What a request may do to a server that serves its operation, whatever the server answers. */
export function effectOf(method: string, path: string): Effect {
  const matched = matchOperation(method, path);
  if (matched !== null) return EFFECTS[matched.operation.name] ?? 'reads';
  return SAFE_METHODS.has(method) ? 'reads' : 'other';
}

/** The part of a request's path that may be an operation's: below the API root, wherever the path begins. */
export function operationPath({ root, path }: Pick<ScenarioRequest, 'root' | 'path'>): string {
  if (root === undefined || root === 'api') return path;
  return /\/api(\/.*)$/s.exec(path)?.[1] ?? path;
}
