import { isBare } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { createScanner } from '../wire/json/scanner.js';
import type { LegacyListReading } from '../wire/traits/server-file.js';
import { type ConfigurationDocument, ROOT_SHAPE, readDocument, readRoot } from './document.js';
import { putMember } from './edit.js';
import { membersFor, membersOf } from './element.js';
import { candidates, wantedHashes } from './key-changes.js';
import type { KeyList } from './key-list.js';
import { readLegacyList } from './legacy-list.js';
import { insertItems, removeItems, sequenceStyle } from './sequence.js';
import { applySplices, type Splice } from './splice.js';
import { fileStyle, type Rendered } from './style.js';
import { memberOf, readTree } from './tree.js';

/**
 * Updates a legacy key list after a change of keys, as its servers need it (design: "Saving keys"). A removed key
 * leaves the list as well. If servers read the `list only`, it gets every key as a plain string, the only element that
 * they accept.
 */
export function syncLegacyList(
  document: ConfigurationDocument,
  keys: ReadonlyMap<string, AccessKey | null>,
  reading: LegacyListReading,
): ConfigurationDocument {
  if (document.layout.name !== 'inbounds') return document;
  const gone = [...keys].flatMap(([accessKey, record]) => (record === null ? [accessKey] : []));
  const without = withoutInLegacyList(document, gone);
  return reading === 'list only' ? withEveryKeyInLegacyList(without) : without;
}

/** Returns those of these keys that are in the legacy key list. */
export function keysInLegacyList(document: ConfigurationDocument, keys: Iterable<string>): readonly string[] {
  const wanted = new Set(keys);
  return elementsOf(document, wanted).flatMap(({ accessKey }) => (wanted.has(accessKey) ? [accessKey] : []));
}

function withoutInLegacyList(document: ConfigurationDocument, keys: readonly string[]): ConfigurationDocument {
  const wanted = new Set(keys);
  const indexes = elementsOf(document, wanted).flatMap(({ accessKey, index }) =>
    wanted.has(accessKey) ? [index] : [],
  );
  const list = document.legacyList?.list;
  if (list === undefined || indexes.length === 0) return document;
  return readDocument(applySplices(document.bytes, removeItems(document.bytes, list, indexes))).document;
}

/** Returns the elements that may have one of these keys, by hash. */
function elementsOf({ bytes, legacyList }: ConfigurationDocument, keys: ReadonlySet<string>) {
  if (legacyList === null || keys.size === 0) return [];
  const { list } = legacyList;
  return candidates(list, wantedHashes(keys)).map((index) => {
    const node = readTree(createScanner(bytes, true, list.starts[index] ?? 0));
    const key = node.kind === 'object' ? (memberOf(node, 'access_key') ?? memberOf(node, 'key')) : node;
    return { index, accessKey: key?.kind === 'string' ? key.value : '' };
  });
}

function withEveryKeyInLegacyList(document: ConfigurationDocument): ConfigurationDocument {
  const { bytes } = document;
  const root = readRoot(bytes, ROOT_SHAPE);
  const keys = readDocument(bytes).configuration.keys.map(({ accessKey }) => accessKey);
  const node = memberOf(root, 'access_keys');
  if (node?.kind !== 'keys')
    return readDocument(applySplices(bytes, putMember(bytes, root, 'access_keys', keys))).document;
  const listed = readLegacyList(bytes, node).keys;
  const missing = keys.filter((key) => !listed.has(key)).map((key) => JSON.stringify(key));
  if (missing.length === 0) return document;
  const style = sequenceStyle(bytes, node.list, fileStyle(bytes));
  const splices = insertItems(bytes, node.list, node.list.starts.length - 1, missing, style);
  return readDocument(applySplices(bytes, splices)).document;
}

/** Returns why servers do not read, or not keep, the keys in a file with inbounds; null if they do. */
export function legacyListTrouble(
  { legacyList, lists }: ConfigurationDocument,
  reading: LegacyListReading,
): 'ends reloads' | 'is there' | 'lacks keys' | null {
  if (legacyList !== null && !legacyList.takenAtReload) return 'ends reloads';
  if (reading === 'union') return legacyList === null ? null : 'is there';
  const [listed, inInbounds] = [hashesOf(legacyList === null ? [] : [legacyList.list]), hashesOf(lists)];
  if (!hasAll(inInbounds, listed)) return 'is there';
  return hasAll(listed, inInbounds) ? null : 'lacks keys';
}

function hashesOf(lists: readonly KeyList[]): ReadonlySet<number> {
  return new Set(lists.flatMap(({ hashes }) => [...hashes]));
}

function hasAll(all: ReadonlySet<number>, some: ReadonlySet<number>): boolean {
  for (const one of some) if (!all.has(one)) return false;
  return true;
}

/**
 * Returns the document with these keys in its legacy key list, as servers write it, or without such a list for null;
 * the same document if nothing differs. Only for a file with inbounds, because the other layout has its keys in that
 * list.
 */
export function replaceLegacyList(
  document: ConfigurationDocument,
  keys: readonly AccessKey[] | null,
): ConfigurationDocument {
  const root = readRoot(document.bytes, ROOT_SHAPE);
  const indexes = root.members.flatMap(({ name }, index) => (name === 'access_keys' ? [index] : []));
  const splices: readonly Splice[] =
    keys === null
      ? removeItems(document.bytes, membersOf(root), indexes)
      : putMember(document.bytes, root, 'access_keys', keys.map(elementOf));
  if (splices.length === 0) return document;
  const bytes = applySplices(document.bytes, splices);
  return bytes.equals(document.bytes) ? document : readDocument(bytes).document;
}

/** Writes an element: a plain string if it has only the key. */
function elementOf(record: AccessKey): Rendered {
  return isBare(record) ? record.accessKey : membersFor(record, 'access_key');
}
