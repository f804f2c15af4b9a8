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
  /** Keys that stand only in the list go to the first inbound for keys. */
  readonly add: boolean;
  /** Keys that stand only in the inbounds go. */
  readonly remove: boolean;
  /** Keys in both get the name and the limit that the list has. */
  readonly update: boolean;
  /** Only these keys; null for all. */
  readonly keys: ReadonlySet<string> | null;
}

export interface Adoption {
  readonly added: readonly AccessKey[];
  readonly removed: readonly AccessKey[];
  readonly updated: readonly DifferingKey[];
  /** The differences between the list and the inbounds afterwards. */
  readonly left: ListDifferences;
  /** The indexes of elements of the list that have no key. */
  readonly withoutKey: readonly number[];
  /** The losses with the list, when it goes: nothing is left in it that the inbounds do not say. */
  readonly listRemoved: RemovedList | null;
  /** The file afterwards; the same buffer when nothing changes. */
  readonly bytes: Buffer;
}

export interface RemovedList {
  readonly elements: number;
  readonly comments: readonly string[];
  readonly members: readonly UnknownMember[];
}

/**
 * Works out an adoption; null where no such list stands beside inbounds, as after one that took all of it. The list stays whole until nothing is left in it: a server that reads it at a live reload takes
 * it for all keys that there are. Without `add`, `remove` and `update` nothing changes. Throws `ConfigurationShapeError`
 * when the file has no inbounds, or a named key stands nowhere, and as `readDocument` does.
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
