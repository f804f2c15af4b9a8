import type { UnsaidMember } from '../core/continued-rules.js';
import type { OperationName } from '../wire/operations.js';
import { operationNamed, serves } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import { neededOfDns } from '../wire/traits/server-file.js';
import { hasNames } from '../wire/traits/snapshot.js';

/**
 * One member of an answer that differs from what a configuration file would give, because servers of a line do not
 * report it, or treat it differently. No loss covers a status or a whole body.
 */
export interface Loss {
  readonly operation: OperationName;
  /** The member of the data, such as `name` or `endpoint.host`. */
  readonly member: string;
  /** The place where it shows: the wire of the line, or how its servers treat what they are given. */
  readonly shownBy: 'wire' | 'server';
  /** Tells whether the servers of a line have it. */
  readonly of: (line: Revision) => boolean;
  /** Tells whether it shows in a revision; by default in each that has the operation. */
  readonly shows?: (mount: Revision) => boolean;
  /** Describes the loss in one sentence without the line. */
  readonly sentence: string;
}

const tellsNames = ({ snapshot }: Revision) => hasNames(snapshot);
const tellsCounters = ({ online }: Revision) => !online.mayHaveCounters(false);
const tellsServer = ({ status }: Revision) => status.tellsServer;
const hasConfig = ({ capabilities }: Revision) => capabilities.config !== undefined;

const cannotSay =
  (member: UnsaidMember) =>
  ({ capabilities: { rules } }: Revision) =>
    rules?.form.unsaid.includes(member) === true;
const says =
  (member: UnsaidMember) =>
  ({ capabilities: { rules } }: Revision) =>
    rules?.form.unsaid.includes(member) === false;

const NO_NAMES = {
  member: 'name',
  shownBy: 'wire',
  of: (line: Revision) => !tellsNames(line) && !hasConfig(line),
  shows: tellsNames,
  sentence:
    'The server tells no names, and has no configuration to read them from: those that it got from others are null.',
} as const;

const ONLINE = {
  member: 'online',
  shownBy: 'wire',
  of: (line: Revision) => !tellsCounters(line),
  shows: tellsCounters,
  sentence:
    'The server does not tell a key without counters from one that was never used: a key that others made in bulk counts as online.',
} as const;

const RULES_BY_CONFIG = {
  member: 'action',
  shownBy: 'server',
  of: (line: Revision) => line.capabilities.rules === undefined && hasConfig(line),
  sentence:
    'Rules go into the configuration: the server follows them from its next start on, and reads `block` as `proxy`.',
} as const;

const BLOCK_UNTIL_START = {
  member: 'action',
  shownBy: 'server',
  of: ({ capabilities, storing }: Revision) => capabilities.rules !== undefined && storing.storesRules,
  sentence: 'A rule with `block` is followed at once, and is `proxy` after the next start of the server.',
} as const;

const RULES_UNTIL_START = {
  member: 'action',
  shownBy: 'server',
  of: ({ capabilities, storing }: Revision) => capabilities.rules !== undefined && !storing.storesRules,
  sentence:
    "Rules take effect at once, but the server itself stores none. Two seconds later Keyway writes them into the server's configuration, where that has outbounds for them. Of these, rules with `proxy` survive the next start; `block` and `direct` do not.",
} as const;

const LIMIT_AT_HANDSHAKE = {
  member: 'limit_bytes',
  shownBy: 'server',
  of: (line: Revision) => !line.endsSessionsOverLimit,
  sentence: 'The server checks a limit at the handshake only: open sessions go on past it.',
} as const;

const UNSTORED = {
  shownBy: 'server',
  of: (line: Revision) => line.storing.undoneBecause !== null && !hasConfig(line),
} as const;

const KEYS_UNTIL_START = {
  ...UNSTORED,
  member: 'access_key',
  sentence:
    'The server stores nothing, and starts with the keys of its file: what was changed through Keyway is made again within a minute after its start, what others changed is gone.',
} as const;

