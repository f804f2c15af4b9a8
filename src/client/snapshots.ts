import type { KeySnapshot } from '../core/model.js';
import { type JsonValue, parseJson } from '../wire/json/json.js';
import {
  another,
  enter,
  expectName,
  type JsonScanner,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../wire/json/scanner.js';
import { SchemaError } from '../wire/schema-check.js';
import type { OnlineRule } from '../wire/traits/online.js';
import type { ScannedSnapshot, SnapshotForm, SnapshotMember } from '../wire/traits/snapshot.js';

/** The traits of a line that decide how its snapshots are read. */
export interface SnapshotLine {
  readonly snapshot: SnapshotForm;
  readonly online: OnlineRule;
}

/** Returns the key as already known. */
export type KnownKey = (accessKey: string) => KeySnapshot | undefined;

/** Reads the key in a snapshot, without counters if it has none. Throws `SchemaError`, which names the member. */
export function readSnapshot(line: SnapshotLine, wire: JsonValue): KeySnapshot {
  const { online, ...key } = line.snapshot.decode(wire);
  return line.online.mayHaveCounters(online) ? key : { ...key, counters: null };
}

/**
 * Creates a reader of a list's elements that makes no tree, several times as fast as reading by the schema. An element
 * of another form is left to the form's own `decode`, which reports the error: `JsonSyntaxError` or `SchemaError`. A
 * key with the values that `known` has becomes that very object.
 */
export function createSnapshotReader(
  { snapshot, online }: SnapshotLine,
  known: KnownKey,
  strike: (text: string) => string,
) {
  const members = snapshot.members.map(({ name, scan }, index) => ({
    name,
    bytes: Buffer.from(name),
    scan,
    bit: 1 << index,
  }));
  const all = members.reduce((bits, { scan, bit }) => (scan === undefined ? bits : bits | bit), 0);
  // One record for all: otherwise V8 learns from a first list, which stays in memory whole, to allocate such objects
  // where only a full collection finds them.
  const met: ScannedSnapshot = { ...NOTHING_MET };
  return (scanner: JsonScanner, index: number): KeySnapshot => {
    const { start } = scanner;
    if (readMembers(scanner, members, met) !== all)
      return struck(decodeAt({ snapshot, online }, scanner.bytes.subarray(start, scanner.lastEnd), index), strike);
    const before = known(met.accessKey);
    const hasCounters = online.mayHaveCounters(met.online);
    if (before !== undefined && isSame(before, met, hasCounters)) return before;
    return struck(snapshotOf(met, before, hasCounters), strike);
  };
}

/** `name` stays null if the form has none. */
const NOTHING_MET: ScannedSnapshot = {
  accessKey: '',
  name: null,
  bytesUp: 0n,
  bytesDown: 0n,
  connections: 0n,
  limitBytes: null,
  online: false,
};

/** Strikes key and name. A known key was struck before, and would not be found under another text. */
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

/** A member of the form with its name as bytes, and its bit in a set of members. */
interface ScannedMember {
  readonly name: string;
  readonly bytes: Buffer;
  readonly scan: SnapshotMember['scan'] | undefined;
  readonly bit: number;
}

/** Reads an object and skips any other value. Returns the set of members that had a value of their type. */
function readMembers(scanner: JsonScanner, members: readonly ScannedMember[], met: ScannedSnapshot): number {
  if (scanner.kind !== Token.openObject) {
    skipValue(scanner);
    return 0;
  }
  let set = 0;
  let place = 0;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    const member = memberHere(scanner, members, place);
    place += 1;
    toValue(scanner);
    if (member?.scan !== undefined) set = member.scan(met, scanner) ? set | member.bit : set & ~member.bit;
    skipValue(scanner);
  }
  return set;
}

/**
 * Returns the member whose name the scanner is at, trying the one at this place in the form first, without making a
 * text of the name.
 */
function memberHere(scanner: JsonScanner, members: readonly ScannedMember[], place: number): ScannedMember | undefined {
  const likely = members[place];
  if (likely !== undefined && scanner.plain && isName(scanner, likely.bytes)) return likely;
  const name = stringValue(scanner);
  return members.find((member) => member.name === name);
}

function isName({ bytes, start, end }: JsonScanner, name: Buffer): boolean {
  if (end - start !== name.length + 2) return false;
  for (let at = 0; at < name.length; at += 1) if (bytes[start + 1 + at] !== name[at]) return false;
  return true;
}

/**
 * Makes a key of the scanned members. Values equal to the previous ones are reused, so that no part of the text
 * outlives its reading.
 */
function snapshotOf(met: ScannedSnapshot, before: KeySnapshot | undefined, hasCounters: boolean): KeySnapshot {
  const { bytesUp, bytesDown, connections } = met;
  const accessKey = before?.accessKey ?? met.accessKey;
  const name = before?.name === met.name ? before.name : met.name;
  const limitBytes = before?.limitBytes === met.limitBytes ? before.limitBytes : met.limitBytes;
  const counters = hasCounters ? { bytesUp, bytesDown, connections, limitBytes, createdAt: 0 } : null;
  return { accessKey, name, limitBytes, counters };
}

function isSame(before: KeySnapshot, now: ScannedSnapshot, hasCounters: boolean): boolean {
  if (before.name !== now.name || before.limitBytes !== now.limitBytes) return false;
  const { counters } = before;
  if (!hasCounters || counters === null) return !hasCounters && counters === null;
  return (
    counters.bytesUp === now.bytesUp &&
    counters.bytesDown === now.bytesDown &&
    counters.connections === now.connections &&
    counters.limitBytes === now.limitBytes
  );
}
