import type { Allocate } from '../core/buffer-reuse.js';
import type { AccessKey } from '../core/model.js';
import { finish, Pace, type Steps } from '../core/steps.js';
import { createScanner, type JsonScanner, skipTrivia } from '../wire/json/scanner.js';
import { type ConfigurationDocument, ConfigurationShapeError, ROOT_SHAPE, readDocument, readRoot } from './document.js';
import { putMember } from './edit.js';
import { changeElement, readElement, renderElement, styleOf } from './element.js';
import { hashKey, type KeyList, NO_KEY, readKeys } from './key-list.js';
import { isAbsent } from './reading.js';
import { insertItems, removeItems, sequenceStyle } from './sequence.js';
import { applySplices, applySplicesSteps, MovedOffsets, type Splice, shiftList, sortSplicesSteps } from './splice.js';
import { fileStyle, lineIndent, type TextStyle } from './style.js';
import { memberOf, readTree } from './tree.js';

/**
 * Removes and changes the elements of keys, and puts new ones after the last one of the first list, in one copy of the
 * file as long as that list keeps an element. A removal removes every element of a key; a change affects only the last,
 * which is the one in force. The list for new keys is created if the file has none.
 */
export function changeKeys(
  document: ConfigurationDocument,
  changes: ReadonlyMap<string, AccessKey | null>,
  allocate?: Allocate,
): ConfigurationDocument {
  const { changed, removals, missing } = findChanges(document, changes);
  const home = document.hasHome ? document.lists[0] : undefined;
  const behind = home === undefined || missing.length === 0 ? -1 : lastKept(home, removals[0] ?? []);
  const removed = document.lists.flatMap((list, position) =>
    removeItems(document.bytes, list, removals[position] ?? [], position === 0 && behind >= 0),
  );
  const splices = [...changed, ...removed];
  if (home === undefined || behind < 0) {
    const edited = spliced(document, splices, removals, allocate);
    return missing.length === 0 ? edited : appendKeys(withHome(edited), missing);
  }
  const { texts, splices: added } = additions(document, home, behind, missing);
  const after = spliced(document, [...splices, ...added], removals, allocate);
  return withAppended(after, texts, missing);
}

/** Returns the document with a list for new keys. Throws `ConfigurationShapeError` if there is no place for one. */
function withHome(document: ConfigurationDocument): ConfigurationDocument {
  const { bytes, layout, hasHome } = document;
  if (hasHome) return document;
  const [home] = layout.keyHolders(readRoot(bytes, ROOT_SHAPE));
  if (home === undefined) throw new ConfigurationShapeError(`${layout.noHolder} to take a new key`);
  if (!isAbsent(home.value))
    throw new ConfigurationShapeError(`${home.place}: expected an array to put a new key into`);
  return readDocument(applySplices(bytes, putMember(bytes, home.owner, home.member, []))).document;
}

/** The effect of a change of keys on the lists of a file. */
interface FoundChanges {
  readonly changed: readonly Splice[];
  /** The indexes of the elements to remove from each list, rising. */
  readonly removals: readonly (readonly number[])[];
  /** The new records, whose keys are not in the file yet. */
  readonly missing: readonly AccessKey[];
}

function findChanges(document: ConfigurationDocument, changes: ReadonlyMap<string, AccessKey | null>): FoundChanges {
  const wanted = wantedHashes(changes.keys());
  const found = new Set<string>();
  /** The changes of a list's elements, by key; for a repeated key those of the last element. */
  const changed = new Map<string, () => Splice[]>();
  const removals = document.lists.map((list) => {
    const removed: number[] = [];
    const style = lazyStyle(document.bytes, list);
    for (const index of candidates(list, wanted)) {
      const key = keyAt(document, list, index);
      const record = changes.get(key);
      if (record === null) removed.push(index);
      else if (record !== undefined) changed.set(key, () => changeAt(document, list, index, record, style()));
      found.add(key);
    }
    return removed;
  });
  const missing = [...changes].flatMap(([key, record]) =>
    record === null || found.has(key) ? [] : [{ ...record, accessKey: key }],
  );
  return { changed: [...changed.values()].flatMap((change) => change()), removals, missing };
}

