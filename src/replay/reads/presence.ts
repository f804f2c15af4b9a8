import { OPERATIONS, serves } from '../../wire/operations.js';
import type { Look } from './look.js';
import { type At, answersAs, type Found, ORIGIN, pathOf, type ReadDifference } from './looking.js';

/** Exactly the revision's operations are there: reads by what they answer, the others by what preflights allow. */
export async function lookAtPresence(at: At): Promise<Found> {
  const { look, revision } = at;
  const allowed = await allowedMethods(look, `${at.api}/server/status`);
  const differences: ReadDifference[] = [];
  for (const operation of OPERATIONS) {
    const isThere =
      operation.effect.kind === 'reads' && operation.method === 'GET'
        ? await answersAs(operation, at)
        : allowed === null
          ? null
          : (await allowedMethods(look, pathOf(operation, at)))?.has(operation.method) === true;
    const isServed = serves(revision, operation);
    if (isThere === null || isThere === isServed) continue;
    const words = (served: boolean) => (served ? 'served' : 'not served');
    const request = `${operation.method} ${operation.path}`;
    differences.push({ request, where: 'operation', expected: words(isServed), actual: words(isThere) });
  }
  return differences;
}

/** The methods that a path has, as a preflight tells them; null where it does not. */
async function allowedMethods(look: Look, path: string): Promise<ReadonlySet<string> | null> {
  const headers = { origin: ORIGIN, 'access-control-request-method': 'GET' };
  const { answer } = await look.read({ method: 'OPTIONS', path, authorization: null, headers });
  const allow = answer.status === 200 ? answer.headers.get('allow') : undefined;
  return allow === undefined ? null : new Set(allow.split(',').map((each) => each.trim().toUpperCase()));
}