const CONNECTIONS = {
  member: 'connections',
  shownBy: 'server',
  of: (line: Revision) => !line.connectionsFall,
  shows: (mount: Revision) => mount.connectionsFall,
  sentence:
    'The server counts handshakes and never notices that a connection ends: keys that have connected count as online until it restarts.',
} as const;

const BETAS_CONNECTIONS = {
  member: 'connections',
  shownBy: 'server',
  of: ({ earlierBuilds }: Revision) => earlierBuilds !== undefined,
  shows: (mount: Revision) => mount.connectionsFall,
  sentence:
    'Betas before 0.4.6-beta.9, which report 0.4.6 too, count handshakes and never notice that a connection ends: keys that have connected count as online until the server restarts.',
} as const;

const NOT_PUBLISHED = {
  shownBy: 'wire',
  of: (line: Revision) => !hasConfig(line),
  sentence: 'The server has no configuration to read TLS and subscriptions from: they are null, and links go over UDP.',
} as const;

const DNS_BY_CONFIG = {
  member: 'enabled',
  shownBy: 'server',
  of: (line: Revision) => line.capabilities.dns === undefined && hasConfig(line),
  sentence: 'DNS settings go into the configuration: a server that has DNS follows them from its next start on.',
} as const;

const DNS_TOLD = {
  member: 'query',
  shownBy: 'server',
  of: (line: Revision) => tellsServer(line) && DNS_BY_CONFIG.of(line),
  sentence:
    'The status and links say whether the running server has DNS on: DNS that was switched through Keyway shows there from its next start on.',
} as const;

const DNS_IN_MEMORY = {
  member: 'enabled',
  shownBy: 'server',
  of: (line: Revision) => !hasConfig(line),
  sentence: 'The server has no DNS, and nothing to keep its settings in: they are gone when Keyway ends.',
} as const;

const OWN_RESOLVER = {
  shownBy: 'server',
  of: () => true,
  sentence:
    "Counts, log and lists are those of Keyway's own resolver, and the server's are not asked for: without `--resolver` nothing is counted, no list is fetched, and a test of a name goes by the settings alone.",
} as const;

const OVERNET_BY_CONFIG = {
  shownBy: 'server',
  of: hasConfig,
  sentence:
    'Settings of overnet go into the configuration: a server that has it follows them from its next start on, and is not asked whether it serves.',
} as const;

const NO_OVERNET = {
  shownBy: 'server',
  of: (line: Revision) => !hasConfig(line),
  sentence: 'The server has no configuration to keep settings of overnet in: a change is refused.',
} as const;

const DOMAIN_FIRST = {
  shownBy: 'server',
  of: (line: Revision) => !tellsServer(line) && hasConfig(line),
  shows: tellsServer,
  sentence: 'A domain in the configuration is named in place of the host that the server itself announces.',
} as const;

/** The two members that DNS settings of six have in addition to the other four. */
const SIX_MEMBERS = ['local_port', 'intercept_all_port53'] as const;
const hasDnsOf =
  (form: string) =>
  ({ capabilities }: Revision) =>
    capabilities.dns?.form.name === form;

/**
 * Everything that is lost in front of a running server. Tests take it as the exact list of what may differ, a start
 * warns about what affects its mounts, and the table of docs/upstream.md is made from it.
 */