/**
 * Removes the elements whose key is an empty text, which servers accept and Keyway never writes. Returns the same
 * document if it has none.
 */
export function removeEmptyKeys(document: ConfigurationDocument): ConfigurationDocument {
  const { bytes, lists } = document;
  const removals = lists.map(({ starts, hashes }) =>
    [...hashes.keys()].filter((index) => hashes[index] === NO_KEY && hasEmptyKey(document, starts[index] ?? 0)),
  );
  const splices = lists.flatMap((list, position) => removeItems(bytes, list, removals[position] ?? [], false));
  return spliced(document, splices, removals);
}

function hasEmptyKey({ bytes, layout }: ConfigurationDocument, start: number): boolean {
  const node = readTree(createScanner(bytes, true, start));
  const key = node.kind === 'object' ? memberOf(node, layout.keyMember) : node;
  return key?.kind === 'string' && key.value === '';
}

/** Returns the records in force of these keys in the document, or null. */
export function recordsOf(
  document: ConfigurationDocument,
  keys: Iterable<string>,
): ReadonlyMap<string, AccessKey | null> {
  const records = new Map<string, AccessKey | null>([...keys].map((key) => [key, null]));
  const wanted = wantedHashes(records.keys());
  for (const list of document.lists) {
    for (const index of candidates(list, wanted)) {
      const [record] = readKeys(elementAlone(document.bytes, list, index), document.layout.keyMember).records;
      if (record !== undefined && records.has(record.accessKey)) records.set(record.accessKey, record);
    }
  }
  return records;
}

/** Returns a scanner at the element with this index, as a list of its own. */
function elementAlone(bytes: Buffer, list: KeyList, index: number): JsonScanner {
  const element = bytes.subarray(list.starts[index] ?? 0, list.ends[index] ?? 0);
  return createScanner(Buffer.concat([Buffer.from('['), element, Buffer.from('\n]')]), true);
}

/** Returns the index of the last element that is not removed, or -1. */
function lastKept(list: KeyList, removed: readonly number[]): number {
  let last = list.starts.length - 1;
  for (let i = removed.length - 1; removed[i] === last && last >= 0; i -= 1) last -= 1;
  return last;
}

/** Returns the texts of new elements, and the splices that put them after the one at an index. */
function additions(
  { bytes, layout }: ConfigurationDocument,
  list: KeyList,
  behind: number,
  records: readonly AccessKey[],
): { readonly texts: readonly string[]; readonly splices: readonly Splice[] } {
  const style = sequenceStyle(bytes, list, fileStyle(bytes));
  const own = elementStyle(bytes, list, style);
  const texts = records.map((record) => renderElement(record, layout, own, style.indent));
  return { texts, splices: insertItems(bytes, list, behind, texts, style, true) };
}

/** Puts new keys after the last one of the first list, which the document must have. */
function appendKeys(document: ConfigurationDocument, records: readonly AccessKey[]): ConfigurationDocument {
  const [home] = document.lists;
  if (home === undefined || records.length === 0) return document;
  const { texts, splices } = additions(document, home, home.starts.length - 1, records);
  return withAppended(spliced(document, splices, []), texts, records);
}

/** Returns the document after splices, and its lists after the removal of elements at these indexes. */
export function spliced(
  document: ConfigurationDocument,
  splices: readonly Splice[],
  removals: readonly (readonly number[])[],
  allocate?: Allocate,
): ConfigurationDocument {
  return finish(splicedSteps(document, splices, removals, allocate));
}

/** Does what `spliced` does, in steps. */
export function* splicedSteps(
  document: ConfigurationDocument,
  unsorted: readonly Splice[],
  removals: readonly (readonly number[])[],
  allocate?: Allocate,
): Steps<ConfigurationDocument> {
  if (unsorted.length === 0) return document;
  const splices = yield* sortSplicesSteps(unsorted);
  const moved = yield* MovedOffsets.bySplicesSteps(splices, new Pace());
  const lists = document.lists.map((list, position) => shiftList(list, splices, moved, removals[position] ?? []));
  const before = document.legacyList;
  const legacyList = before && { ...before, list: shiftList(before.list, splices, moved, []) };
  const bytes = yield* applySplicesSteps(document.bytes, splices, allocate);
  return { ...document, bytes, lists, legacyList };
}

