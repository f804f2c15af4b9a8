import type { OwnMethod, OwnRow } from './operation.js';
import { ADDRESS } from './rows/address.js';
import { CONFIGURATION } from './rows/configuration.js';
import { DNS } from './rows/dns.js';
import { EVENTS } from './rows/events.js';
import { JOBS } from './rows/jobs.js';
import { KEYS } from './rows/keys.js';
import { TOKENS } from './rows/tokens.js';
import { USAGE } from './rows/usage.js';

/** The place of this interface below a mount's base. */
export const OWN_ROOT = '/keyway/v1';

const ROWS = { ...ADDRESS, ...CONFIGURATION, ...DNS, ...EVENTS, ...JOBS, ...KEYS, ...TOKENS, ...USAGE };

export type OwnOperationName = keyof typeof ROWS;

/** A call of Keyway's own interface: its row, ready for use. */
export interface OwnOperation extends Omit<OwnRow, 'endpoint'> {
  readonly name: OwnOperationName;
  readonly method: OwnMethod;
  readonly path: string;
  readonly bodyLimit: number;
}

/** Bytes. */
const BODY_LIMIT = 1024 * 1024;

function operation(name: OwnOperationName, row: OwnRow): OwnOperation {
  const [method, path] = row.endpoint.split(' ') as [OwnMethod, string]; // The endpoint's type says so.
  return { bodyLimit: BODY_LIMIT, ...row, name, method, path };
}

/** Every call: routes, the OpenAPI document, access and the tests of all of them are made from it. */
export const OWN_OPERATIONS: readonly OwnOperation[] = Object.entries(ROWS).map(
  ([name, row]) => operation(name as OwnOperationName, row), // Object.entries knows no more than string.
);
