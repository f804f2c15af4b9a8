import type { TSchema } from 'typebox';
import { FILE_LIMITS } from '../core/file-limits.js';
import * as schemas from './schemas.js';

/** What a revision may lack. Operations without one are served by all. */
export type Capability = 'config' | 'login' | 'panel' | 'audit' | 'bulk' | 'rules' | 'dns';

export type OperationName =
  | 'getStatus'
  | 'getConfig'
  | 'putConfig'
  | 'listUsers'
  | 'createUser'
  | 'bulkCreateUsers'
  | 'getUser'
  | 'updateUser'
  | 'deleteUser'
  | 'setLimit'
  | 'resetUser'
  | 'subscribe'
  | 'login'
  | 'listAudit'
  | 'addAudit'
  | 'clearAudit'
  | 'getRules'
  | 'putRules'
  | 'getDnsConfig'
  | 'putDnsConfig'
  | 'listDnsQueries'
  | 'refreshBlocklists';

/**
 * What a request carries: nothing that is looked at, JSON that a schema describes, JSON that the revision's DNS form
 * describes, or the bytes of a whole configuration.
 */
export type RequestBody =
  | { readonly kind: 'none' | 'wholeConfig' | 'dnsForm' }
  | { readonly kind: 'json'; readonly schema: TSchema };

/** One row of the protocol's tables of endpoints. */
export interface Operation {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the API root; `{key}` is the access key, percent-encoded. */
  readonly path: string;
  readonly access: 'protected' | 'open';
  readonly capability: Capability | null;
  readonly body: RequestBody;
  /** Bytes. */
  readonly bodyLimit: number;
  readonly summary: string;
}

const MEBIBYTE = 1024 * 1024;

/** Protocol: "Limits". */
const BODY_LIMIT = MEBIBYTE;
const CONFIG_BODY_LIMIT = FILE_LIMITS.configuration;
/** Design: "An audit entry". Everyone may write a hundred that everyone may read. */
const AUDIT_BODY_LIMIT = 4 * 1024;

const NONE: RequestBody = { kind: 'none' };
const json = (schema: TSchema): RequestBody => ({ kind: 'json', schema });

function operation(
  name: OperationName,
  endpoint: `${Operation['method']} /${string}`,
  access: Operation['access'],
  capability: Capability | null,
  body: RequestBody,
  summary: string,
  bodyLimit = body.kind === 'wholeConfig' ? CONFIG_BODY_LIMIT : BODY_LIMIT,
): Operation {
  const [method, path] = endpoint.split(' ') as [Operation['method'], string]; // The template type above says so.
  return { name, method, path, access, capability, body, bodyLimit, summary };
}

/** Every operation of the API in any revision (protocol: "Endpoints"). Routes, fixtures and documents are made from it. */
export const OPERATIONS: readonly Operation[] = [
  operation('getStatus', 'GET /server/status', 'protected', null, NONE, 'Server version, uptime and user counts'),
  operation('getConfig', 'GET /server/config', 'protected', 'config', NONE, 'The configuration file as a JSON value'),
  operation(
    'putConfig',
    'PUT /server/config',
    'protected',
    'config',
    { kind: 'wholeConfig' },
    'Replaces the configuration file',
  ),
  operation('listUsers', 'GET /users', 'protected', null, NONE, 'All keys, most bytes down first'),
  operation(
    'createUser',
    'POST /users',
    'protected',
    null,
    json(schemas.CreateUserBody),
    'Registers or replaces a key',
  ),
  operation(
    'bulkCreateUsers',
    'POST /users/bulk',
    'protected',
    'bulk',
    json(schemas.BulkCreateBody),
    'Registers many keys',
  ),
  operation('getUser', 'GET /users/{key}', 'protected', null, NONE, 'One key'),
  operation(
    'updateUser',
    'PUT /users/{key}',
    'protected',
    null,
    json(schemas.UpdateUserBody),
    'Overwrites name and limit',
  ),
  operation('deleteUser', 'DELETE /users/{key}', 'protected', null, NONE, 'Removes a key and its counters'),
  operation(
    'setLimit',
    'PUT /users/{key}/limit',
    'protected',
    null,
    json(schemas.SetLimitBody),
    'Overwrites the limit',
  ),
  operation('resetUser', 'POST /users/{key}/reset', 'protected', null, NONE, 'Sets the traffic counters to zero'),
  operation('subscribe', 'GET /subscribe/{key}', 'open', null, NONE, 'Share link or client configuration of a key'),
  operation('login', 'POST /login', 'open', 'login', json(schemas.LoginBody), 'Begins a session'),
  operation('listAudit', 'GET /audit', 'open', 'audit', NONE, 'The audit list, newest first'),
  operation(
    'addAudit',
    'POST /audit',
    'open',
    'audit',
    json(schemas.AddAuditBody),
    'Adds an audit entry',
    AUDIT_BODY_LIMIT,
  ),
  operation('clearAudit', 'DELETE /audit', 'open', 'audit', NONE, 'Empties the audit list'),
  operation('getRules', 'GET /router/rules', 'protected', 'rules', NONE, 'The outbound rules'),
  operation(
    'putRules',
    'PUT /router/rules',
    'protected',
    'rules',
    json(schemas.PutRulesBody),
    'Replaces the outbound rules',
  ),
  operation('getDnsConfig', 'GET /dns/config', 'protected', 'dns', NONE, 'The DNS configuration'),
  operation(
    'putDnsConfig',
    'POST /dns/config',
    'protected',
    'dns',
    { kind: 'dnsForm' },
    'Replaces the DNS configuration',
  ),
  operation('listDnsQueries', 'GET /dns/queries', 'protected', 'dns', NONE, 'The DNS query log, oldest first'),
  operation(
    'refreshBlocklists',
    'POST /dns/blocklists/refresh',
    'protected',
    'dns',
    NONE,
    'Starts a blocklist refresh',
  ),
];

/** The operations that a revision with these capabilities serves. */
export function operationsWith(capabilities: ReadonlySet<Capability>): readonly Operation[] {
  return OPERATIONS.filter(({ capability }) => capability === null || capabilities.has(capability));
}
