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

/** The traits of a line by which its snapshots are read. */
export interface SnapshotLine {
  readonly snapshot: SnapshotForm;
  readonly online: OnlineRule;
}

/** Gives the key as it is known already. */
export type KnownKey = (accessKey: string) => KeySnapshot | undefined;

/**
 * The key that one snapshot tells of: without counters where it certainly has none. Throws `SchemaError`, which names the member.
 */
export function readSnapshot(line: SnapshotLine, wire: JsonValue): KeySnapshot {
  const { online, ...key } = line.snapshot.decode(wire);
  return line.online.mayHaveCounters(online) ? key : { ...key, counters: null };
}

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
  const members = snapshot.members.map(({ name, scan }, index) => ({
    name,
    bytes: Buffer.from(name),
    scan,
    bit: 1 << index,
  }));
  const all = members.reduce((bits, { scan, bit }) => (scan === undefined ? bits : bits | bit), 0);
  // One record for all: V8 learns from a first list, of which all stays, to put such objects where only a full collection finds them.
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

/** `name` stays null where the form has none. */
const NOTHING_MET: ScannedSnapshot = {
  accessKey: '',
  name: null,
  bytesUp: 0n,
  bytesDown: 0n,
  connections: 0n,
  limitBytes: null,
  online: false,
};

/** Strikes key and name. A key that is known already was struck before: one that was shown otherwise is not found again. */
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

/** A member of the form with its name as it stands in a text, and its place in a set of members. */
interface ScannedMember {
  readonly name: string;
  readonly bytes: Buffer;
  readonly scan: SnapshotMember['scan'] | undefined;
  readonly bit: number;
}

/** Reads what is an object and passes over anything else. Answers the set of members that had a value of their type. */
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

/** The member whose name the scanner stands on: first the one at its place in the form, without making a text of it. */
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

/** Makes the key of the members met, with the values known before where they are equal, so that nothing of a text outlives its reading. */
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
