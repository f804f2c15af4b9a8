import type { OperationName } from '../wire/operations.js';
import { operationNamed, serves } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import { hasNames } from '../wire/traits/snapshot.js';

/**
 * One member of an answer that is not what it would be over a configuration file, because servers of a line do not tell it,
 * or treat it otherwise. None covers a status or a whole body.
 */
export interface Loss {
  readonly operation: OperationName;
  /** The member of the data, such as `name`. */
  readonly member: string;
  /** The place where it shows: on the wire of the line, or in how its servers treat what they are told. */
  readonly shownBy: 'wire' | 'server';
  /** True for lines whose servers have it. */
  readonly of: (line: Revision) => boolean;
  /** True for revisions in which it shows; default: each that has the operation. */
  readonly shows?: (mount: Revision) => boolean;
  /** The loss, for people; one sentence without the line. */
  readonly sentence: string;
}

const tellsNames = ({ snapshot }: Revision) => hasNames(snapshot);
const tellsCounters = ({ online }: Revision) => !online.mayHaveCounters(false);
const hasConfig = ({ capabilities }: Revision) => capabilities.config !== undefined;

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
    'Rules are followed at once, and the server forgets them with its next start. Keyway puts them into its configuration two seconds later, where that has outbounds for them: those last, `block` as `proxy`.',
} as const;

const LIMIT_AT_HANDSHAKE = {
  member: 'limit_bytes',
  shownBy: 'server',
  of: (line: Revision) => !line.endsSessionsOverLimit,
  sentence: 'The server asks for a limit at the handshake alone: sessions that are open go on past it.',
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

/** The two members that DNS settings of six have beside the four. */
const SIX_MEMBERS = ['local_port', 'intercept_all_port53'] as const;
const hasDnsOf =
  (form: string) =>
  ({ capabilities }: Revision) =>
    capabilities.dns?.form.name === form;

/**
 * All that is lost in front of a running server. Tests take it for the exact list of what may differ, a start warns of what
 * concerns its mounts, and the table of docs/upstream.md is made from it.
 */
export const LOSSES: readonly Loss[] = [
  { operation: 'listUsers', ...NO_NAMES },
  { operation: 'getUser', ...NO_NAMES },
  { operation: 'listUsers', ...ONLINE },
  { operation: 'getUser', ...ONLINE },
  {
    operation: 'getRules',
    member: 'protocol',
    shownBy: 'wire',
    of: ({ capabilities }) => capabilities.rules?.form.name === 'without protocol',
    shows: ({ capabilities }) => capabilities.rules?.form.name === 'with protocol',
    sentence: 'A rule has no protocol on this line: it is null, and one that is given is dropped.',
  },
  {
    operation: 'putRules',
    member: 'protocol',
    shownBy: 'wire',
    of: ({ capabilities }) => capabilities.rules?.form.name === 'without protocol',
    shows: ({ capabilities }) => capabilities.rules?.form.name === 'with protocol',
    sentence: 'The server stores rules without their protocol.',
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
    sentence: 'Links of the line do not tell whether the server has DNS on: `owndns` is left out.',
  },
];

/** Returns everything that is lost over servers of a line, whatever is served. */
export function lossesOf(line: Revision): readonly Loss[] {
  return LOSSES.filter((loss) => loss.of(line));
}

/** Returns the losses that show in one of these revisions. */
export function lossesShown(line: Revision, mounts: readonly Revision[]): readonly Loss[] {
  return lossesOf(line).filter(({ operation, shows = () => true }) =>
    mounts.some((mount) => serves(mount, operationNamed(operation)) && shows(mount)),
  );
}
