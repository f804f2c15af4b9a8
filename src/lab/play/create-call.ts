import type { Call, Target } from '../../client/call.js';
import { OWN_ROOT } from '../../own-api/operations.js';
import { writeJson } from '../../wire/json/write-json.js';
import { type Addresses, replaceAddresses, replaceAddressesInJson } from '../format/addresses.js';
import { type Bindings, fillText } from '../format/placeholders.js';
import type { ScenarioRequest } from '../format/scenario.js';

/** The values of a request's marks and placeholders. */
interface Surroundings {
  readonly target: Target;
  readonly addresses: Addresses;
  readonly bindings: Bindings;
}

/** Returns a scenario's request as it is sent. Throws `UnboundPlaceholder` if a placeholder has no value yet. */
export function createCall(request: ScenarioRequest, at: Surroundings): Call {
  const headers = Object.entries(withContentType(request));
  return {
    method: request.method,
    path: rootOf(request, at.target) + fillText(request.path, at.bindings, encodeURIComponent),
    headers: new Map(headers.map(([name, value]) => [name, fillText(value, at.bindings)])),
    body: bodyOf(request, at),
  };
}

/** Adds the content type of a JSON body, like in answers; a body without the header is written as `text`. */
function withContentType({ headers = {}, body }: ScenarioRequest): Readonly<Record<string, string>> {
  const isSaid = body === undefined || Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return isSaid ? headers : { ...headers, 'content-type': 'application/json' };
}

/** Returns the path that a request's own path is relative to. */
export function rootOf(request: ScenarioRequest, target: Pick<Target, 'apiRoot' | 'base'>): string {
  switch (request.root) {
    case 'server':
      return '';
    case 'base':
      return target.base;
    case 'v1':
      return target.base + OWN_ROOT;
    default:
      return target.apiRoot;
  }
}

function bodyOf(request: ScenarioRequest, at: Surroundings): Buffer | undefined {
  if (request.text !== undefined) {
    return Buffer.from(fillText(replaceAddresses(request.text, at.addresses), at.bindings), 'utf8');
  }
  if (request.body === undefined) return undefined;
  const body = replaceAddressesInJson(request.body, at.addresses);
  return Buffer.from(fillText(writeJson(body), at.bindings, insideString), 'utf8');
}

/** Returns a value as it is between the quotes of a JSON string. */
function insideString(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}
