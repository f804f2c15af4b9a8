import type { ServerConfiguration } from '../../core/model.js';
import { ROOT_SHAPE, readDocument, readRoot } from '../document.js';
import type { KeysNode } from '../key-list.js';
import { DUPLICATE_KEY } from '../last-keys.js';
import type { LayoutName } from '../layout.js';
import { compareLegacyList, type LegacyList, type ListDifferences, readLegacyList } from '../legacy-list.js';
import { memberOf } from '../tree.js';
import { type UnknownMember, unknownInKeys, unknownMembers } from './members.js';
import { readServerText, type ServerText } from './server-text.js';

/** The findings about a configuration file, for its operator: it contains keys in full. */
export interface FileCheck {
  readonly layout: LayoutName;
  readonly configuration: ServerConfiguration;
  /** The lists of keys that servers read, in their order. */
  readonly lists: readonly PlacedList[];
  /** The legacy key list with its differences; null without one. */
  readonly legacyList: (LegacyList & ListDifferences) | null;
  readonly duplicates: readonly DuplicateKey[];
  readonly unknown: readonly UnknownMember[];
  /** The parts that were ignored, except for duplicates and the legacy key list. */
  readonly warnings: readonly string[];
  /** The file as servers read it. */
  readonly serverText: ServerText;
  /** The keys of a root `access_keys`, in either layout; null without one. */
  readonly rootList: LegacyList | null;
}

export interface PlacedList {
  readonly place: string;
  readonly elements: number;
}

/** A key that occurs in the file a second time. */
export interface DuplicateKey {
  readonly accessKey: string;
  readonly place: string;
  /** The place of the one that counts, the last. */
  readonly counts: string;
}

/** Checks a file. Throws as `readDocument` does if it is not a configuration. */
export function checkFile(bytes: Buffer): FileCheck {
  const { document, configuration } = readDocument(bytes);
  const { layout } = document;
  const root = readRoot(bytes, ROOT_SHAPE);
  const placed = layout.keyHolders(root).flatMap(({ place, value }) => {
    return value?.kind === 'keys' ? [{ place, node: value }] : [];
  });
  const rootNode = memberOf(root, 'access_keys');
  const list = rootNode?.kind === 'keys' ? readLegacyList(bytes, rootNode) : null;
  const hasInbounds = layout.name === 'inbounds';
  const legacyList = hasInbounds && list !== null ? { ...list, ...compareLegacyList(list, configuration.keys) } : null;
  return {
    layout: layout.name,
    configuration,
    lists: placed.map(({ place, node }) => ({ place, elements: node.list.starts.length })),
    legacyList,
    duplicates: duplicateKeys(placed),
    unknown: [
      ...unknownMembers(root, layout.name),
      ...placed.flatMap(({ place, node }) => unknownInKeys(bytes, node.list, place, layout.keyMember)),
    ],
    warnings: configuration.warnings.filter(
      (warning) => !warning.endsWith(DUPLICATE_KEY) && !(legacyList !== null && warning.startsWith('access_keys: ')),
    ),
    serverText: readServerText(bytes),
    rootList: list,
  };
}

interface PlacedNode {
  readonly place: string;
  readonly node: KeysNode;
}

/** Lists every element whose key occurs again later, in the order of the file. */
function duplicateKeys(lists: readonly PlacedNode[]): readonly DuplicateKey[] {
  const last = new Map<string, string>();
  const duplicates: DuplicateKey[] = [];
  for (const { place, node } of lists.toReversed()) {
    const records = node.records.toReversed().values();
    for (let index = node.list.hashes.length - 1; index >= 0; index -= 1) {
      const accessKey = node.list.hashes[index] === 0 ? undefined : records.next().value?.accessKey;
      if (accessKey === undefined) continue;
      const counts = last.get(accessKey);
      if (counts === undefined) last.set(accessKey, `${place}[${index}]`);
      else duplicates.push({ accessKey, place: `${place}[${index}]`, counts });
    }
  }
  return duplicates.toReversed();
}
