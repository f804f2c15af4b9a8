import { AUDIT_LENGTH } from '../../core/audit.js';
import { type KeyChange, type KeyUpdate, REMEMBERED_REPORTS } from '../../core/backend.js';
import type { RecordChange, RecordKind } from '../../core/kept-records.js';
import type { AskedKeys, KeptCounters } from '../../core/keys/types.js';
import type { AccessKey, AuditEntry } from '../../core/model.js';
import { arraysOf, columnsOf, givenArraysOf, givenOf } from './key-columns.js';
import * as literals from './literals.js';

const { bytes, flag, flags, json, number, numbers, text, texts } = literals;

/** Marks a statement so that `runningStatements` recognizes it. */
export const withId = (id: string, statement: string): string => `/* ${id} */ ${statement}`;

/** Selects the ids of those statements, of this role's, that the database is still running. */
export const runningStatements = (ids: readonly string[]): string =>
  `select id from unnest(${texts(ids)}) id where exists (select from pg_stat_activity a
    where a.state <> 'idle' and a.query like '/* ' || id || ' */%')`;

/** Limits how long a write or a question waits for locks, in its own transaction only. */
const lockTimeout = (milliseconds: number): string => `set local lock_timeout = ${milliseconds}`;
/** For what may be lost with the server, or is kept by a later write: it does not wait for a standby. */
const UNSYNCED = 'set local synchronous_commit = off';
/** Milliseconds, less than until a statement is given up: if the wait ends here, nothing has happened. */
const WRITE_LOCK = 3_000;
const QUESTION_LOCK = 500;
const LOOK_LOCK = 4_000;

/** Makes the message of a statement that a gateway runs periodically, with no caller waiting for it. */
export const aside = (statement: string): string => [lockTimeout(WRITE_LOCK), UNSYNCED, statement].join('; ');

/** Makes the message of a write; the write's own answer is the last. */
export const sentWrite = (statement: string): string => [lockTimeout(WRITE_LOCK), statement].join('; ');

/** Makes a write as one statement, which returns its number and its outcome. The operation's id is a UUID. */
export type WriteStatement = (operation: string) => string;

const write =
  (name: string, ...values: readonly literals.Literal[]): WriteStatement =>
  (operation) =>
    `select * from keyway.${name}(${[text(operation), ...values].join(', ')})`;

const recordArraysOf = (changes: readonly RecordChange[]): readonly literals.Literal[] => [
  texts(changes.map(({ kind }) => kind)),
  texts(changes.map(({ id }) => id)),
  texts(changes.map(({ body }) => body)),
  flags(changes.map(({ expected }) => expected !== undefined)),
  texts(changes.map(({ expected = null }) => expected)),
];

/** Each calls a function of the schema, where it is described. */
export const WRITES = {
  createKeys: (keys: readonly AccessKey[], withCounters: boolean) =>
    write('create_keys', ...arraysOf(keys), flag(withCounters)),
  updateKey: (accessKey: string, update: KeyUpdate) => write('update_key', text(accessKey), ...givenOf(update)),
  deleteKey: (accessKey: string) => write('delete_key', text(accessKey)),
  resetKey: (accessKey: string) => write('reset_key', text(accessKey)),
  changeKeys: (changes: readonly KeyChange[], note: string) =>
    write(
      'change_keys',
      text(note),
      texts(changes.map(({ op }) => op)),
      texts(changes.map((each) => (each.op === 'create' ? each.key.accessKey : each.accessKey))),
      texts(changes.map((each) => (each.op === 'rotate' ? each.successor : null))),
      ...givenArraysOf(
        changes.map((each) => (each.op === 'create' ? each.key : each.op === 'update' ? each.update : {})),
      ),
    ),
  replaceRules: (rules: unknown) => write('replace_rules', json(rules)),
  changeDns: (change: unknown) => write('change_dns', json(change)),
  beginSession: (api: string, digest: Buffer) => write('begin_session', text(api), bytes(digest)),
  addAudit: ({ id, time, eventEn, eventRu, success }: AuditEntry) =>
    write('add_audit', text(id), text(time), text(eventEn), text(eventRu), flag(success), number(AUDIT_LENGTH)),
  clearAudit: () => write('clear_audit'),
  rotateKey: (accessKey: string, successor: string, records: readonly RecordChange[]) =>
    write('rotate_key', text(accessKey), text(successor), ...recordArraysOf(records)),
  changeRecords: (changes: readonly RecordChange[]) => write('change_records', ...recordArraysOf(changes)),
  putDocument: (put: DocumentPut) =>
    write(
      'put_document',
      number(put.expected),
      text(put.content),
      flag(put.settings !== null),
      json(put.settings),
      ...put.keys,
      text(put.version?.id ?? null),
      text(put.version?.content ?? null),
      flag(put.version?.forever ?? false),
    ),
  countUsage: (batch: UsageBatch) =>
    write(
      'count_usage',
      text(batch.gateway),
      text(batch.seen.countersMark),
      number(batch.seen.state),
      texts(batch.reportIds),
      texts(batch.keys),
      numbers(batch.incarnations, 'bigint'),
      numbers(batch.up, 'numeric'),
      numbers(batch.down, 'numeric'),
      numbers(batch.connections, 'numeric'),
    ),
} as const;

