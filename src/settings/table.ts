import { resolve } from 'node:path';
import { DEFAULT_REVISION } from '../../revisions/all.js';
import type { Offered } from './flags.js';
import type { HomePlace } from './home.js';
import type { Kind } from './kinds.js';
import * as kinds from './kinds.js';

/** The outcome of reading the texts of one place: the value, or the invalid texts. */
export type ReadTexts<T> = { readonly value: T } | { readonly bad: readonly string[] };

/** One row of the table. The variable and the member are named after the flag (`variableOf`, `memberOf`). */
export interface Setting<T> {
  /** Without its dashes. */
  readonly flag: string;
  /** A switch that means a particular value, such as `no-config`. */
  readonly negation: { readonly flag: string; readonly value: T } | null;
  /** The value's name in help texts; null for a switch. */
  readonly placeholder: string | null;
  /** The value if the flag is given without one; null if a value is required. */
  readonly alone: string | null;
  readonly member: kinds.MemberType;
  readonly expected: string;
  /** Returns the end of the message about a text that is not a value. */
  readonly hint: ((text: string) => string) | undefined;
  readonly repeatable: boolean;
  names(value: T): readonly kinds.NamedPlace[];
  /** Values that shells complete. */
  readonly offered: Offered | undefined;
  /** True if its value is never printed. */
  readonly secret: boolean;
  /** True if an empty text after the flag counts as not given, because it comes from an unset shell variable. */
  readonly needsText: boolean;
  readonly defaultText: string;
  readonly description: string;
  /** Returns the value if no source gives one. Relative paths start at `folder`. */
  fallback(folder: string): T;
  read(texts: readonly string[], folder: string): ReadTexts<T>;
}

/** `T` is the type of the default, `V` that of the value. */
interface Row<T, V = T> {
  readonly flag: string;
  readonly placeholder?: string;
  readonly alone?: string;
  readonly negation?: { readonly flag: string; readonly value: V };
  readonly secret?: boolean;
  readonly needsText?: boolean;
  readonly default: T;
  readonly defaultText: string;
  readonly description: string;
}

function describeRow<T>(kind: Pick<Kind<T>, 'member' | 'expected' | 'hint' | 'offered'>, row: Row<T>) {
  const { flag, negation = null, placeholder = null, alone = null, secret = false, defaultText, description } = row;
  const { needsText = false } = row;
  const { member, expected, hint, offered } = kind;
  return {
    flag,
    negation,
    placeholder,
    alone,
    secret,
    needsText,
    defaultText,
    description,
    member,
    expected,
    hint,
    offered,
    fallback: () => row.default,
  };
}

/** Makes a setting with one value, or none. */
function one<T>(kind: Kind<T>, row: Row<null, T | null>): Setting<T | null>;
function one<T>(kind: Kind<T>, row: Row<NoInfer<T>>): Setting<T>;
function one<T>(kind: Kind<T>, row: Row<T | null>): Setting<T | null> {
  return {
    ...describeRow<T | null>(kind, row),
    repeatable: false,
    names: (value) => (value === null || kind.names === undefined ? [] : [kind.names(value)]),
    read: ([text = ''], folder) => {
      const value = kind.read(text, folder);
      return value === undefined ? { bad: [text] } : { value };
    },
  };
}

/** Makes a setting that may be given several times. */
function many<T>(kind: Kind<T>, row: Row<readonly T[]>): Setting<readonly T[]> {
  return {
    ...describeRow(kind, row),
    repeatable: true,
    names: (values) => values.flatMap((value) => kind.names?.(value) ?? []),
    read: (texts, folder) => {
      const bad = texts.filter((text) => kind.read(text, folder) === undefined);
      if (bad.length > 0) return { bad };
      return { value: texts.flatMap((text) => kind.read(text, folder) ?? []) };
    },
  };
}

/**
 * Every setting, in the order of the help texts and of the README's table. Each is a flag, an environment variable and a
 * member of the settings file; a flag wins over the environment, the environment over the file. Where the value is null,
 * the configuration file or the protocol says what counts.
 */
