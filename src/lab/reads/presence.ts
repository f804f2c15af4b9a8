import { OPERATIONS, type Operation, operationNamed, operationsOf, serves } from '../../wire/operations.js';
import { corsDifferences } from '../play/cors.js';
import type { Seen } from './look.js';
import { type At, answersAs, type Found, ORIGIN, originDifferences, pathOf, type ReadDifference } from './looking.js';

/** Checks that exactly the revision's operations exist: reads by their answers, the others by what preflights allow. */
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

const METHOD_NOT_ALLOWED = 405;

/** Returns the methods of the operation's path according to a preflight, granted or not; null if it does not say. */
async function allowedMethods(operation: Operation, at: At): Promise<ReadonlySet<string> | null> {
  const { answer } = await preflight(operation, at);
  const tells = answer.status === 200 || answer.status === METHOD_NOT_ALLOWED;
  const allow = tells ? answer.headers.get('allow') : undefined;
  return allow === undefined ? null : new Set(allow.split(',').map((each) => each.trim().toUpperCase()));
}

/** Returns the headers by which a browser asks whether a page of another origin may call an operation. */
function preflightHeaders({ method }: Operation): Readonly<Record<string, string>> {
  return {
    origin: ORIGIN,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type',
  };
}

/** Asks whether a page of another origin may call an operation. */
function preflight(operation: Operation, at: At): Promise<Seen> {
  const headers = preflightHeaders(operation);
  return at.look.read({ method: 'OPTIONS', path: pathOf(operation, at), authorization: null, headers });
}

/** Checks that pages of other origins may call every operation, and read its refusals, or none. */
export async function lookAtCors(at: At): Promise<Found> {
  const path = `${at.api}/server/status`;
  const refused = await at.look.read({ method: 'GET', path, authorization: null, headers: { origin: ORIGIN } });
  const found: ReadDifference[] = originDifferences(
    `GET /server/status from ${ORIGIN}`,
    refused.answer.headers,
    at.revision,
  );
  const permitted = new Map(['origin', 'methods', 'headers'].map((name) => [`access-control-allow-${name}`, '*']));
  for (const operation of operationsOf(at.revision)) {
    const { answer } = await preflight(operation, at);
    const request = `OPTIONS ${operation.path} from ${ORIGIN}, before ${operation.method}`;
    if (!at.revision.anyOrigin) found.push(...originDifferences(request, answer.headers, at.revision));
    // A missing operation is reported by the rule about operations.
    if (answer.status >= 300 || !at.revision.anyOrigin) continue;
    const asked = new Map(Object.entries(preflightHeaders(operation)));
    found.push(...corsDifferences(permitted, answer.headers, asked).map((each) => ({ ...each, request })));
  }
  return found;
}
