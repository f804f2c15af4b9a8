import { type KeySnapshot, MAX_U64, type TrafficCounters } from '../core/model.js';
import { type JsonValue, parseJson } from '../wire/json/json.js';
import {
  another,
  enter,
  expectName,
  isShortInteger,
  type JsonScanner,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../wire/json/scanner.js';
import { SchemaError } from '../wire/schema-check.js';
import type { OnlineRule } from '../wire/traits/online.js';
import type { ReadSnapshot, SnapshotForm } from '../wire/traits/snapshot.js';

/** What of a line says how its snapshots are read. */
export interface SnapshotLine {
  readonly snapshot: SnapshotForm;
  readonly online: OnlineRule;
}

/** What is known of a key already. */
export type KnownKey = (accessKey: string) => KeySnapshot | undefined;

/**
 * The key that one snapshot tells of: without counters where it certainly has none. Throws `SchemaError`, which names the member.
 */
export function readSnapshot(line: SnapshotLine, wire: JsonValue): KeySnapshot {
  const { online, ...key } = line.snapshot.decode(wire);
  return line.online.mayHaveCounters(online) ? key : { ...key, counters: null };
}

/** The members of a snapshot as they stand in the text; undefined until they were met with a value of their type. */
interface Met {
  access_key: string | undefined;
  name: string | null | undefined;
  bytes_up: bigint | undefined;
  bytes_down: bigint | undefined;
  connections: bigint | undefined;
  limit_bytes: bigint | null | undefined;
  online: boolean | undefined;
}

/**
 * Reads the elements of a list without a tree, several times as fast as by the schema. What is not as it should be is left to
 * the form's own `decode`, which says what is wrong with it: `JsonSyntaxError` or `SchemaError`. A key that is as `known` has it is
 * that object.
 */
export function createSnapshotReader({ snapshot, online }: SnapshotLine, known: KnownKey) {
  const hasName = snapshot.members.some(({ name }) => name === 'name');
  const names = snapshot.members.map(({ name }) => ({ name, bytes: Buffer.from(name) }));
  return (scanner: JsonScanner, index: number): KeySnapshot => {
    const { start } = scanner;
    const met = readMembers(scanner, names);
    if (met !== null && !hasName) met.name = null;
    const whole = met === null ? undefined : wholeSnapshot(met);
    if (whole === undefined)
      return decodeAt({ snapshot, online }, scanner.bytes.subarray(start, scanner.lastEnd), index);
    const before = known(whole.accessKey);
    const hasCounters = online.mayHaveCounters(whole.online);
    if (before !== undefined && isSame(before, whole, hasCounters)) return before;
    const { accessKey, name, limitBytes, counters } = whole;
    return { accessKey, name, limitBytes, counters: hasCounters ? counters : null };
  };
}

function decodeAt(line: SnapshotLine, element: Buffer, index: number): KeySnapshot {
  try {
    return readSnapshot(line, parseJson(element, { duplicates: 'last' }));
  } catch (error) {
    if (error instanceof SchemaError) throw new SchemaError(`data[${index}].${error.place}`, error.expected);
    throw error;
  }
}

/** A member's name, and the same as it stands in a text. */
interface MemberName {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Null for what is no object; it is passed over in any case. `names` are those of the form, in its order. */
function readMembers(scanner: JsonScanner, names: readonly MemberName[]): Met | null {
  if (scanner.kind !== Token.openObject) {
    skipValue(scanner);
    return null;
  }
  const met: Met = {
    access_key: undefined,
    name: undefined,
    bytes_up: undefined,
    bytes_down: undefined,
    connections: undefined,
    limit_bytes: undefined,
    online: undefined,
  };
  let place = 0;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    const name = nameHere(scanner, names[place]);
    place += 1;
    toValue(scanner);
    readMember(met, name, scanner);
    skipValue(scanner);
  }
  return met;
}

/** The name that the scanner stands on, where it is the one that is likely here without making a text of it. */
function nameHere(scanner: JsonScanner, likely: MemberName | undefined): string {
  if (likely === undefined || !scanner.plain) return stringValue(scanner);
  const { bytes, start } = scanner;
  const { length } = likely.bytes;
  if (scanner.end - start !== length + 2) return stringValue(scanner);
  for (let at = 0; at < length; at += 1) if (bytes[start + 1 + at] !== likely.bytes[at]) return stringValue(scanner);
  return likely.name;
}

function readMember(met: Met, name: string, scanner: JsonScanner): void {
  switch (name) {
    case 'access_key':
      met.access_key = textHere(scanner);
      return;
    case 'name':
      met.name = scanner.kind === Token.null ? null : textHere(scanner);
      return;
    case 'bytes_up':
    case 'bytes_down':
    case 'connections':
      met[name] = integerHere(scanner);
      return;
    case 'limit_bytes':
      met.limit_bytes = scanner.kind === Token.null ? null : integerHere(scanner);
      return;
    case 'online':
      met.online = scanner.kind === Token.true ? true : scanner.kind === Token.false ? false : undefined;
  }
}

function textHere(scanner: JsonScanner): string | undefined {
  return scanner.kind === Token.string ? stringValue(scanner) : undefined;
}

/** How many digits a number of JavaScript's holds exactly in any case. */
const SAFE_DIGITS = 15;
const ZERO = 0x30;

function integerHere(scanner: JsonScanner): bigint | undefined {
  const { bytes, start, end } = scanner;
  if (!isShortInteger(scanner) || (bytes[start] ?? 0) < ZERO) return undefined;
  if (end - start > SAFE_DIGITS) {
    const value = BigInt(bytes.toString('latin1', start, end));
    return value <= MAX_U64 ? value : undefined;
  }
  let value = 0;
  for (let at = start; at < end; at += 1) value = 10 * value + (bytes[at] ?? ZERO) - ZERO;
  return BigInt(value);
}

type WholeSnapshot = ReadSnapshot & { readonly counters: TrafficCounters };

function wholeSnapshot(met: Met): WholeSnapshot | undefined {
  const { access_key, name, bytes_up, bytes_down, connections, limit_bytes, online } = met;
  if (access_key === undefined || name === undefined || online === undefined) return undefined;
  if (bytes_up === undefined || bytes_down === undefined) return undefined;
  if (connections === undefined || limit_bytes === undefined) return undefined;
  const counters = { bytesUp: bytes_up, bytesDown: bytes_down, connections, limitBytes: limit_bytes, createdAt: 0 };
  return { accessKey: access_key, name, limitBytes: limit_bytes, counters, online };
}

function isSame(before: KeySnapshot, now: WholeSnapshot, hasCounters: boolean): boolean {
  if (before.name !== now.name || before.limitBytes !== now.limitBytes) return false;
  const { counters } = before;
  if (!hasCounters || counters === null) return !hasCounters && counters === null;
  return (
    counters.bytesUp === now.counters.bytesUp &&
    counters.bytesDown === now.counters.bytesDown &&
    counters.connections === now.counters.connections &&
    counters.limitBytes === now.counters.limitBytes
  );
}