/** A configuration that replaces another. Contents are ids of `INSERT_CONTENT`. */
export interface DocumentPut {
  /** The number of the state that it was made for. */
  readonly expected: bigint;
  readonly content: string;
  /** Null if the configuration is not a server's; nothing is then taken from it. */
  readonly settings: unknown;
  /** The arrays of `arraysOf`. */
  readonly keys: readonly literals.Literal[];
  /** The version that keeps the previous configuration. */
  readonly version: { readonly id: string; readonly content: string; readonly forever: boolean } | null;
}

/** The sums of reports, column by column, with one place for each key. */
export interface UsageBatch {
  readonly gateway: string;
  /** The state that the gateway had seen when it wrote this. */
  readonly seen: Pick<Seen, 'state' | 'countersMark'>;
  readonly reportIds: readonly string[];
  readonly keys: readonly string[];
  /** For each key the only incarnation that its entries count in; null for any. */
  readonly incarnations: readonly (bigint | null)[];
  readonly up: readonly bigint[];
  readonly down: readonly bigint[];
  /** Null for those that are unchanged since they were last told. */
  readonly connections: readonly (bigint | null)[];
}

/** Selects the places of unregistered keys in a batch, by the batch's number. */
export const unknownOf = (number: bigint): string => `select unknown from keyway.batches where number = ${number}`;

/**
 * Asks about the outcome of a write; its own answer is the last. `seen` is what was in memory when the write was sent.
 * It does not wait for a standby: one that takes over has none of the connections over which the write might still
 * arrive.
 */
export const settle = (operation: string, { state, counters }: Pick<Seen, 'state' | 'counters'>): string =>
  [
    lockTimeout(QUESTION_LOCK),
    'set local synchronous_commit = local',
    `select * from keyway.settle(${text(operation)}, ${state}, ${counters})`,
  ].join('; ');

/** Parameters: id, bytes. It does not wait for a standby; the write that names the content follows it, and does. */
export const INSERT_CONTENT = `insert into keyway.contents (id, content)
  select $1::uuid, $2::bytea from set_config('synchronous_commit', 'off', true)`;

/** Converts a time to milliseconds since the epoch. */
const milliseconds = (column: string): string => `(date_part('epoch', ${column}) * 1000)::bigint`;

/** Columns of a key's row, as `replica.ts` reads them. */
const KEY_COLUMNS = `r.access_key, r.removed, ${columnsOf('r')}, r.position, r.ordinal, r.incarnation, r.counted, r.present,
  r.bytes_up, r.bytes_down, r.created_at`;

/**
 * Makes a write of one key also return the key's row, all null if other writes have followed what was seen. `seenMark`
 * is the mark of the last write of that state.
 */
export const withKey =
  (statement: WriteStatement, accessKey: string, seenMark: string): WriteStatement =>
  (operation) =>
    `select w.*, ${KEY_COLUMNS} from (${statement(operation)}) w
      left join lateral keyway.key_after(w.number, ${text(seenMark)}, ${text(accessKey)}) r on true`;

/** Seconds after which a silent gateway has no connections. */
const SILENT = 60;

const isHeardOf = `g.seen_at > clock_timestamp() - interval '${SILENT} seconds'`;

/** The numbers and marks that a follower has seen. */
export interface Seen {
  readonly state: bigint;
  readonly stateMark: string;
  readonly counters: bigint;
  readonly countersMark: string;
  /** The last batch whose connections are known; those of later ones may be. */
  readonly connections: bigint;
  readonly connectionsMark: string;
  /** The write that put the document. */
  readonly document: bigint;
}

