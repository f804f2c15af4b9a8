import { flag, object, orNull, text, u64, yes } from '../schemas.js';
import { traitsOf } from '../traits/revision.js';
import { Type } from '../typebox.js';
import { ALL_ALONE, destroys, json, MAY_CHANGE, NO_BODY, type OperationRows, READS } from './operation.js';

const PAIRS = (description: string) =>
  Type.Array(Type.Array(Type.Union([Type.String(), Type.BigInt()])), { description });

const STATS = Type.Object({
  enabled: flag('Whether the resolver is switched on.'),
  since_seconds: u64('How long has been counted.'),
  total: u64('Questions.'),
  blocked: u64('Questions that were blocked.'),
  rewritten: u64('Questions that a rewrite answered.'),
  cached: u64('Questions that the cache answered.'),
  failed: u64('Questions that nobody answered.'),
  avg_upstream_ms: orNull(Type.BigInt(), 'an integer or null', 'Mean time of an upstream; null where it is not known.'),
  rules: u64('Rules of all lists that are counted.'),
  lists: Type.Array(Type.Object({ name: text('Name.'), rules: u64('Rules.'), unsupported: u64('Rules passed over.') })),
  upstreams: Type.Array(text('Upstream.')),
  top_domains: PAIRS('Names asked for most, with how often.'),
  top_blocked: PAIRS('Names blocked most, with how often.'),
  top_clients: PAIRS('Clients that asked most, with how often.'),
});

const OUTCOME = text(
  '`allowed`, `cached`, `blocked`, `blocked_service`, `safe_search`, `rewritten`, `forwarded` or `failed`.',
);

const LOG = Type.Array(
  Type.Object({
    time: u64('Milliseconds since the epoch.'),
    client: text('Who asked.'),
    name: text('The name asked for.'),
    qtype: text('The type of record; `?` where it is not known.'),
    outcome: OUTCOME,
    rule: Type.Optional(text('The rule that decided.')),
    source: Type.Optional(text('The list that it stands in.')),
    upstream: Type.Optional(text('The upstream that answered.')),
    elapsed_ms: u64('Milliseconds; 0 where they are not known.'),
  }),
);

/** DNS settings, log and lists from 0.4.6 on. */
export const DNS_ENGINE = {
  getDnsStats: {
    endpoint: 'GET /dns/stats',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: NO_BODY,
    answer: () => STATS,
    subject: 'other',
    effect: READS,
    failures: [],
    summary: 'Counts of DNS questions',
    description: 'As far as they are in the log. The last list is that of user rules.',
  },
  getDnsLog: {
    endpoint: 'GET /dns/log',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: NO_BODY,
    query: {
      limit: u64('So many at most: 200 without it, and never more than 2,000.'),
      q: text('A part of the name or of the client.'),
    },
    answer: () => LOG,
    subject: 'other',
    effect: READS,
    failures: [],
    summary: 'The DNS query log, newest first',
    description: 'The questions that are kept, with what became of each.',
  },
  clearDnsLog: {
    endpoint: 'DELETE /dns/log',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: NO_BODY,
    answer: () => yes,
    subject: 'other',
    effect: destroys('clears the DNS query log'),
    failures: [],
    summary: 'Clears the DNS query log and its counts',
    description: 'For whoever asks this API.',
  },
  getDnsSettings: {
    endpoint: 'GET /dns/settings',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: NO_BODY,
    answer: (revision) => traitsOf(revision, 'dnsEngine').form.answer,
    subject: 'other',
    effect: READS,
    failures: [],
    summary: 'The DNS settings',
    description: 'With defaults where the file is silent; settings of the older form as this one says them.',
  },
  putDnsSettings: {
    endpoint: 'PUT /dns/settings',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: { kind: 'json', schema: (revision) => traitsOf(revision, 'dnsEngine').form.body },
    answer: () => yes,
    subject: 'other',
    effect: destroys('replaces the DNS settings'),
    failures: ['appliedUnsaved'],
    summary: 'Replaces the DNS settings',
    description: 'An absent member is its default. Takes effect at once and is stored under `dns` in the file.',
  },
  updateDnsLists: {
    endpoint: 'POST /dns/update',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: NO_BODY,
    answer: () =>
      Type.Array(
        Type.Object({
          name: text('Name.'),
          url: text('URL.'),
          ok: flag('Outcome.'),
          detail: text('What became of it.'),
        }),
      ),
    subject: 'other',
    effect: MAY_CHANGE,
    failures: [],
    summary: 'Fetches the lists',
    description: 'Each list that is switched on, and what became of it.',
  },
  testDnsName: {
    endpoint: 'POST /dns/test',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: json(object({ domain: text('The name.') })),
    answer: () =>
      Type.Object({
        name: text('The name.'),
        outcome: OUTCOME,
        detail: text('Why.'),
        rule: Type.Optional(text('The rule that decides.')),
        source: Type.Optional(text('The list that it stands in.')),
      }),
    subject: 'other',
    effect: MAY_CHANGE,
    failures: [],
    summary: 'What would become of a question for a name',
    description: 'Nothing is asked of anybody.',
  },
  getDnsMeta: {
    endpoint: 'GET /dns/meta',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'dnsEngine',
    body: NO_BODY,
    answer: () =>
      Type.Object({
        presets: Type.Array(Type.Array(Type.String()), { description: 'Id, name and URL of each.' }),
        services: Type.Array(Type.Array(Type.String()), { description: 'Id and name of each.' }),
      }),
    subject: 'other',
    effect: READS,
    failures: [],
    summary: 'Lists and services that can be chosen',
    description: 'Services are those that whoever resolves can block.',
  },
} as const satisfies OperationRows;
