import fc from 'fast-check';
import { REVISIONS } from '../../revisions/all.js';
import { type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { type Encodable, encodeJson } from '../../src/wire/json/write-json.js';
import { operationsOf } from '../../src/wire/operations.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { address, engineDns, flatFile, nestedFile, url } from '../document/started.js';

/** A write of the configuration, by a mount or by Keyway's own interface beside it. */
export interface Write {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the API root, or of the own interface below the web path; `@0` and `@1` stand for the first keys of the file. */
  readonly path: string;
  readonly isOwn: boolean;
  /** JSON, in which such keys may stand, too; absent for none. */
  readonly body?: string;
  readonly type: string;
  /** Why a server may not start afterwards, because the protocol's answer wins. */
  readonly mayEnd: 'never' | 'by its keys' | 'always';
}

/** A command line, and what stands in the file that it is given. */
export interface CommandLine {
  /** `NEWEST` and `OLDEST` stand for kept versions, `FIRST` for the first key of the file. */
  readonly words: readonly string[];
  /** The configuration of the backup, or the table, at `INPUT`; absent for none. */
  readonly backup?: string;
  readonly table?: string;
}

/** A mount that serves the file for some writes, and the command that follows. */
export interface Sitting {
  /** The id of a revision. */
  readonly revision: string;
  readonly writes: readonly Write[];
  readonly command: CommandLine | null;
}

export const PATH = '/etc/server/server.json';
export const INPUT = '/etc/server/input';
export const [NEWEST, OLDEST, FIRST] = ['@newest', '@oldest', '@first'];

const key = fc.constantFrom('@0', '@1', 'new');
const [name, limit] = [fc.constantFrom('Anna', '', null), fc.constantFrom(5, 0, null)];
const some = (model: Readonly<Record<string, fc.Arbitrary<unknown>>>) => fc.record(model, { requiredKeys: [] });

const olderDns = fc.record(
  {
    enabled: fc.boolean(),
    doh_upstream: fc.constantFrom('https://9.9.9.9/dns-query', ''),
    adblock_urls: fc.array(url, { maxLength: 2 }),
    custom_domains: fc.dictionary(fc.constantFrom('a.example', 'c.example'), address, { maxKeys: 2 }),
    local_port: fc.constant(53),
    intercept_all_port53: fc.boolean(),
  },
  { requiredKeys: ['enabled'] },
);
const rule = fc.record(
  {
    domain_suffix: fc.subarray(['.a', '.b']),
    ip_cidr: fc.subarray(['::/0']),
    protocol: fc.constantFrom('tcp', null),
    action: fc.constantFrom('proxy', 'direct', 'block'),
    send_from: fc.constantFrom('192.0.2.9', null),
  },
  { requiredKeys: ['action'] },
);

/** A value that a member of a file may be given, right or wrong. */
const value = fc.constantFrom(
  ...[null, true, 5, -1, 70_000, '', 'text', '0.0.0.0:50000', 'server', 'client'],
  ...[[], {}, ['0.0.0.0:50000'], ['.a'], [1], { enabled: true }, { enabled: false }],
);
const member = fc.constantFrom(
  ...['mode', 'listen', 'debug', 'log_level', 'turn_server', 'fallback', 'reality', 'transport', 'config_version'],
  ...['domain', 'tls', 'subscription', 'overnet', 'local_access', 'bind_ip', 'outbounds', 'routing', 'unknown'],
);
const text = (file: unknown) => JSON.stringify(file, null, 2);
const sections = some({
  outbound: some({ enabled: value, port: value, rules: value, address: fc.constant('127.0.0.1') }),
  dns: fc.oneof(olderDns, engineDns, some({ enabled: value, lists: value, upstream_mode: value })),
  api: some({ token: value, bind: value, username: value, webpath: value }),
  transport: some({ mode: value, stealth_port: value, tls: value }),
  tls: some({ enabled: value, ws_path: value, cert: value }),
  subscription: some({ enabled: value, path: value }),
});
const merged = fc.oneof(fc.dictionary(member, value, { minKeys: 1, maxKeys: 2 }), sections);
const NESTED = ['/dns/enabled', '/dns/doh_upstream', '/outbound/port', '/outbound', '/inbounds/0/port', '/api/token'];
const step = fc.record({
  op: fc.constantFrom('add', 'remove', 'replace'),
  path: fc.oneof(
    member.map((one) => `/${one}`),
    fc.constantFrom(...NESTED),
  ),
  value,
});
const item = fc.oneof(
  fc.record({ op: fc.constant('create'), access_key: fc.constantFrom('new', 'newer'), name, limit_bytes: limit }),
  fc.record({ op: fc.constant('update'), access_key: key, name, limit_bytes: limit }),
  fc.record({ op: fc.constantFrom('delete', 'reset', 'rotate'), access_key: key }),
);

/** Bodies of the writes of a mount, by their operations; null for none. */
const bodies = (files: readonly string[]): Readonly<Record<string, fc.Arbitrary<unknown>>> => ({
  createUser: some({ access_key: key, name, limit_bytes: limit }),
  bulkCreateUsers: fc.record({ count: fc.constant(2), limit_bytes: limit }),
  updateUser: fc.record({ name, limit_bytes: limit }),
  setLimit: fc.record({ limit_bytes: limit }),
  deleteUser: fc.constant(null),
  resetUser: fc.constant(null),
  putRules: fc.array(rule, { maxLength: 3 }),
  putDnsConfig: olderDns,
  putDnsSettings: fc.oneof(
    engineDns,
    fc.tuple(engineDns, olderDns).map(([engine, older]) => ({ ...engine, ...older })),
  ),
  putOvernet: some({ enabled: fc.boolean(), gateway: fc.constant('10.0.0.1:80'), entry: fc.boolean() }),
  putConfig: fc.oneof(
    fc.constantFrom(...files).map(parsed),
    flatFile,
    nestedFile,
    merged.map((one) => ({ mode: 'server', ...one })),
  ),
});

function parsed(text: string): JsonValue {
  return parseJson(Buffer.from(text), { comments: true, duplicates: 'last' });
}

type Given = Pick<Write, 'method' | 'path' | 'isOwn' | 'mayEnd'> & Partial<Pick<Write, 'type'>>;

const write = ({ path, ...given }: Given, body: fc.Arbitrary<unknown>): fc.Arbitrary<Write> =>
  fc.record({ key, body }).map(({ key: named, body: json }) => ({
    type: 'application/json',
    ...given,
    path: path.replace('{key}', named),
    // Arbitraries of JSON alone come here.
    ...(json === null ? {} : { body: encodeJson(json as Encodable) }),
  }));

const ofOwn = (method: Given['method'], path: string, body: fc.Arbitrary<unknown>, type?: string) =>
  write({ method, path: `/keyway/v1${path}`, isOwn: true, mayEnd: 'never', ...(type && { type }) }, body);

/** A write by Keyway's own interface. */
export const anyOwnWrite: fc.Arbitrary<Write> = fc.oneof(
  ofOwn('POST', '/keys/batch?wait=30', fc.record({ items: fc.array(item, { minLength: 1, maxLength: 3 }) })),
  ofOwn('PATCH', '/keys/{key}', some({ name, limit_bytes: limit })),
  ofOwn('POST', '/keys/{key}/rotate', fc.constant({})),
  ofOwn('PATCH', '/configuration', merged, 'application/merge-patch+json'),
  ofOwn('PATCH', '/configuration?force=lock-out', sections, 'application/merge-patch+json'),
  ofOwn('PATCH', '/configuration', fc.tuple(step), 'application/json-patch+json'),
);

/** The names of the operations that change the file. */
export const WRITING: readonly string[] = Object.keys(bodies(['{}']));

/** One of each write that a mount of a revision takes; `files` are those that a caller may put in place of the configuration. */
export function writesOf(revision: Revision, files: readonly string[]): readonly fc.Arbitrary<Write>[] {
  return operationsOf(revision).flatMap(({ name: operation, method, path, subject }) => {
    const body = bodies(files)[operation];
    if (body === undefined || method === 'GET') return [];
    const mayEnd = operation === 'putConfig' ? 'always' : subject === 'keys' ? 'by its keys' : 'never';
    return [write({ method, path, isOwn: false, mayEnd }, body)];
  });
}

const [HEADING, ...LINES] = ['key,name,limit', 'new,Anna,5GB', 'newer,,', ',Boris,10GB', ',Anna,'];

const anyCommand = (files: readonly string[]): fc.Arbitrary<CommandLine> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(
          ['config', 'adopt', PATH, '--add', '--remove', '--update'],
          ['config', 'adopt', PATH, '--remove'],
          ...['0.2.30', '0.3.21', '0.4.6'].map((version) => ['config', 'convert', PATH, '--force', '--for', version]),
          ['config', 'convert', PATH, '--layout', 'access_keys'],
          ...[NEWEST, OLDEST].map((version) => ['config', 'restore', version, '--config', PATH]),
          ['keys', 'add', 'Anna', '--config', PATH],
          ['keys', 'set', FIRST, '--name', 'Anna', '--limit', '1GB', '--config', PATH],
          ['keys', 'rotate', FIRST, '--config', PATH],
          ['keys', 'remove', FIRST, '--config', PATH],
          ['set-password', '--username', 'admin', '--config', PATH],
        )
        .map((words) => ({ words })),
    },
    fc.subarray(LINES, { minLength: 1 }).map((lines) => ({
      words: ['keys', 'import', INPUT, '--config', PATH],
      table: [HEADING, ...lines].join('\n'),
    })),
    fc.oneof(fc.constantFrom(...files), flatFile.map(text), nestedFile.map(text)).map((backup) => ({
      words: ['restore', INPUT, '--config', PATH],
      backup,
    })),
  );

/** Any writes by any mounts, one after the other. */
export const anySittings = (files: readonly string[]): fc.Arbitrary<readonly Sitting[]> =>
  fc.array(
    fc.constantFrom(...REVISIONS).chain((revision) =>
      fc.record({
        revision: fc.constant(revision.id),
        writes: fc.array(fc.oneof(...writesOf(revision, files), anyOwnWrite), { minLength: 1, maxLength: 3 }),
        command: fc.option(anyCommand(files)),
      }),
    ),
    { minLength: 1, maxLength: 2 },
  );
