import type { AccessKey } from '../../core/model.js';
import { changeDocument } from '../change.js';
import { ROOT_SHAPE, readDocument, readRoot } from '../document.js';
import type { KeysNode } from '../key-list.js';
import { ConfigurationShapeError } from '../layout.js';
import { compareLegacyList, type DifferingKey, type ListDifferences, readLegacyList } from '../legacy-list.js';
import { isAbsent } from '../reading.js';
import { commentsBetween } from '../sequence.js';
import { replaceLegacyList } from '../sync-legacy-list.js';
import { memberOf } from '../tree.js';
import { type UnknownMember, unknownInKeys } from './members.js';

/** The parts of a legacy key list that the inbounds are to take over (design: "Saving keys"). */
export interface AdoptionRequest {
  /** Adds keys that are only in the list to the first inbound for keys. */
  readonly add: boolean;
  /** Removes keys that are only in the inbounds. */
  readonly remove: boolean;
  /** Gives keys in both the name and the limit from the list. */
  readonly update: boolean;
  /** The only keys to consider; null for all. */
  readonly keys: ReadonlySet<string> | null;
}

export interface Adoption {
  readonly added: readonly AccessKey[];
  readonly removed: readonly AccessKey[];
  readonly updated: readonly DifferingKey[];
  /** The remaining differences between the list and the inbounds. */
  readonly left: ListDifferences;
  /** The indexes of elements of the list that have no key. */
  readonly withoutKey: readonly number[];
  /** The losses with the list, if it is removed; nothing in it is missing from the inbounds. */
  readonly listRemoved: RemovedList | null;
  /** The resulting file; the same buffer if nothing changes. */
  readonly bytes: Buffer;
}

export interface RemovedList {
  readonly elements: number;
  readonly comments: readonly string[];
  readonly members: readonly UnknownMember[];
}

/**
 * Plans an adoption; null without a legacy key list. The list is removed only once every key in it is dealt with,
 * because a server takes it for the complete set of keys at a live reload. Without `add`, `remove` and `update` nothing
 * changes. Throws `ConfigurationShapeError` if the file has no inbounds or a named key is unknown, and as
 * `readDocument` does.
 */
export function planAdoption(bytes: Buffer, request: AdoptionRequest): Adoption | null {
  const { document, configuration } = readDocument(bytes);
  const node = legacyListIn(bytes, document.layout.name === 'inbounds');
  if (node === null) return null;
  const list = readLegacyList(bytes, node);
  const found = compareLegacyList(list, configuration.keys);
  refuseUnknown([...list.keys.values(), ...configuration.keys], request.keys);
  const asked = ({ accessKey }: AccessKey) => request.keys?.has(accessKey) ?? true;
  const added = request.add ? found.onlyInList.filter(asked) : [];
  const removed = request.remove ? found.onlyInInbounds.filter(asked) : [];
  const updated = request.update ? found.differing.filter(({ inList }) => asked(inList)) : [];
  const keys = new Map<string, AccessKey | null>([
    ...removed.map(({ accessKey }) => [accessKey, null] as const),
    ...updated.map(({ inList }) => [inList.accessKey, inList] as const),
    ...added.map((key) => [key.accessKey, key] as const),
  ]);
  const changed = keys.size === 0 ? bytes : changeDocument(document, { keys }).bytes;
  const left = compareLegacyList(list, readDocument(changed).configuration.keys);
  const isEmpty = left.onlyInList.length + left.differing.length + list.withoutKey.length === 0;
  const listGoes = isEmpty && (request.add || request.remove || request.update);
  return {
    added,
    removed,
    updated,
    left,
    withoutKey: list.withoutKey,
    listRemoved: listGoes ? goesWith(bytes, node) : null,
    bytes: listGoes ? replaceLegacyList(readDocument(changed).document, null).bytes : changed,
  };
}

function legacyListIn(bytes: Buffer, hasInbounds: boolean): KeysNode | null {
  const list = memberOf(readRoot(bytes, ROOT_SHAPE), 'access_keys');
  if (!hasInbounds) {
    throw new ConfigurationShapeError(
      'the file has no inbounds: its access_keys are read, and there is nothing to adopt',
    );
  }
  if (isAbsent(list)) return null;
  if (list.kind !== 'keys') throw new ConfigurationShapeError('access_keys: expected an array to adopt keys from');
  return list;
}

function refuseUnknown(found: readonly AccessKey[], keys: AdoptionRequest['keys']): void {
  if (keys === null) return;
  const known = new Set(found.map(({ accessKey }) => accessKey));
  const unknown = [...keys].filter((key) => !known.has(key)).map((key) => JSON.stringify(key));
  if (unknown.length > 0)
    throw new ConfigurationShapeError(`neither access_keys nor inbounds have ${unknown.join(', ')}`);
}

function goesWith(bytes: Buffer, { start, end, list }: KeysNode): RemovedList {
  const members = [...unknownInKeys(bytes, list, 'access_keys', 'access_key').filter(({ name }) => name !== 'key')];
  const comments = commentsBetween(bytes, start, end).map(({ text }) => text);
  return { elements: list.starts.length, comments, members };
}