/** Hashes to look for; the bits answer "surely not" for nearly every element without asking the set. */
export interface WantedHashes {
  readonly bits: Uint8Array;
  readonly hashes: ReadonlySet<number>;
}

const BITS = 0xffff;

export function wantedHashes(keys: Iterable<string>): WantedHashes {
  const bits = new Uint8Array(BITS + 1);
  const hashes = new Set<number>();
  for (const key of keys) {
    const hash = hashKey(key);
    bits[hash & BITS] = 1;
    hashes.add(hash);
  }
  return { bits, hashes };
}

/** Returns the indexes of elements whose hash is wanted, rising. */
export function candidates(list: KeyList, { bits, hashes }: WantedHashes): readonly number[] {
  const indexes: number[] = [];
  for (let i = 0; i < list.hashes.length; i += 1) {
    const hash = list.hashes[i] ?? 0;
    if (bits[hash & BITS] === 1 && hashes.has(hash)) indexes.push(i);
  }
  return indexes;
}

function keyAt({ bytes, layout }: ConfigurationDocument, list: KeyList, index: number): string {
  const node = readTree(createScanner(bytes, true, list.starts[index] ?? 0));
  const key = node.kind === 'object' ? memberOf(node, layout.keyMember) : node;
  return key?.kind === 'string' ? key.value : '';
}

function changeAt(
  { bytes, layout }: ConfigurationDocument,
  list: KeyList,
  index: number,
  record: AccessKey,
  style: TextStyle,
): Splice[] {
  const from = list.starts[index] ?? 0;
  const to = list.ends[index] ?? 0;
  // On one line no indentation is written, and finding the start of that line could mean reading the whole file.
  const indent = style.manyLines ? lineIndent(bytes, from) : '';
  const text = changeElement(bytes.subarray(from, to), record, layout, style, indent);
  return text === null ? [] : [{ from, to, text }];
}

/** Returns the style of new objects in a list, computed once and on demand. */
function lazyStyle(bytes: Buffer, list: KeyList): () => TextStyle {
  let style: TextStyle | undefined;
  return () => {
    style ??= elementStyle(bytes, list, sequenceStyle(bytes, list, fileStyle(bytes)));
    return style;
  };
}

/** The number of elements at the end of a list among which an object is sought, whose style a new one copies. */
const SAMPLES = 64;

/** Returns the style of the last object near the end of a list, else the list's own. */
function elementStyle(bytes: Buffer, list: KeyList, base: TextStyle): TextStyle {
  const last = list.starts.length - 1;
  for (let i = last; i >= 0 && i > last - SAMPLES; i -= 1) {
    const start = list.starts[i] ?? 0;
    if (bytes[start] === OPEN_OBJECT) return styleOf(bytes, readElement(bytes, start), base);
  }
  return base;
}

const OPEN_OBJECT = 0x7b;
const COMMA = 0x2c;

/** Returns the document with the spans of new elements, whose texts were put after the last one of its first list. */
function withAppended(
  document: ConfigurationDocument,
  texts: readonly string[],
  records: readonly AccessKey[],
): ConfigurationDocument {
  const { bytes } = document;
  const [list, ...others] = document.lists;
  if (list === undefined) return document;
  const count = list.starts.length;
  const grow = (numbers: Uint32Array): Uint32Array => {
    const larger = new Uint32Array(count + texts.length);
    larger.set(numbers);
    return larger;
  };
  const grown = { ...list, starts: grow(list.starts), ends: grow(list.ends), hashes: grow(list.hashes) };
  let at = list.ends[count - 1] ?? list.open + 1;
  for (const [position, text] of texts.entries()) {
    at = skipTrivia(bytes, at);
    if (bytes[at] === COMMA) at = skipTrivia(bytes, at + 1);
    grown.starts[count + position] = at;
    at += Buffer.byteLength(text);
    grown.ends[count + position] = at;
    grown.hashes[count + position] = hashKey(records[position]?.accessKey ?? '');
  }
  return { ...document, lists: [grown, ...others] };
}
