import { flag, text, u64, yes } from '../schemas.js';
import { traitsOf } from '../traits/revision.js';
import { Type } from '../typebox.js';
import { ALL_ALONE, destroys, MAY_CHANGE, NO_BODY, type OperationRows, READS } from './operation.js';

const QUERIES = Type.Array(
  Type.Object({
    timestamp: u64('Seconds since the epoch.'),
    domain: text('The name asked for.'),
    client_ip: text('Who asked.'),
    blocked: flag('Whether a blocklist answered.'),
    failed: Type.Optional(flag('There, and true, where the answer was SERVFAIL.')),
  }),
);

/** DNS settings, query log and blocklists. */
export const DNS = {
  getDnsConfig: {
    endpoint: 'GET /dns/config',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dns',
    body: NO_BODY,
    answer: (revision) => traitsOf(revision, 'dns').form.schema,
    hasTag: true,
    subject: 'dns',
    effect: READS,
    failures: [],
    summary: 'The DNS configuration',
    description: 'With defaults where the file is silent.',
  },
  putDnsConfig: {
    endpoint: 'POST /dns/config',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dns',
    body: { kind: 'json', schema: (revision) => traitsOf(revision, 'dns').form.schema },
    answer: () => yes,
    hasTag: true,
    subject: 'dns',
    effect: destroys('replaces the DNS settings'),
    failures: [],
    summary: 'Replaces the DNS configuration',
    description:
      'Takes effect at once and is stored under `dns` in the file. With `enabled` and blocklists, a refresh starts in the background.',
  },
  listDnsQueries: {
    endpoint: 'GET /dns/queries',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dns',
    body: NO_BODY,
    answer: () => QUERIES,
    subject: 'other',
    effect: READS,
    failures: [],
    summary: 'The DNS query log, oldest first',
    description: 'At most 1,000.',
  },
  refreshBlocklists: {
    endpoint: 'POST /dns/blocklists/refresh',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dns',
    body: NO_BODY,
    answer: () => yes,
    subject: 'other',
    effect: MAY_CHANGE,
    failures: [],
    summary: 'Starts a blocklist refresh',
    description: 'Answers at once; the refresh goes on in the background.',
  },
} as const satisfies OperationRows;
