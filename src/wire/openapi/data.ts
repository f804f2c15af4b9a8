import type { TSchema } from 'typebox';
import { MAX_U64 } from '../../core/model.js';
import type { OperationName } from '../operations.js';
import type { Revision } from '../traits/revision.js';
import { Type } from '../typebox.js';

const u64 = (description: string) => Type.BigInt({ minimum: 0n, maximum: MAX_U64, description });
const orNull = (schema: TSchema, description: string) => Type.Union([schema, Type.Null()], { description });
const text = (description: string) => Type.String({ description });

const done = (value: string) => () => Type.Literal(value);
const yes = () => Type.Literal(true);
const key = (description: string) => () => text(description);

const STATUS = Type.Object({
  version: text('Version of the server package that this revision stands for.'),
  uptime_seconds: u64('Whole seconds since the API started.'),
  active_users: u64('Keys with traffic.'),
  total_users: u64('Registered keys.'),
});

function snapshot({ snapshot: form, online }: Revision): TSchema {
  return Type.Object({
    access_key: text('The key.'),
    ...(form.hasName ? { name: orNull(Type.String(), 'Display name.') } : {}),
    bytes_up: u64('Bytes from the client.'),
    bytes_down: u64('Bytes to the client.'),
    connections: u64('Present connections.'),
    limit_bytes: orNull(u64('Bytes.'), 'Traffic limit; null means none.'),
    online: Type.Boolean({ description: `True when ${online.name}.` }),
    ...(form.hasLastSeen ? { last_seen: Type.Null({ description: 'Always null.' }) } : {}),
  });
}

const CLIENT_CONFIG = Type.Object({
  mode: Type.Literal('client'),
  server: text('`host:port` as announced to clients.'),
  access_key: text('The requested key.'),
  socks5_bind: text('Where the client listens.'),
  tun: Type.Object({ enable: Type.Boolean(), dns: Type.String() }),
  exclude: Type.Object({
    domains: Type.Array(Type.String()),
    ips: Type.Array(Type.String()),
    processes: Type.Array(Type.String()),
  }),
  turn: Type.Object({ enabled: Type.Boolean() }),
  mux: Type.Object({ enabled: Type.Boolean(), sessions: Type.Integer() }),
  debug: Type.Boolean(),
});

const AUDIT = Type.Array(
  Type.Object({
    id: text('A random unsigned 64-bit number in lowercase hexadecimal.'),
    time: text('Local time of creation, `HH:MM:SS`.'),
    eventEn: text('Event text, first language.'),
    eventRu: text('Event text, second language.'),
    success: Type.Boolean({ description: 'Outcome.' }),
  }),
);

function rules({ ruleForm }: Revision): TSchema {
  const sample = ruleForm.encode({ domainSuffix: [], ipCidr: [], protocol: null, action: 'direct' });
  const hasProtocol = typeof sample === 'object' && sample !== null && 'protocol' in sample;
  return Type.Array(
    Type.Object({
      domain_suffix: Type.Array(Type.String(), { description: 'Domain suffixes that the rule matches.' }),
      ip_cidr: Type.Array(Type.String(), { description: 'Networks that the rule matches.' }),
      ...(hasProtocol ? { protocol: orNull(Type.String(), 'Transport protocol; null for any.') } : {}),
      action: Type.Union([Type.Literal('proxy'), Type.Literal('direct'), Type.Literal('block')]),
    }),
  );
}

const QUERIES = Type.Array(
  Type.Object({
    timestamp: u64('Seconds since the epoch.'),
    domain: text('The name asked for.'),
    client_ip: text('Who asked.'),
    blocked: Type.Boolean({ description: 'Whether a blocklist answered.' }),
  }),
);