/**
 * The extent of a look: the state; also the connections; also everything that was counted, which may be a thousand
 * times as much.
 */
export type Looked = 'state' | 'connections' | 'all';

/** The number of keys changed at once beyond which everything is loaded again. */
export const MOST_CHANGED = 20_000;

const ONE_SNAPSHOT = 'isolation level repeatable read read only';
const MAX_NUMBER = 2n ** 63n - 1n;
/**
 * Selects what came after a number. The planner takes a range with two ends for a small part even before a table was
 * analyzed, so it uses the index and does not think that compiling pays.
 */
const after = (column: string, seen: bigint): string => `${column} between ${seen + 1n} and ${MAX_NUMBER}`;

/**
 * Selects the heads with their marks, whether this is a standby, the newest version of the schema with the oldest that
 * may go on, the gateways with whether and since when they are heard of, and the write that put the document.
 */
export const HEADS = `
  select s.number, so.id, c.number, co.id, pg_is_in_recovery(),
    (select v.version || ' ' || v.serves_from from keyway.schema_versions v order by v.version desc limit 1),
    (select coalesce(string_agg(g.id || ' ' || (${isHeardOf})::text || ' ' || date_part('epoch', g.since), ',' order by g.id), '') from keyway.gateways g),
    (select d.number from keyway.document d)
  from keyway.heads s join keyway.operations so on so.head = 'state' and so.number = s.number,
    keyway.heads c join keyway.operations co on co.head = 'counters' and co.number = c.number
  where s.name = 'state' and c.name = 'counters'`;

const settingsAfter = (state: bigint): string =>
  `select name, value from keyway.settings where ${after('number', state)}`;
const sessionsAfter = (state: bigint): string =>
  `select api, encode(digest, 'hex'), number from keyway.sessions where ${after('number', state)}`;
const auditAfter = (state: bigint): string => `select id, time, event_en, event_ru, success from keyway.audit
  where exists (select from keyway.settings s where s.name = 'audit' and ${after('s.number', state)}) order by number desc`;

const recordsAfter = (state: bigint): string =>
  `select kind, id, body from keyway.kept_records where ${after('number', state)}`;

const isThere = (head: 'state' | 'counters', number: bigint, mark: string): string =>
  `exists (select from keyway.operations where head = ${text(head)} and number = ${number} and id = ${text(mark)})`;

const marksOf = (seen: Seen) =>
  [
    ['state', seen.state, seen.stateMark],
    ['counters', seen.counters, seen.countersMark],
    ['counters', seen.connections, seen.connectionsMark],
  ] as const;

/** Selects whether this state has lost what was seen, and has not only forgotten it because it is old. */
export function isLost(seen: Seen): string {
  const lost = marksOf(seen).map(([head, number, mark]) => {
    const oldest = `(select min(number) from keyway.operations where head = ${text(head)})`;
    return `not ${isThere(head, number, mark)} and ${number} >= ${oldest}`;
  });
  return `select ${lost.join(' or ')}`;
}

/**
 * Selects everything after what was seen, from one snapshot, in the form that `readChanges` reads; no keys if more than
 * `MOST_CHANGED` have changed.
 */
export function changesSince(seen: Seen, what: Looked): string {
  const counted = what === 'all' ? after('b.number', seen.counters) : 'false';
  const connected = what === 'state' ? 'false' : after('b.number', seen.connections);
  const changed = `select k.access_key from keyway.keys k where ${after('k.number', seen.state)} order by k.number limit`;
  const count = `select count(*) from (${changed} ${MOST_CHANGED + 1}) c`;
  const few = `${changed} case when (${count}) <= ${MOST_CHANGED} then ${MOST_CHANGED} else 0 end`;
  const areThere = marksOf(seen).map(([head, number, mark]) => isThere(head, number, mark));
  return [
    `set transaction ${ONE_SNAPSHOT}`,
    lockTimeout(LOOK_LOCK),
    HEADS,
    `select ${areThere.join(' and ')}, (${count})`,
    `select ${KEY_COLUMNS} from (${few}) f
      cross join lateral (select * from keyway.key_rows r where r.access_key = f.access_key limit 1) r
      order by r.position, r.ordinal`,
    settingsAfter(seen.state),
    sessionsAfter(seen.state),
    auditAfter(seen.state),
    recordsAfter(seen.state),
    `select c.access_key, c.incarnation, c.number, c.bytes_up, c.bytes_down, ${milliseconds('c.created_at')}
      from (select distinct unnest(b.ids) as id from keyway.batches b where ${counted}) i
      cross join lateral (select * from keyway.counters c where c.id = i.id limit 1) c
      where c.present and c.left_at is null`,
    connectionsOf(`select unnest(b.connected) as id from keyway.batches b where ${connected} union
      select c.id from (${few}) f
        cross join lateral (select c.id from keyway.counters c where c.access_key = f.access_key limit 1) c`),
  ].join(';\n');
}

