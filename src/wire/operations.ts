import { AUDIT } from './operations/audit.js';
import { DNS } from './operations/dns.js';
import { DNS_ENGINE } from './operations/dns-engine.js';
import { LINKS } from './operations/links.js';
import type { OperationRow } from './operations/operation.js';
import { OVERNET } from './operations/overnet.js';
import { RULES } from './operations/rules.js';
import { SERVER } from './operations/server.js';
import { SESSION } from './operations/session.js';
import { USERS } from './operations/users.js';
import type { Access, Revision } from './traits/revision.js';

const ROWS = { ...SERVER, ...USERS, ...SESSION, ...AUDIT, ...RULES, ...DNS, ...LINKS, ...DNS_ENGINE, ...OVERNET };

export type OperationName = keyof typeof ROWS;

/** An operation of the API: a row of the tables with its values filled in. */
export interface Operation extends Omit<OperationRow, 'endpoint'> {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the API root; `{key}` is the access key, percent-encoded. */
  readonly path: string;
  /** In bytes. */
  readonly bodyLimit: number;
}

/** In bytes (protocol: "Limits"). */
const BODY_LIMIT = 1024 * 1024;

function operation(name: OperationName, row: OperationRow): Operation {
  const [method, path] = row.endpoint.split(' ') as [Operation['method'], string]; // The endpoint's type says so.
  return { bodyLimit: BODY_LIMIT, ...row, name, method, path };
}

/**
 * Every operation of the API in any revision (protocol: "Endpoints"). Routes, documents, recordings and what may be played on
 * a live server are made from it.
 */
export const OPERATIONS: readonly Operation[] = Object.entries(ROWS).map(
  ([name, row]) => operation(name as OperationName, row), // Object.entries is typed as string.
);

const BY_NAME = new Map(OPERATIONS.map((each) => [each.name, each]));

/** Returns the operation of this name. */
export function operationNamed(name: OperationName): Operation {
  const found = BY_NAME.get(name);
  if (found === undefined) throw new Error(`there is no operation ${name}`);
  return found;
}

/** Returns who may call an operation in a revision. */
export function accessOf({ access }: Pick<Operation, 'access'>, revision: Revision): Access {
  return typeof access === 'string' ? access : access(revision);
}

/** Tells whether a revision serves an operation. */
export function serves({ capabilities }: Pick<Revision, 'capabilities'>, { capability }: Operation): boolean {
  return capability === null || capabilities[capability] !== undefined;
}

/** Lists the operations that a revision serves. */
export function operationsOf(revision: Pick<Revision, 'capabilities'>): readonly Operation[] {
  return OPERATIONS.filter((each) => serves(revision, each));
}
