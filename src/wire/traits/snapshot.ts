import type { TSchema } from 'typebox';
import type { KeySnapshot, TrafficCounters } from '../../core/model.js';
import type { JsonValue } from '../json/json.js';
import { checked } from '../schema-check.js';
import { flag, orNull, text, u64 } from '../schemas.js';
import { Type } from '../typebox.js';

/** What a snapshot says of a key. Of the counters, when they were made stays unknown: 0. */
export interface ReadSnapshot extends KeySnapshot {
  /** Zeros where the key has none, which a snapshot does not tell apart. */
  readonly counters: TrafficCounters;
  readonly online: boolean;
}

/** One member of a user snapshot: text, schema and reading are made from it. */
export interface SnapshotMember {
  readonly name: string;
  /** `online` is the condition for it. */
  schema(online: string): TSchema;
  /** Its value as JSON text, integers exact. */
  encode(key: KeySnapshot, online: boolean): string;
}

/** A revision's form of a user snapshot (protocol: "User snapshot"). */
export interface SnapshotForm {
  readonly name: string;
  /** In the order of the wire. */
  readonly members: readonly SnapshotMember[];
  schema(online: string): TSchema;
  /** The snapshot as JSON text. */
  encode(key: KeySnapshot, online: boolean): string;
  /** What a snapshot says, members that are not of this form left out. Throws `SchemaError`, which names the member. */
  decode(wire: JsonValue): ReadSnapshot;
}

/** Whether a server of the form tells the names of keys. */
export function hasNames({ members }: Pick<SnapshotForm, 'members'>): boolean {
  return members.some(({ name }) => name === 'name');
}

const member = (name: string, schema: SnapshotMember['schema'], encode: SnapshotMember['encode']): SnapshotMember => ({
  name,
  schema,
  encode,
});

const limit = 'an unsigned 64-bit integer or null';

const accessKey = member(
  'access_key',
  () => text('The key.'),
  (key) => JSON.stringify(key.accessKey),
);
const displayName = member(
  'name',
  () => orNull(Type.String(), 'a string or null', 'Display name.'),
  (key) => (key.name === null ? 'null' : JSON.stringify(key.name)),
);
const counted = [
  member(
    'bytes_up',
    () => u64('Bytes from the client.'),
    ({ counters }) => (counters === null ? '0' : `${counters.bytesUp}`),
  ),
  member(
    'bytes_down',
    () => u64('Bytes to the client.'),
    ({ counters }) => (counters === null ? '0' : `${counters.bytesDown}`),
  ),
  member(
    'connections',
    () => u64('Present connections.'),
    ({ counters }) => (counters === null ? '0' : `${counters.connections}`),
  ),
  member(
    'limit_bytes',
    () => orNull(u64('Bytes.'), limit, 'Traffic limit; null means none.'),
    (key) => `${key.counters === null ? key.limitBytes : key.counters.limitBytes}`,
  ),
  member(
    'online',
    (online) => flag(`True when ${online}.`),
    (_key, online) => (online ? 'true' : 'false'),
  ),
];
const lastSeen = member(
  'last_seen',
  () => Type.Null({ expected: 'null', description: 'Always null.' }),
  () => 'null',
);

/** A form of these members. Every one has `access_key`, the counters, `limit_bytes` and `online`. */
export function snapshotOf(name: string, members: readonly SnapshotMember[]): SnapshotForm {
  const schemaOf = (some: readonly SnapshotMember[], online: string) =>
    Type.Object(Object.fromEntries(some.map((each) => [each.name, each.schema(online)])));
  const schema = (online: string) => schemaOf(members, online);
  // What is said of it is nothing that anybody goes by, and a later server may say more.
  const told = members.filter((each) => each !== lastSeen);
  const read = Type.Unsafe<WireSnapshot>({ ...schemaOf(told, ''), expected: 'a snapshot (a JSON object)' });
  return {
    name,
    members,
    schema,
    encode: compiled(members),
    decode: (wire) => readSnapshot(checked(read, wire, 'snapshot')),
  };
}

/**
 * One function for all members: a loop over them takes a fifth longer, and a list has a snapshot a key. The engine gets a
 * function of its own for each form; nothing of a member's text is in its source.
 */
function compiled(members: readonly SnapshotMember[]): SnapshotForm['encode'] {
  const names = members.flatMap((_, index) => [`text${index}`, `value${index}`]);
  const sum = members.map((_, index) => `text${index} + value${index}(key, online)`).join(' + ');
  const make = new Function(...names, `return (key, online) => ${sum} + '}';`);
  return make(
    ...members.flatMap((each, index) => [`${index === 0 ? '{' : ','}${JSON.stringify(each.name)}:`, each.encode]),
  );
}

/** What the members of every form have in common. */
interface WireSnapshot {
  readonly access_key: string;
  readonly name?: string | null;
  readonly bytes_up: bigint;
  readonly bytes_down: bigint;
  readonly connections: bigint;
  readonly limit_bytes: bigint | null;
  readonly online: boolean;
}

function readSnapshot(wire: WireSnapshot): ReadSnapshot {
  const { access_key, name = null, bytes_up, bytes_down, connections, limit_bytes, online } = wire;
  const counters = { bytesUp: bytes_up, bytesDown: bytes_down, connections, limitBytes: limit_bytes, createdAt: 0 };
  return { accessKey: access_key, name, limitBytes: limit_bytes, counters, online };
}

const withoutName = [accessKey, ...counted];
const withName = [accessKey, displayName, ...counted];

/** Earliest revision. */
export const snapshotWithoutName = snapshotOf('no name', withoutName);
/** DNS revision. */
export const snapshotWithName = snapshotOf('name', withName);
/** Current revision. */
export const snapshotWithNameAndLastSeen = snapshotOf('name, last_seen', [...withName, lastSeen]);
