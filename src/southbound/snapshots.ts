import { type KeySnapshot, MAX_U64 } from '../core/model.js';
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
import { hasNames, type SnapshotForm } from '../wire/traits/snapshot.js';

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

const NOTHING_MET: Met = {
  access_key: undefined,
  name: undefined,
  bytes_up: undefined,
  bytes_down: undefined,
  connections: undefined,
  limit_bytes: undefined,
  online: undefined,
};

/**
 * Reads the elements of a list without a tree, several times as fast as by the schema. What is not as it should be is left to
 * the form's own `decode`, which says what is wrong with it: `JsonSyntaxError` or `SchemaError`. A key that is as `known` has it is
 * that object.
 */
export function createSnapshotReader(
  { snapshot, online }: SnapshotLine,
  known: KnownKey,
  strike: (text: string) => string,
) {
  const hasName = hasNames(snapshot);
  const names = snapshot.members.map(({ name }) => ({ name, bytes: Buffer.from(name) }));
  // One record for all: V8 learns from a first list, of which all stays, to put such objects where only a full collection finds them.
  const met: Met = { ...NOTHING_MET };
  return (scanner: JsonScanner, index: number): KeySnapshot => {
    const { start } = scanner;
    readMembers(scanner, names, met);
    if (!hasName) met.name = null;
    if (!isWhole(met))
      return struck(decodeAt({ snapshot, online }, scanner.bytes.subarray(start, scanner.lastEnd), index), strike);
    const before = known(met.access_key);
    const hasCounters = online.mayHaveCounters(met.online);
    if (before !== undefined && isSame(before, met, hasCounters)) return before;
    return struck(snapshotOf(met, before, hasCounters), strike);
  };
}

/** What was known already has been struck: a key that was shown otherwise is not found again. */
function struck(key: KeySnapshot, strike: (text: string) => string): KeySnapshot {
  const accessKey = strike(key.accessKey);
  const name = key.name === null ? null : strike(key.name);
  return accessKey === key.accessKey && name === key.name ? key : { ...key, accessKey, name };
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

/** Written out: it runs for every key, and `Object.assign` takes a fifth of a list's time. */
function forget(met: Met): void {
  met.access_key = undefined;
  met.name = undefined;
  met.bytes_up = undefined;
  met.bytes_down = undefined;
  met.connections = undefined;
  met.limit_bytes = undefined;
  met.online = undefined;
}

/** What is no object has no members; it is passed over in any case. `names` are those of the form, in its order. */
function readMembers(scanner: JsonScanner, names: readonly MemberName[], met: Met): void {
  forget(met);
  if (scanner.kind !== Token.openObject) {
    skipValue(scanner);
    return;
  }
  let place = 0;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    const name = nameHere(scanner, names[place]);
    place += 1;
    toValue(scanner);
    readMember(met, name, scanner);
    skipValue(scanner);
  }
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

type WholeMet = { [Name in keyof Met]: Exclude<Met[Name], undefined> };

function isWhole(met: Met): met is WholeMet {
  const { access_key, name, bytes_up, bytes_down, connections, limit_bytes, online } = met;
  if (access_key === undefined || name === undefined || online === undefined) return false;
  return bytes_up !== undefined && bytes_down !== undefined && connections !== undefined && limit_bytes !== undefined;
}

/** What is as it was before is the very same, so that nothing of a text outlives its reading that is known already. */
function snapshotOf(met: WholeMet, before: KeySnapshot | undefined, hasCounters: boolean): KeySnapshot {
  const { bytes_up: bytesUp, bytes_down: bytesDown, connections } = met;
  const accessKey = before?.accessKey ?? met.access_key;
  const name = before?.name === met.name ? before.name : met.name;
  const limitBytes = before?.limitBytes === met.limit_bytes ? before.limitBytes : met.limit_bytes;
  const counters = hasCounters ? { bytesUp, bytesDown, connections, limitBytes, createdAt: 0 } : null;
  return { accessKey, name, limitBytes, counters };
}

function isSame(before: KeySnapshot, now: WholeMet, hasCounters: boolean): boolean {
  if (before.name !== now.name || before.limitBytes !== now.limit_bytes) return false;
  const { counters } = before;
  if (!hasCounters || counters === null) return !hasCounters && counters === null;
  return (
    counters.bytesUp === now.bytes_up &&
    counters.bytesDown === now.bytes_down &&
    counters.connections === now.connections &&
    counters.limitBytes === now.limit_bytes
  );
}