/** The most keys changed after a mark that are listed one by one. */
export const MOST_MISSED = 65_536;

/**
 * Selects what changed after a mark, in the form that `past.ts` reads: whether the mark belongs to this state and
 * nothing after it is forgotten; how the settings changed; the keys, and those over their limit that have counted
 * since.
 */
export function missedSince({ state, stateMark, counters }: Pick<Seen, 'state' | 'stateMark' | 'counters'>): string {
  const limited = 'not k.removed and c.present and c.left_at is null and c.bytes_up + c.bytes_down >= k.limit_bytes';
  return [
    `set transaction ${ONE_SNAPSHOT}`,
    `select ${isThere('state', state, stateMark)}`,
    `select case when s.number > ${state} then case when d.applied and d.number > ${state}
      then coalesce(s.value ->> 'put', 'replaced') else 'saved' end end
      from keyway.settings s, keyway.document d where s.name = 'server'`,
    `select k.access_key, k.removed, k.position > ${state}, coalesce(c.incarnation > ${state}, false)
      from keyway.keys k left join keyway.counters c on c.access_key = k.access_key
      where ${after('k.number', state)} order by k.number, k.ordinal limit ${MOST_MISSED + 1}`,
    `select k.access_key from keyway.counters c join keyway.keys k on k.access_key = c.access_key
      where ${limited} and (c.number > ${counters} or k.number > ${state}) limit ${MOST_MISSED + 1}`,
  ].join(';\n');
}

/** Selects the connections of keys that one of these gateways has told. */
export function connectionsOfGateways(gateways: readonly string[]): string {
  return connectionsOf(
    `select distinct t.id from keyway.connections t where t.gateway = any (${texts(gateways)}::uuid[])`,
  );
}

const told = `least(coalesce(sum(x.value) filter (where ${isHeardOf}), 0), keyway.max_u64())`;

/**
 * Selects the connections of the counters whose ids a statement selects. A subquery with a limit or a sum is not
 * flattened: it uses the index for each id, however many the planner expects.
 */
function connectionsOf(ids: string): string {
  return `select c.access_key, c.incarnation, s.told from (${ids}) i
    cross join lateral (select * from keyway.counters c where c.id = i.id limit 1) c
    cross join lateral (select ${told} as told, count(*) as rows
      from keyway.connections x left join keyway.gateways g on g.id = x.gateway where x.id = i.id) s
    where s.rows > 0`;
}

/** Makes the condition that key `r` is one of those that are asked for, all of them for null. */
function isAsked(asked: AskedKeys | null): string {
  if (asked === null) return 'true';
  const words = `unnest(${texts(asked.words)}) w`;
  const digest = "encode(sha256(convert_to(r.access_key, 'UTF8')), 'hex')";
  const isMeant = asked.mayBegin
    ? `(starts_with(r.access_key, w) or starts_with(r.name, w) or (length(w) = 8 and starts_with(${digest}, w)))`
    : '(r.access_key = w or r.name = w)';
  const isAny = `exists (select from ${words} where ${isMeant})`;
  const isNone = `exists (select from ${words} where not exists (select from keyway.keys r where not r.removed and ${isMeant}))`;
  return asked.elseAll ? `(${isAny} or ${isNone})` : isAny;
}