/** What `data` holds on success. */
export const DATA_SCHEMAS: Readonly<Record<OperationName, (revision: Revision) => TSchema>> = {
  getStatus: () => STATUS,
  getConfig: () => Type.Object({}, { description: 'The configuration file, comments left out.' }),
  putConfig: yes,
  listUsers: (revision) => Type.Array(snapshot(revision)),
  createUser: key('The key, given or generated (32 lowercase hexadecimal characters).'),
  bulkCreateUsers: () => Type.Array(text('A generated key of 16 lowercase hexadecimal characters.')),
  getUser: snapshot,
  updateUser: done('User updated'),
  deleteUser: done('User removed'),
  setLimit: yes,
  resetUser: yes,
  subscribe: () => Type.Union([text('A share link.'), CLIENT_CONFIG]),
  login: () => Type.Object({ token: text('The session token, a random UUID.') }),
  listAudit: () => AUDIT,
  addAudit: yes,
  clearAudit: () => Type.Null(),
  getRules: rules,
  putRules: yes,
  getDnsConfig: ({ dnsForm }) => dnsForm.schema,
  putDnsConfig: yes,
  listDnsQueries: () => QUERIES,
  refreshBlocklists: yes,
};

/** What the documents say of each operation beyond its schemas. */
export const OPERATION_NOTES: Readonly<
  Record<OperationName, { readonly description: string; readonly failures: readonly string[] }>
> = {
  getStatus: { description: 'Cheap at any number of keys; what panels poll.', failures: [] },
  getConfig: {
    description:
      'Reads the file anew. Comments are left out, numbers keep their spelling. It holds every credential of the server.',
    failures: [
      'No config path registered (run-time only)',
      'Failed to read config file…',
      'Failed to strip comments…',
      'Failed to parse config JSON…',
    ],
  },
  putConfig: {
    description:
      'Overwrites the whole file with the body, pretty-printed: comments are lost, and the version before is kept. Keys, rules and DNS settings of the new file are live at once when its `mode` is `server`.',
    failures: [
      "Invalid config: missing 'mode' field",
      'No config path registered (run-time only)',
      'Failed to format config JSON…',
      'Failed to write config file…',
    ],
  },
  listUsers: {
    description:
      'Sorted by `bytes_down`, descending; equal ones in the order of registration. Compressed when `Accept-Encoding` allows.',
    failures: [],
  },
  createUser: {
    description:
      'Without `access_key` one is generated. An existing key is replaced and its counters start at zero. Written to the configuration file before the answer.',
    failures: ['failed to save configuration'],
  },
  bulkCreateUsers: {
    description:
      'Generates `count` keys without a name. They have no counters until their first update, limit or usage. A failed write is carried by the next one.',
    failures: ['Count too large, max 1000'],
  },
  getUser: { description: 'Record and counters of one key.', failures: ['user not found'] },
  updateUser: {
    description: 'Overwrites both: an absent member becomes null. Counters are kept.',
    failures: ['User not found', 'failed to save configuration'],
  },
  deleteUser: {
    description: 'Removes record and counters.',
    failures: ['User not found', 'failed to save configuration'],
  },
  setLimit: {
    description: 'Null or absent clears the limit. Name and counters are kept.',
    failures: ['user not found', 'failed to save configuration'],
  },
  resetUser: {
    description:
      'Sets bytes and connections to zero; the limit is kept and the file is not written. Counters that cannot be written now are carried by the next write. A key without counters is not found.',
    failures: ['user not found'],
  },
  subscribe: {
    description:
      'The access key itself admits. With `text/plain` in `Accept` the data is a share link, otherwise a client configuration.',
    failures: ['invalid access key'],
  },
  login: {
    description:
      'One session per mount: a new login replaces the token before it. After repeated failures from one address the answer carries `Retry-After`.',
    failures: ['Auth not configured'],
  },
  listAudit: {
    description: 'At most 100 entries, kept in memory. Open to everyone, as are the other audit operations.',
    failures: [],
  },
  addAudit: { description: 'Inserts at the front; the oldest of more than 100 is dropped.', failures: [] },
  clearAudit: { description: 'Empties the list.', failures: [] },
  getRules: { description: 'First match wins. Empty when outbound routing is not configured.', failures: [] },
  putRules: {
    description: 'Takes effect at once and replaces `rules` in the file, where unchanged rules keep their text.',
    failures: ['Outbound routing is not enabled in config'],
  },
  getDnsConfig: { description: 'With defaults where the file is silent.', failures: [] },
  putDnsConfig: {
    description:
      'Takes effect at once and is stored under `dns` in the file. With `enabled` and blocklists, a refresh starts in the background.',
    failures: [],
  },
  listDnsQueries: { description: 'At most 1,000.', failures: [] },
  refreshBlocklists: { description: 'Answers at once; the refresh goes on in the background.', failures: [] },
};
