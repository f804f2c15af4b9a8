import { OPERATIONS, type Operation, operationNamed, serves } from '../../wire/operations.js';
import { type At, answersAs, type Found, type ReadDifference } from './looking.js';
import { preflight } from './preflight.js';

/** Exactly the revision's operations are there: reads by what they answer, the others by what preflights allow. */
export async function lookAtPresence(at: At): Promise<Found> {
  const { revision } = at;
  const allowed = await allowedMethods(operationNamed('getStatus'), at);
  const differences: ReadDifference[] = [];
  for (const operation of OPERATIONS) {
    const isThere =
      operation.effect.kind === 'reads' && operation.method === 'GET'
        ? await answersAs(operation, at)
        : allowed === null
          ? null
          : (await allowedMethods(operation, at))?.has(operation.method) === true;
    const isServed = serves(revision, operation);
    if (isThere === null || isThere === isServed) continue;
    const words = (served: boolean) => (served ? 'served' : 'not served');
    const request = `${operation.method} ${operation.path}`;
    differences.push({ request, where: 'operation', expected: words(isServed), actual: words(isThere) });
  }
  return differences;
}

/** The methods that the operation's path has, as a preflight tells them; null where it does not. */
async function allowedMethods(operation: Operation, at: At): Promise<ReadonlySet<string> | null> {
  const { answer } = await preflight(operation, at);
  const allow = answer.status === 200 ? answer.headers.get('allow') : undefined;
  return allow === undefined ? null : new Set(allow.split(',').map((each) => each.trim().toUpperCase()));
}