/** The statements of a first load, run one after the other in one session. */
export const LOAD = {
  begin: `begin ${ONE_SNAPSHOT}`,
  declare: (asked: AskedKeys | null) =>
    `declare keyway_keys no scroll cursor for select ${KEY_COLUMNS} from keyway.key_rows r
    where not r.removed and ${isAsked(asked)} order by r.position, r.ordinal`,
  fetch: 'fetch 4000 from keyway_keys',
  identity: 'select id from keyway.identity',
  settings: settingsAfter(-1n),
  sessions: sessionsAfter(-1n),
  audit: auditAfter(-1n),
  records: `${recordsAfter(-1n)} and body is not null`,
  declareConnections: (asked: AskedKeys | null) =>
    `declare keyway_connections no scroll cursor for select c.access_key, c.incarnation, ${told}
    from keyway.connections x join keyway.counters c on c.id = x.id join keyway.keys r on r.access_key = c.access_key
      left join keyway.gateways g on g.id = x.gateway
    where ${isAsked(asked)} group by c.id`,
  fetchConnections: 'fetch 4000 from keyway_connections',
  commit: 'commit',
} as const;

export const seeGateway = (gateway: string): string => `select keyway.see_gateway(${text(gateway)})`;
export const leaveGateway = (gateway: string): string => `select keyway.leave_gateway(${text(gateway)})`;

/** Counters of keys that left with a configuration are kept for `keptFor` milliseconds. */
export const forget = (mostReports: number, keptFor: number): string =>
  `select keyway.forget(${mostReports}, interval '${Math.ceil(keptFor / 1000)} seconds')`;

export const NOTIFY_CHANNEL = 'keyway';
export const notify = (gateway: string): string => `select pg_notify('${NOTIFY_CHANNEL}', ${text(gateway)})`;

/**
 * Makes one message of an import, in the transaction of the configuration's write: keys that come after `others`
 * earlier ones.
 */
export const listKeys = (taken: bigint, others: number, keys: readonly AccessKey[]): string =>
  `select keyway.list_keys(${[...arraysOf(keys), number(taken), number(others)].join(', ')})`;

/** Makes one message of an import with counters. */
export const putCounters = (taken: bigint, gateway: string, counters: readonly KeptCounters[]): string =>
  `select keyway.put_counters(${[
    number(taken),
    text(gateway),
    texts(counters.map(({ accessKey }) => accessKey)),
    numbers(
      counters.map(({ bytesUp }) => bytesUp),
      'numeric',
    ),
    numbers(
      counters.map(({ bytesDown }) => bytesDown),
      'numeric',
    ),
    numbers(
      counters.map(({ connections }) => connections),
      'numeric',
    ),
    numbers(
      counters.map(({ createdAt }) => Math.floor(createdAt)),
      'bigint',
    ),
    numbers(
      counters.map(({ leftAt }) => (leftAt === null ? null : Math.floor(leftAt))),
      'bigint',
    ),
  ].join(', ')})`;

/** Makes one message of an import, once all counters are put. */
export const giveCounters = (taken: bigint, keys: readonly AccessKey[]): string =>
  `select keyway.give_counters(${texts(keys.map(({ accessKey }) => accessKey))}, ${taken})`;

export const rememberReports = (ids: readonly string[]): string =>
  `insert into keyway.reports (id) select r from unnest(${texts(ids)}) with ordinality as g (r, place) order by place
    on conflict (id) do nothing`;

/**
 * Adds records of Keyway's own whose name is new, under change `taken`, and returns the names of those added. The name of
 * a removed one is new, except of a token.
 */
export const addRecords = (taken: bigint, kind: RecordKind, records: readonly Pick<RecordChange, 'id' | 'body'>[]) =>
  `insert into keyway.kept_records as k (kind, id, body, number)
    select ${text(kind)}, id, body, ${taken} from unnest(${texts(records.map(({ id }) => id))}, ${texts(records.map(({ body }) => body))}) as g (id, body)
    on conflict (kind, id) do update set body = excluded.body, number = ${taken}
      where k.body is null and k.kind <> 'tokens' returning id`;

/** Selects those of these ids under which a record of a kind is kept. */
export const keptOf = (kind: RecordKind, ids: readonly string[]): string =>
  `select id from keyway.kept_records where kind = ${text(kind)} and body is not null and id = any (${texts(ids)})`;

/** Begins a transaction that gateways wait for; the database undoes it if it is idle for `standing` milliseconds. */
export const beginHolding = (standing: number): string =>
  `begin; set local idle_in_transaction_session_timeout = ${standing}`;

/** Holds up changes of the state, except replacements of the configuration, no longer than they wait. */
export const HOLD_CHANGES = [beginHolding(WRITE_LOCK), lockTimeout(WRITE_LOCK), 'select keyway.hold_changes()'].join(
  '; ',
);

