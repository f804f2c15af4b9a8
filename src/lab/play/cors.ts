import type { AnswerDifference } from '../format/json-difference.js';

/** Headers by their lower-case name. */
type Headers = ReadonlyMap<string, string>;

/** Methods that the API uses, and "any method" must permit if a request names none. */
const API_METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

/**
 * Compares `access-control-*` by what it permits to this request, not by its spelling: `*` and the request's own origin
 * mean the same (Fetch standard, "CORS protocol"). A request without an `Origin` asks for nothing.
 */
export function corsDifferences(expected: Headers, actual: Headers, request: Headers): readonly AnswerDifference[] {
  const origin = request.get('origin');
  if (origin === undefined) return [];
  return [
    ...permission('access-control-allow-origin', expected, actual, (value) => value === '*' || value === origin),
    ...permission('access-control-allow-methods', expected, actual, permitsAll(wantedMethods(request))),
    ...permission('access-control-allow-headers', expected, actual, permitsAll(wantedHeaders(request))),
  ];
}

function permission(
  name: string,
  expected: Headers,
  actual: Headers,
  permits: (value: string) => boolean,
): readonly AnswerDifference[] {
  const wanted = expected.get(name);
  const given = actual.get(name);
  const equal = (wanted !== undefined && permits(wanted)) === (given !== undefined && permits(given));
  return equal ? [] : [{ where: `header ${name}`, expected: wanted, actual: given }];
}

function permitsAll(wanted: readonly string[]): (value: string) => boolean {
  return (value) => {
    const allowed = listed(value);
    return allowed.includes('*') || wanted.every((each) => allowed.includes(each));
  };
}

function wantedMethods(request: Headers): readonly string[] {
  return listed(request.get('access-control-request-method') ?? API_METHODS.join(','));
}

function wantedHeaders(request: Headers): readonly string[] {
  return listed(request.get('access-control-request-headers') ?? '');
}

function listed(value: string): readonly string[] {
  return value
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '');
}