export const LOSSES: readonly Loss[] = [
  { operation: 'listUsers', ...NO_NAMES },
  { operation: 'getUser', ...NO_NAMES },
  {
    operation: 'getShare',
    ...NO_NAMES,
    member: 'query',
    sentence: 'A name that the server does not tell is not in the links of its key, which carry that of the host.',
  },
  { operation: 'listUsers', ...ONLINE },
  { operation: 'getUser', ...ONLINE },
  {
    operation: 'getRules',
    member: 'protocol',
    shownBy: 'wire',
    of: cannotSay('protocol'),
    shows: says('protocol'),
    sentence: 'A rule has no protocol on this line: it is null, and one that is given is dropped.',
  },
  {
    operation: 'putRules',
    member: 'protocol',
    shownBy: 'wire',
    of: cannotSay('protocol'),
    shows: says('protocol'),
    sentence: 'The server stores rules without their protocol.',
  },
  {
    operation: 'getRules',
    member: 'send_from',
    shownBy: 'wire',
    of: cannotSay('sendFrom'),
    shows: says('sendFrom'),
    sentence: 'A rule does not say on this line from which address its connections leave: it is null.',
  },
  {
    operation: 'putRules',
    member: 'send_from',
    shownBy: 'wire',
    of: cannotSay('sendFrom'),
    shows: says('sendFrom'),
    sentence: 'The server stores rules without the address from which their connections leave.',
  },
  {
    operation: 'putRules',
    member: 'send_from',
    shownBy: 'wire',
    of: says('sendFrom'),
    sentence: 'The server writes `send_from` into every rule of its file, null where nobody has said it.',
  },
  { operation: 'putRules', ...RULES_BY_CONFIG },
  { operation: 'putRules', ...BLOCK_UNTIL_START },
  { operation: 'putRules', ...RULES_UNTIL_START },
  { operation: 'createUser', ...KEYS_UNTIL_START },
  { operation: 'updateUser', ...KEYS_UNTIL_START },
  { operation: 'setLimit', ...KEYS_UNTIL_START },
  { operation: 'deleteUser', ...KEYS_UNTIL_START },
  {
    operation: 'updateUser',
    ...UNSTORED,
    member: 'name',
    sentence:
      'Of a key that stands in its file, the server has no name after its next start; Keyway shows it as long as it runs.',
  },
  { operation: 'createUser', ...LIMIT_AT_HANDSHAKE },
  { operation: 'updateUser', ...LIMIT_AT_HANDSHAKE },
  { operation: 'setLimit', ...LIMIT_AT_HANDSHAKE },
  ...SIX_MEMBERS.flatMap((member) => [
    {
      operation: 'putDnsConfig' as const,
      member,
      shownBy: 'wire' as const,
      of: hasDnsOf('six members'),
      shows: hasDnsOf('four members'),
      sentence: 'The line has two members more, which the server stores with the others.',
    },
    {
      operation: 'putDnsConfig' as const,
      member,
      shownBy: 'wire' as const,
      of: hasDnsOf('four members'),
      shows: hasDnsOf('six members'),
      sentence: 'The line does not have this member: the server does not store it.',
    },
  ]),
  {
    operation: 'subscribe',
    member: 'query',
    shownBy: 'wire',
    of: ({ shareQuery }) => shareQuery.query('?configured', false) !== '?configured',
    shows: ({ shareQuery }) => shareQuery.query('?configured', false) === '?configured',
    sentence:
      'Links of the line do not tell the configured query: those of older revisions carry the query of its own links.',
  },
  {
    operation: 'subscribe',
    member: 'query',
    shownBy: 'wire',
    of: ({ shareQuery }) => shareQuery.query('', true) === shareQuery.query('', false),
    shows: ({ shareQuery }) => shareQuery.query('', true) !== shareQuery.query('', false),
    sentence:
      'Links of the line do not tell whether the server has DNS on: `owndns` is left out, and a status that tells it says that it is off.',
  },
  {
    operation: 'subscribe',
    member: 'link',
    shownBy: 'wire',
    of: ({ subscribe }) => subscribe.encode.by === 'ways',
    shows: ({ subscribe }) => subscribe.encode.by === 'one way',
    sentence:
      'Links of the line begin with `ostp://`, whatever scheme is configured: those of older revisions do so, too.',
  },
  {
    operation: 'getStatus',
    member: 'endpoint.host',
    shownBy: 'wire',
    of: (line) => !tellsServer(line),
    shows: tellsServer,
    sentence:
      'A server without keys does not say what its links name: host and port are those of its configuration, where it has one in its API.',
  },
  { operation: 'getStatus', member: 'endpoint.host', ...DOMAIN_FIRST },
  { operation: 'getShare', member: 'udp', ...DOMAIN_FIRST },
  {
    operation: 'getShare',
    member: 'query',
    ...DOMAIN_FIRST,
    sentence:
      'A key without a name has in its links that of the host which they name: of the domain, where there is one.',
  },
  ...['links.udp', 'link', 'server'].map((member) => ({ operation: 'subscribe' as const, member, ...DOMAIN_FIRST })),
  { operation: 'getStatus', member: 'endpoint.tls', ...NOT_PUBLISHED, shows: tellsServer },
  { operation: 'getStatus', member: 'endpoint.subscription_prefix', ...NOT_PUBLISHED, shows: tellsServer },
  { operation: 'getShare', member: 'tls', ...NOT_PUBLISHED },
  { operation: 'getShare', member: 'subscription', ...NOT_PUBLISHED },
  ...['links.tls', 'link', 'server', 'transport.mode', 'transport.tls', 'transport.ws_path'].map((member) => ({
    operation: 'subscribe' as const,
    member,
    ...NOT_PUBLISHED,
    shows: tellsServer,
  })),
  { operation: 'getUser', ...CONNECTIONS },
  { operation: 'listUsers', ...CONNECTIONS },
  { operation: 'getStatus', ...CONNECTIONS },
  { operation: 'getUser', ...BETAS_CONNECTIONS },
  { operation: 'listUsers', ...BETAS_CONNECTIONS },
  { operation: 'getStatus', ...BETAS_CONNECTIONS },
  {
    operation: 'getDnsSettings',
    member: 'lists',
    shownBy: 'wire',
    of: (line) => !hasConfig(line),
    sentence: 'The server has no configuration to read DNS settings from: they begin as those of a server without any.',
  },
  {
    operation: 'putDnsSettings',
    member: 'dns',
    shownBy: 'wire',
    of: ({ capabilities }) => capabilities.dns !== undefined,
    sentence:
      'The line stores DNS settings in its older form: the first upstream, the addresses of lists and the names with an address. The others do not last.',
  },
  {
    operation: 'putDnsSettings',
    member: 'dns',
    shownBy: 'wire',
    of: ({ capabilities, file }) => capabilities.dns === undefined && neededOfDns([{ file }]).length > 0,
    sentence:
      'Servers of the line start from no DNS settings without the older members: these stand in the configuration beside the others.',
  },
  { operation: 'putDnsConfig', ...DNS_BY_CONFIG },
  { operation: 'putDnsSettings', ...DNS_BY_CONFIG },
  { operation: 'getStatus', ...DNS_TOLD, member: 'endpoint.dns_enabled', shows: tellsServer },
  { operation: 'subscribe', ...DNS_TOLD },
  { operation: 'getShare', ...DNS_TOLD },
  {
    operation: 'putDnsSettings',
    member: 'resolver',
    shownBy: 'server',
    of: ({ earlierBuilds }) => earlierBuilds !== undefined,
    sentence:
      'Betas before 0.4.6-beta.4, which report 0.4.6 too, have no DNS of this form: the settings stay in the configuration, and nobody follows them.',
  },
  { operation: 'putDnsConfig', ...DNS_IN_MEMORY },
  { operation: 'putDnsSettings', ...DNS_IN_MEMORY },
  { operation: 'getDnsStats', member: 'total', ...OWN_RESOLVER },
  { operation: 'getDnsLog', member: 'outcome', ...OWN_RESOLVER },
  { operation: 'testDnsName', member: 'outcome', ...OWN_RESOLVER },
  { operation: 'updateDnsLists', member: 'ok', ...OWN_RESOLVER },
  { operation: 'getOvernet', member: 'serving', ...OVERNET_BY_CONFIG },
  { operation: 'putOvernet', member: 'config', ...OVERNET_BY_CONFIG },
  { operation: 'putOvernet', member: 'config', ...NO_OVERNET },
];

/** Returns everything that is lost over servers of a line, whatever is served. */
export function lossesOf(line: Revision): readonly Loss[] {
  return LOSSES.filter((loss) => loss.of(line));
}

export function lossesShown(line: Revision, mounts: readonly Revision[]): readonly Loss[] {
  return lossesOf(line).filter(({ operation, shows = () => true }) =>
    mounts.some((mount) => serves(mount, operationNamed(operation)) && shows(mount)),
  );
}