/** Locks the head and selects the number of the state, which stays until the import ends, and of keys. */
export const IMPORT_STATE = `select number, (select count(*) from keyway.keys where not removed) from keyway.heads
  where name = 'state' for update`;

/**
 * Removes all counters before an import that replaces them. Batches wait until it ends, so that neither waits for rows
 * of the other.
 */
export const FORGET_COUNTED = `select keyway.hold_forgetting(); select from keyway.heads where name = 'counters' for update;
  delete from keyway.connections; delete from keyway.counters; delete from keyway.reports`;

/** Statements that read one moment, in one transaction. */
export const SNAPSHOT = {
  begin: `begin ${ONE_SNAPSHOT}`,
  /** Selects the listed keys that are gone or were written after `number`: place in the list, presence, record. */
  changed: (listed: readonly string[], number: bigint) => `select g.place, k.access_key is not null, ${columnsOf('k')}
    from unnest(${texts(listed)}) with ordinality g (access_key, place)
    left join lateral (select * from keyway.keys k where k.access_key = g.access_key and not k.removed limit 1) k on true
    where k.access_key is null or k.number > ${number} order by g.place`,
  /** Keys that were registered after `number`. */
  declareRegistered: (number: bigint) => `declare keyway_registered no scroll cursor for
    select k.access_key, ${columnsOf('k')} from keyway.keys k
    where ${after('k.number', number)} and k.position > ${number} and not k.removed order by k.position, k.ordinal`,
  fetchRegistered: 'fetch 20000 from keyway_registered',
  declareCounters: `declare keyway_counters no scroll cursor for select c.access_key, c.bytes_up, c.bytes_down,
    (select least(coalesce(sum(x.value), 0), keyway.max_u64()) from keyway.connections x join keyway.gateways g on g.id = x.gateway
      where x.id = c.id and ${isHeardOf}),
    ${milliseconds('c.created_at')}, ${milliseconds('c.left_at')}
    from keyway.counters c where c.present order by c.access_key`,
  fetchCounters: 'fetch 5000 from keyway_counters',
  /** The newest, as many as a Keyway over a file remembers; oldest first. */
  reports: `select id from (select id, place from keyway.reports order by place desc limit ${REMEMBERED_REPORTS}) r order by place`,
  notes: "select id, body from keyway.kept_records where kind = 'notes' and body is not null order by id",
  commit: 'commit',
} as const;

export const SERVER_SETTINGS = "select value from keyway.settings where name = 'server'";

/** Selects the last configuration that was put: number, whether it was applied, its text (gzip, hexadecimal). */
export const DOCUMENT = `select d.number, d.applied, encode(c.content, 'hex')
  from keyway.document d join keyway.contents c on c.id = d.content`;

/**
 * For metrics: the bytes of each table with its indexes; last, without a name, the number of statements that wait for
 * locks of others and concern a table of the schema, because other waits in the same database are not Keyway's.
 */
export const FIGURES = [
  // The size of a table that is being rewritten is not available until that is done.
  lockTimeout(QUESTION_LOCK),
  `with relations as (select c.oid, c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'keyway'),
  locks as materialized (select l.pid, l.relation, l.database, l.granted from pg_locks l)
  select r.relname, pg_total_relation_size(r.oid) from relations r where r.relkind = 'r'
  union all select null, count(distinct w.pid) from locks w
    where not w.granted and exists (select from locks l join relations r on r.oid = l.relation
      where l.pid = w.pid and l.database = (select d.oid from pg_database d where d.datname = current_database()))`,
].join('; ');

/** Selects kept versions, oldest first: id, milliseconds since the epoch, whether it is kept forever. */
export const VERSIONS = `select id, ${milliseconds('kept_at')}, forever from keyway.versions order by kept_at, id`;
export const versionContent = (id: string): string =>
  `select encode(c.content, 'hex') from keyway.versions v join keyway.contents c on c.id = v.content where v.id = ${text(id)}`;
export const keepVersion = (id: string, content: string): string =>
  sentWrite(`insert into keyway.versions (id, kept_at, forever, content)
    values (${text(id)}, clock_timestamp(), false, ${text(content)}) on conflict do nothing`);
export const forgetVersions = (ids: readonly string[]): string =>
  aside(`delete from keyway.versions where id = any (${texts(ids)})`);
