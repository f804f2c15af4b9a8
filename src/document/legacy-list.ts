import { keyDigest } from '../core/key-digest.js';
import { sameFields } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { createScanner } from '../wire/json/scanner.js';
import { type KeysNode, readKeys } from './key-list.js';
import type { Warnings } from './reading.js';

/**
 * A legacy key list: a root `access_keys` in a file with inbounds, where servers of that layout write the keys of their
 * own API.
 */
export interface LegacyList {
  readonly elements: number;
  /** The last of equal keys, in the order of the list. */
  readonly keys: ReadonlyMap<string, AccessKey>;
  /** The indexes of elements without a usable key. */
  readonly withoutKey: readonly number[];
  /** The number of elements that have `key`, as in an inbound, instead of `access_key`. */
  readonly underKey: number;
  /** The number of elements that are not plain strings. */
  readonly objects: number;
  /** True if every element is a string or has only `key`. */
  readonly takenAtReload: boolean;
  /** The hash of each element's key under either name, 0 for one without. */
  readonly hashes: Uint32Array;
}

/** The differences between a legacy key list and the inbounds. */
export interface ListDifferences {
  readonly onlyInList: readonly AccessKey[];
  /** Keys that may have been deleted through the API of a server that keeps such a list. */
  readonly onlyInInbounds: readonly AccessKey[];
  /** Keys in both, with different records. */
  readonly differing: readonly DifferingKey[];
}

export interface DifferingKey {
  readonly inList: AccessKey;
  readonly inInbounds: AccessKey;
}

const QUOTE = 0x22;

/** Reads a legacy key list again by the member `key` if its elements have that instead of `access_key`. */
export function readLegacyList(bytes: Buffer, node: KeysNode): LegacyList {
  const { hashes, starts } = node.list;
  const other = hashes.includes(0) ? readKeys(createScanner(bytes, true, node.start), 'key') : null;
  const keys = new Map<string, AccessKey>();
  const withoutKey: number[] = [];
  const own = node.records.values();
  const others = (other?.records ?? []).values();
  let underKey = 0;
  let objects = 0;
  let takenAtReload = true;
  for (let index = 0; index < hashes.length; index += 1) {
    const hasOwn = hashes[index] !== 0;
    const hasOther = other !== null && other.list.hashes[index] !== 0;
    const ownRecord = hasOwn ? own.next().value : undefined;
    const otherRecord = hasOther ? others.next().value : undefined;
    const record = ownRecord ?? otherRecord;
    if (record === undefined) withoutKey.push(index);
    else keys.set(record.accessKey, record);
    if (!hasOwn && hasOther) underKey += 1;
    if (bytes[starts[index] ?? 0] === QUOTE) continue;
    objects += 1;
    if (hasOwn || !hasOther) takenAtReload = false;
  }
  const either = other === null ? hashes : hashes.map((hash, index) => hash || (other.list.hashes[index] ?? 0));
  return { elements: hashes.length, keys, withoutKey, underKey, objects, takenAtReload, hashes: either };
}

export function compareLegacyList({ keys }: LegacyList, inbounds: readonly AccessKey[]): ListDifferences {
  const onlyInInbounds: AccessKey[] = [];
  const differing: DifferingKey[] = [];
  const left = new Map(keys);
  for (const inInbounds of inbounds) {
    const inList = keys.get(inInbounds.accessKey);
    left.delete(inInbounds.accessKey);
    if (inList === undefined) onlyInInbounds.push(inInbounds);
    else if (!sameFields(inList, inInbounds)) differing.push({ inList, inInbounds });
  }
  return { onlyInList: [...left.values()], onlyInInbounds, differing };
}

/** The most keys of a kind that are named in a warning. */
const SHOWN = 20;

/** Warns about a legacy key list, with keys in the form of the log. */
export function warnOfLegacyList(differences: ListDifferences, warnings: Warnings): void {
  const { onlyInList, onlyInInbounds, differing } = differences;
  const place = 'access_keys';
  warnings.add(place, LEGACY_LIST_UNREAD);
  if (onlyInList.length > 0) warnings.add(place, `${countText(onlyInList.length)} only there: ${digests(onlyInList)}`);
  if (onlyInInbounds.length > 0) {
    const what = "only in inbounds, perhaps deleted through a server's own API";
    warnings.add(place, `${countText(onlyInInbounds.length)} ${what}: ${digests(onlyInInbounds)}`);
  }
  if (differing.length > 0) {
    const what = 'there and in inbounds with another name or limit';
    const shown = digests(differing.map(({ inInbounds }) => inInbounds));
    warnings.add(place, `${countText(differing.length)} ${what}: ${shown}`);
  }
}

const LEGACY_LIST_UNREAD =
  'it is not read in a file with inbounds; "keyway config check" shows it, "keyway config adopt" takes it over';

function countText(count: number): string {
  return count === 1 ? '1 key stands' : `${count} keys stand`;
}

function digests(keys: readonly AccessKey[]): string {
  const shown = keys.slice(0, SHOWN).map(({ accessKey }) => keyDigest(accessKey));
  const more = keys.length - shown.length;
  return `${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}
