import type { TSchema } from 'typebox';
import { KEY_FIELDS, type KeyFieldName } from '../../core/keys/key-fields.js';
import type { KeySnapshot, TrafficCounters } from '../../core/model.js';
import type { JsonValue } from '../json/json.js';
import { type JsonScanner, stringValue, Token, u64Here } from '../json/scanner.js';
import { checked } from '../schema-check.js';
import { flag, orNull, text, u64 } from '../schemas.js';
import { Type } from '../typebox.js';

/** A key as a snapshot shows it. The time at which its counters were created is unknown: 0. */
export interface ReadSnapshot extends KeySnapshot {
  /** Zeros also if the key has none, which a snapshot does not distinguish. */
  readonly counters: TrafficCounters;
  readonly online: boolean;
}

/** The values of one snapshot's members as scanned so far. */
export interface ScannedSnapshot {
  accessKey: string;
  name: string | null;
  bytesUp: bigint;
  bytesDown: bigint;
  connections: bigint;
  limitBytes: bigint | null;
  online: boolean;
}

/** One member of a user snapshot. */
export interface SnapshotMember {
  readonly name: string;
  /** `online` is the condition for the flag. */
  schema(online: string): TSchema;
  /**
   * Stores the current value of the scanner; returns false if it has another type. Absent for a member that is never
   * used, which may have any value, or be missing.
   */
  readonly scan?: (into: ScannedSnapshot, scanner: JsonScanner) => boolean;
}

/** Adjacent members, and their text: `"name":value`, with commas between them and integers exact. */
export interface SnapshotPart {
  readonly members: readonly SnapshotMember[];
  encode(key: KeySnapshot, online: boolean): string;
}

/** A revision's form of a user snapshot (protocol: "User snapshot"). */
export interface SnapshotForm {
  readonly name: string;
  /** In the order of the wire. */
  readonly parts: readonly SnapshotPart[];
  /** The members of all parts. */
  readonly members: readonly SnapshotMember[];
  schema(online: string): TSchema;
  /** Returns the snapshot as JSON text. */
  encode(key: KeySnapshot, online: boolean): string;
  /** Reads a snapshot, ignoring members of other forms. Throws `SchemaError`, which names the member. */
  decode(wire: JsonValue): ReadSnapshot;
}

/** Tells whether a server of the form shows a column of keys. */
export function tellsField({ members }: Pick<SnapshotForm, 'members'>, field: KeyFieldName): boolean {
  return members.some(({ name }) => name === KEY_FIELDS[field].member);
}

/** Tells whether a server of the form shows the names of keys. */
export function hasNames(form: Pick<SnapshotForm, 'members'>): boolean {
  return tellsField(form, 'name');
}

const limit = 'an unsigned 64-bit integer or null';

/** Makes a member that is a count. */
const counted = (
  name: string,
  description: string,
  field: 'bytesUp' | 'bytesDown' | 'connections',
): SnapshotMember => ({
  name,
  schema: () => u64(description),
  scan(into, scanner) {
    const value = u64Here(scanner);
    if (value === undefined) return false;
    into[field] = value;
    return true;
  },
});

const nameMember: SnapshotMember = {
  name: 'name',
  schema: () => orNull(Type.String(), 'a string or null', 'Display name.'),
  scan(into, scanner) {
    const isText = scanner.kind === Token.string;
    into.name = isText ? stringValue(scanner) : null;
    return isText || scanner.kind === Token.null;
  },
};

const accessKey: SnapshotPart = {
  members: [
    {
      name: 'access_key',
      schema: () => text('The key.'),
      scan(into, scanner) {
        if (scanner.kind !== Token.string) return false;
        into.accessKey = stringValue(scanner);
        return true;
      },
    },
  ],
  encode: (key) => `"access_key":${JSON.stringify(key.accessKey)}`,
};

const displayName: SnapshotPart = {
  members: [nameMember],
  encode: (key) => (key.name === null ? '"name":null' : `"name":${JSON.stringify(key.name)}`),
};

/** One text for all, because lists consist of snapshots, and a part for each member takes a sixth longer. */
const traffic: SnapshotPart = {
  members: [
    counted('bytes_up', 'Bytes from the client.', 'bytesUp'),
    counted('bytes_down', 'Bytes to the client.', 'bytesDown'),
    counted('connections', 'Present connections.', 'connections'),
    {
      name: 'limit_bytes',
      schema: () => orNull(u64('Bytes.'), limit, 'Traffic limit; null means none.'),
      scan(into, scanner) {
        const value = scanner.kind === Token.null ? null : u64Here(scanner);
        if (value === undefined) return false;
        into.limitBytes = value;
        return true;
      },
    },
    {
      name: 'online',
      schema: (online) => flag(`True when ${online}.`),
      scan(into, scanner) {
        into.online = scanner.kind === Token.true;
        return into.online || scanner.kind === Token.false;
      },
    },
  ],
  encode({ limitBytes, counters }, online) {
    if (counters === null)
      return `"bytes_up":0,"bytes_down":0,"connections":0,"limit_bytes":${limitBytes},"online":${online}`;
    return `"bytes_up":${counters.bytesUp},"bytes_down":${counters.bytesDown},"connections":${counters.connections},"limit_bytes":${counters.limitBytes},"online":${online}`;
  },
};

const lastSeen: SnapshotPart = {
  members: [{ name: 'last_seen', schema: () => Type.Null({ expected: 'null', description: 'Always null.' }) }],
  encode: () => '"last_seen":null',
};

/** Makes a form of these parts. Every form has `access_key`, the counters, `limit_bytes` and `online`. */
export function snapshotOf(name: string, parts: readonly SnapshotPart[]): SnapshotForm {
  const members = parts.flatMap((part) => part.members);
  const schemaOf = (some: readonly SnapshotMember[], online: string) =>
    Type.Object(Object.fromEntries(some.map((each) => [each.name, each.schema(online)])));
  const told = members.filter(({ scan }) => scan !== undefined);
  const read = Type.Unsafe<WireSnapshot>({ ...schemaOf(told, ''), expected: 'a snapshot (a JSON object)' });
  return {
    name,
    parts,
    members,
    schema: (online) => schemaOf(members, online),
    encode(key, online) {
      let all = '';
      for (const part of parts) all += `${all === '' ? '{' : ','}${part.encode(key, online)}`;
      return `${all}}`;
    },
    decode: (wire) => readSnapshot(checked(read, wire, 'snapshot')),
  };
}

/** The members that every form has. */
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

const withName = [accessKey, displayName, traffic];

/** Earliest revision. */
export const snapshotWithoutName = snapshotOf('no name', [accessKey, traffic]);
/** DNS revision. */
export const snapshotWithName = snapshotOf('name', withName);
/** Current revision. */
export const snapshotWithNameAndLastSeen = snapshotOf('name, last_seen', [...withName, lastSeen]);