export const SETTINGS = {
  // Null is the run-time-only mode.
  config: {
    ...one(kinds.path, {
      flag: 'config',
      placeholder: 'FILE',
      negation: { flag: 'no-config', value: null },
      default: null,
      defaultText: './keyway.jsonc',
      description:
        "The server's configuration file, in which keys, rules and DNS settings are kept. With --no-config there is none: keys live until the gateway stops.",
    }),
    fallback: (folder) => resolve(folder, 'keyway.jsonc'),
  },
  upstream: one(kinds.upstream, {
    flag: 'upstream',
    placeholder: 'URL',
    default: null,
    defaultText: 'none',
    description:
      'A running server to stand in front of, as http(s)://host:port/webpath: its own management API is what Keyway keeps keys, rules and settings in. There is no configuration file then.',
  }),
  upstreamRevision: one(kinds.revision, {
    flag: 'upstream-revision',
    placeholder: 'R',
    default: null,
    defaultText: 'as the server reports',
    description: 'The line that the server behind --upstream is taken for, whatever version it reports.',
  }),
  upstreamToken: one(kinds.headerToken, {
    flag: 'upstream-token',
    placeholder: 'TOKEN',
    secret: true,
    default: null,
    defaultText: 'none',
    description: 'The static API token of that server. Best given by the environment or the settings file.',
  }),
  upstreamUsername: one(kinds.someText, {
    flag: 'upstream-username',
    placeholder: 'NAME',
    default: null,
    defaultText: 'none',
    description: 'The login name at that server, for lines that have sessions alone (0.2.36 to 0.2.50).',
  }),
  upstreamPassword: one(kinds.anyText, {
    flag: 'upstream-password',
    placeholder: 'PASSWORD',
    secret: true,
    default: null,
    defaultText: 'none',
    description: 'Its password. Best given by the environment or the settings file.',
  }),
  upstreamCa: one(kinds.path, {
    flag: 'upstream-ca',
    placeholder: 'FILE',
    default: null,
    defaultText: "the system's",
    description:
      "The certificates (PEM) that are trusted for an https server behind --upstream, instead of the system's.",
  }),
  serveStale: one(kinds.onOrOff, {
    flag: 'serve-stale',
    default: false,
    defaultText: 'off',
    description:
      'While the server behind --upstream is away, answer lists of keys from what was last known, for a day at most, with its age in the header Age and stale in /healthz.',
  }),
  database: one(kinds.databaseUrl, {
    flag: 'database',
    placeholder: 'URL',
    secret: true,
    default: null,
    defaultText: 'none',
    description:
      'The PostgreSQL database that holds the state instead of a configuration file, and that several gateways may share. Its password belongs into the variable, the settings file or a password file.',
  }),
  databaseListenUrl: one(kinds.databaseUrl, {
    flag: 'database-listen-url',
    placeholder: 'URL',
    secret: true,
    default: null,
    defaultText: 'as --database',
    description:
      'The same database past a connection pooler, for one connection that hears of changes at once. Without it they are seen within a second.',
  }),
  databaseStale: one(kinds.seconds, {
    flag: 'database-stale',
    placeholder: 'SECONDS',
    default: 60 * kinds.SECOND,
    defaultText: '60',
    description:
      'How long reads go on from what was last known while the database is away. Subscriptions and the feed go on for a day.',
  }),
  noMigrate: one(kinds.onOrOff, {
    flag: 'no-migrate',
    default: false,
    defaultText: 'off',
    description: 'Do not bring the schema of the database up to date at the start: "keyway database migrate" does it.',
  }),
  revision: many(kinds.mount, {
    flag: 'revision',
    placeholder: 'R[@WEBPATH]',
    default: [kinds.mount.read(DEFAULT_REVISION, '')].flatMap((mount) => mount ?? []),
    defaultText: DEFAULT_REVISION,
    description:
      'The revision to speak: its name or a server package version such as 0.2.31, which the status then reports. Give it several times to serve several at once, each at its own web path.',
  }),
  serverHost: one(kinds.host, {
    flag: 'server-host',
    placeholder: 'HOST',
    default: null,
    defaultText: "the file's listen, or what the upstream announces",
    description:
      'The host that share links and client configurations name; from 0.4.6 on a domain of the file comes first.',
  }),
  serverPort: one(kinds.port, {
    flag: 'server-port',
    placeholder: 'PORT',
    default: null,
    defaultText: "the file's listen, or what the upstream announces",
    description: 'The port that share links and client configurations name.',
  }),
  shareScheme: one(kinds.scheme, {
    flag: 'share-scheme',
    placeholder: 'SCHEME',
    default: null,
    defaultText: "ostp, or the upstream's",
    description: 'The scheme of share links.',
  }),
  shareQuery: one(kinds.shareQuery, {
    flag: 'share-query',
    placeholder: 'QUERY',
    default: null,
    defaultText: "empty, or the upstream's",
    description: 'The query of share links, written with its ?, in revisions that have a configured one.',
  }),
  bind: one(kinds.listenAddress, {
    flag: 'bind',
    placeholder: 'HOST:PORT|unix:PATH',
    default: null,
    defaultText: "the file's, else 127.0.0.1:9090",
    description:
      "Where to listen; port 0 picks a free one. A Unix socket is open to its owner's user and group. Given here it serves even when the file's listener is not enabled.",
  }),
  tlsCert: one(kinds.path, {
    flag: 'tls-cert',
    placeholder: 'FILE',
    default: null,
    defaultText: 'no TLS',
    description:
      'The certificate to serve with (PEM, its chain behind it), on every address of the API and the subscriptions but Unix sockets. Read again at SIGHUP.',
  }),
  tlsKey: one(kinds.path, {
    flag: 'tls-key',
    placeholder: 'FILE',
    default: null,
    defaultText: 'no TLS',
    description: "The certificate's private key (PEM, without a passphrase).",
  }),
  subscriptionBind: one(kinds.listenAddress, {
    flag: 'subscription-bind',
    placeholder: 'HOST:PORT|unix:PATH',
    default: null,
    defaultText: 'none',
    description:
      'A further address where the subscriptions of every revision are served and nothing else, so that the API need not face the Internet.',
  }),
  // Null: on --subscription-bind.
  subscriptionTokens: one(kinds.onOrOff, {
    flag: 'subscriptions',
    negation: { flag: 'no-subscriptions', value: false },
    default: null,
    defaultText: 'on --subscription-bind alone',
    description:
      "Answer subscriptions at the addresses that servers from 0.4.6 on hand out, /sub/TOKEN, on the API's address, too. With --no-subscriptions nowhere.",
  }),
  token: one(kinds.headerTokenOrNone, {
    flag: 'token',
    placeholder: 'TOKEN',
    secret: true,
    needsText: true,
    default: null,
    defaultText: "the file's, or the upstream's",
    description: 'The static API token. The environment or the settings file keeps it out of the list of processes.',
  }),
  webpath: one(kinds.webpath, {
    flag: 'webpath',
    placeholder: 'PATH',
    needsText: true,
    default: null,
    defaultText: "the file's or the upstream's, else panel",
    description: 'The path before the panel and the API.',
  }),
  username: one(kinds.anyText, {
    flag: 'username',
    placeholder: 'NAME',
    default: null,
    defaultText: "the file's, or the upstream's",
    description: "The operator's login name.",
  }),
  passwordHash: one(kinds.passwordHash, {
    flag: 'password-hash',
    placeholder: 'HASH',
    secret: true,
    default: null,
    defaultText: "the file's, or of the upstream's password",
    description: "The hash of the operator's password, as keyway hash-password prints it.",
  }),
  allowOpen: one(kinds.onOrOff, {
    flag: 'allow-open',
    default: false,
    defaultText: 'off',
    description:
      'Serve a revision that its own rule leaves open although credentials are set for others, or although other machines or a proxy reach the address.',
  }),
  dataDir: one(kinds.path, {
    flag: 'data-dir',
    placeholder: 'DIR',
    default: null,
    defaultText: '<file name>.keyway next to the file, or keyway-<host>-<port>.keyway of the upstream',
    description: 'The folder of counters and kept versions. It belongs to one configuration file, or to one upstream.',
  }),
  sunset: many(kinds.sunset, {
    flag: 'sunset',
    placeholder: 'R@DAY',
    default: [],
    defaultText: 'none',
    description:
      'A served revision that goes, and the day: its answers say so to programs (Deprecation, Sunset). "keyway revisions --used" tells who still uses it. Repeatable.',
  }),
  panelDirs: many(kinds.panelFolder, {
    flag: 'panel-dir',
    placeholder: '[R=]DIR',
    default: [],
    defaultText: 'the embedded panel',
    description:
      'A folder with another panel build, for all revisions or for one (as written in --revision). Hidden files are not served. Repeatable.',
  }),
  panelServers: many(kinds.panelServer, {
    flag: 'panel-server',
    placeholder: '[NAME=]URL',
    default: [],
    defaultText: 'none',
    description:
      "Another server's API that the embedded panel may speak to, for the list on its login page, perhaps with what it is called there. Anyone who reaches the panel can read both. Repeatable.",
  }),
  protectAudit: one(kinds.onOrOff, {
    flag: 'protect-audit',
    default: false,
    defaultText: 'off',
    description: 'Ask for the credential on the audit list too, which by the specification is open to anyone.',
  }),
  ownApi: one(kinds.onOrOff, {
    flag: 'own-api',
    negation: { flag: 'no-own-api', value: false },
    default: true,
    defaultText: 'on',
    description:
      "Keyway's own interface at keyway/v1 of every mount: batches, changes, named tokens. It always asks for a credential.",
  }),
  webhook: one(kinds.webhookUrl, {
    flag: 'webhook',
    placeholder: 'URL',
    default: null,
    defaultText: 'none',
    description:
      'Send every event there, in order, signed as Standard Webhooks says, with keys by name and digest; what is not taken is sent again for a day.',
  }),
  webhookSecret: one(kinds.webhookSecret, {
    flag: 'webhook-secret',
    placeholder: 'SECRET',
    secret: true,
    default: null,
    defaultText: 'none',
    description:
      'The secret by which events are signed, whsec_ and Base64. Best given by the environment or the settings file.',
  }),
  trustProxy: many(kinds.proxyAddress, {
    flag: 'trust-proxy',
    placeholder: 'CIDR',
    default: [],
    defaultText: 'none',
    description:
      'Proxies whose X-Forwarded-For names the caller, for the log and the guards; unix for one on the Unix socket. Repeatable.',
  }),
  allowHosts: many(kinds.hostName, {
    flag: 'allow-host',
    placeholder: 'NAME',
    default: [],
    defaultText: 'any',
    description:
      'A host name that requests may be sent to, against DNS rebinding; those to others are answered 421. Addresses and localhost always pass. For the API, the panel, subscriptions and --ops-bind. Repeatable.',
  }),
  loginGuard: one(kinds.loginGuard, {
    flag: 'login-guard',
    placeholder: 'N/MINUTES|off',
    default: { failures: 5, window: 5 * kinds.MINUTE },
    defaultText: '5/5',
    description:
      'After N failed logins from one address within MINUTES further ones are refused unread. off lifts the limit on wrong tokens, too.',
  }),
  maxConnections: one(kinds.connections, {
    flag: 'max-connections',
    placeholder: 'N',
    default: 4096,
    defaultText: '4096',
    description:
      'Connections that each listener holds at most. Beyond it those idle longest are closed; one address (IPv6: one /56) has at most a quarter, proxies of --trust-proxy excepted.',
  }),
  inPlace: one(kinds.onOrOff, {
    flag: 'in-place',
    default: false,
    defaultText: 'off',
    description:
      'Overwrite the configuration file instead of replacing it, where it is a mount point (a single-file container mount).',
  }),
  serverVersion: one(kinds.revision, {
    flag: 'server-version',
    placeholder: 'VERSION',
    default: null,
    defaultText: 'the oldest of --revision',
    description:
      'The version of the server that reads the file. Servers from 0.3.7 to 0.3.10 need every key of the inbounds in a root access_keys, too; for later ones Keyway takes a deleted key out of both. One up to 0.2.30 gets no key with a name or a limit. From 0.4.6 on the counters that it posts outlive its restart.',
  }),
  feedBind: one(kinds.listenAddress, {
    flag: 'feed-bind',
    placeholder: 'HOST:PORT|unix:PATH',
    default: null,
    defaultText: 'no feed',
    description:
      "Where the tunnel server reports traffic and asks whom to admit. A Unix socket is open to its owner's user and group.",
  }),
  feedToken: one(kinds.headerToken, {
    flag: 'feed-token',
    placeholder: 'TOKEN',
    secret: true,
    default: null,
    defaultText: 'none',
    description: 'The token that the feed asks for. Needed with --feed-bind, unless that is a Unix socket.',
  }),
  opsBind: one(kinds.listenAddress, {
    flag: 'ops-bind',
    placeholder: 'HOST:PORT|unix:PATH',
    default: null,
    defaultText: 'none',
    description:
      'Where /healthz, /readyz and /metrics (for Prometheus) are served. They ask for no credential and tell nothing secret: give an address that only you reach.',
  }),
  embeddedResolver: one(kinds.onOrOff, {
    flag: 'resolver',
    negation: { flag: 'no-resolver', value: false },
    default: null,
    defaultText: 'on; off with a running server',
    description:
      'The DNS server behind the DNS settings. With --no-resolver they are kept without resolving: no query log, no blocklists. A server behind --upstream has its own, and so has one that listens on the address of the file when Keyway starts.',
  }),
  listFolder: one(kinds.path, {
    flag: 'list-folder',
    placeholder: 'DIR',
    default: null,
    defaultText: 'none',
    description:
      'The folder below which blocklists at file: URLs are read. A caller who may change the DNS settings names the files; without it they are skipped.',
  }),
  fault: one(kinds.fault, {
    flag: 'fault',
    placeholder: 'FAULT',
    default: null,
    defaultText: 'none can be had',
    description:
      'For tests of a client, with --no-config: what goes wrong from the start on, one of none, away, error, signed-out and slow=MS, with *N behind it for N requests alone. Another while it runs: PUT /.keyway/fault/FAULT.',
  }),
  testState: one(kinds.path, {
    flag: 'test-state',
    placeholder: 'FILE',
    default: null,
    defaultText: 'no keys',
    description:
      "For tests of a client, with --no-config: the state to begin in, as JSON with config (a server's configuration) and counters. It is read once and never written. Another while it runs: PUT /.keyway/state.",
  }),
  seed: one(kinds.someText, {
    flag: 'seed',
    placeholder: 'TEXT',
    default: null,
    defaultText: 'none',
    description:
      'For tests of a client, with --no-config: the same keys and tokens for the same text every time, at noon of 1 January 2026. Whoever knows it knows the tokens.',
  }),
  requestLog: one(kinds.loggedRequests, {
    flag: 'log-requests',
    placeholder: 'WHICH',
    alone: 'all',
    default: 'changes',
    defaultText: 'changes',
    description:
      'The requests that get a line in the log, at the level info: changes (and whatever is refused or fails), all, or none.',
  }),
  logLevel: one(kinds.logLevel, {
    flag: 'log-level',
    placeholder: 'LEVEL',
    default: 'info',
    defaultText: 'info',
    description: 'The least important log lines to write: debug, info, warn, error or silent.',
  }),
} satisfies Readonly<Record<string, Setting<unknown>>>;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The value of each row. Paths are absolute. */
export type SettingValues = { readonly [Name in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[Name]> };

/** The rows that say how a running server is reached. */
export const UPSTREAM_SETTINGS = [
  'upstream',
  'upstreamRevision',
  'upstreamToken',
  'upstreamUsername',
  'upstreamPassword',
  'upstreamCa',
] as const satisfies readonly (keyof SettingValues)[];

/** The rows that say where the state lives. */
export const HOME_SETTINGS = [
  ...UPSTREAM_SETTINGS,
  'config',
  'dataDir',
  'inPlace',
  'serverVersion',
  'serveStale',
  'database',
  'databaseListenUrl',
  'databaseStale',
  'noMigrate',
  'fault',
  'testState',
] as const satisfies readonly (keyof SettingValues)[];

/**
 * All settings of `serve`, read and checked: a member for each row of the table, except for one that says where the
 * state lives.
 */
export type Settings = Omit<SettingValues, (typeof HOME_SETTINGS)[number]> & { readonly home: HomePlace };

/** Variables whose names differ from that of their flag. */
const KNOWN_VARIABLES: ReadonlyMap<string, string> = new Map([['database', 'KEYWAY_DATABASE_URL']]);

export function variableOf(flag: string): string {
  return KNOWN_VARIABLES.get(flag) ?? `KEYWAY_${flag.toUpperCase().replaceAll('-', '_')}`;
}

/** Returns the settings file's member of a flag. */
export function memberOf(flag: string): string {
  return flag.replaceAll('-', '_');
}
