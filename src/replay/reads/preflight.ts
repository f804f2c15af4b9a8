import { type Operation, operationsOf } from '../../wire/operations.js';
import { corsDifferences } from '../play/cors.js';
import type { Seen } from './look.js';
import { type At, type Found, ORIGIN, originDifferences, pathOf, type ReadDifference } from './looking.js';

/** The headers with which a browser asks whether a page of another origin may call an operation. */
function preflightHeaders({ method }: Operation): Readonly<Record<string, string>> {
  return {
    origin: ORIGIN,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type',
  };
}

/** Asks whether a page of another origin may call an operation. */
export function preflight(operation: Operation, at: At): Promise<Seen> {
  const headers = preflightHeaders(operation);
  return at.look.read({ method: 'OPTIONS', path: pathOf(operation, at), authorization: null, headers });
}

/** Pages of other origins may call every operation, and read what is refused to them. */
export async function lookAtCors(at: At): Promise<Found> {
  const path = `${at.api}/server/status`;
  const refused = await at.look.read({ method: 'GET', path, authorization: null, headers: { origin: ORIGIN } });
  const found: ReadDifference[] = originDifferences(`GET /server/status from ${ORIGIN}`, refused.answer.headers);
  const permitted = new Map(['origin', 'methods', 'headers'].map((name) => [`access-control-allow-${name}`, '*']));
  for (const operation of operationsOf(at.revision)) {
    const { answer } = await preflight(operation, at);
    // What is not there is told as that.
    if (answer.status >= 300) continue;
    const request = `OPTIONS ${operation.path} from ${ORIGIN}, before ${operation.method}`;
    const asked = new Map(Object.entries(preflightHeaders(operation)));
    found.push(...corsDifferences(permitted, answer.headers, asked).map((each) => ({ ...each, request })));
  }
  return found;
}
