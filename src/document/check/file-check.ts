import type { AccessKey, ServerConfiguration } from '../../core/model.js';
import type { FileOffer, KeyCount } from '../../wire/traits/file-reading.js';
import { ROOT_SHAPE, readDocument, readRoot } from '../document.js';
import { DUPLICATE_KEY } from '../first-keys.js';
import type { KeysNode } from '../key-list.js';
import type { LayoutName } from '../layout.js';
import { compareLegacyList, type LegacyList, type ListDifferences, readLegacyList } from '../legacy-list.js';
import { memberOf } from '../tree.js';
import { type UnknownMember, unknownInKeys, unknownMembers } from './members.js';

/** The findings about a configuration file, for the operator whose file it is: keys stand in it in full. */
export interface FileCheck {
  readonly layout: LayoutName;
  readonly configuration: ServerConfiguration;
  /** The lists of keys that count, in their order. */
  readonly lists: readonly PlacedList[];
  /** Null where there is none. */
  readonly legacyList: (LegacyList & ListDifferences) | null;
  readonly duplicates: readonly DuplicateKey[];
  readonly unknown: readonly UnknownMember[];
  /** The parts that were read past, less duplicates and the legacy key list. */
  readonly warnings: readonly string[];
  /** The file as servers of the several lines would find it. */
  readonly offer: FileOffer;
}

export interface PlacedList {
  readonly place: string;
  readonly elements: number;
}

/** A key that stands in the file a second time. */
export interface DuplicateKey {
  readonly accessKey: string;
  readonly place: string;
  /** The place of the one that counts. */
  readonly first: string;
}

/** Checks a file. Throws as `readDocument` does for one that is no configuration. */
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
    offer: {
      inbounds: hasInbounds ? countKeys(configuration.keys) : null,
      rootList: list === null ? null : { ...countKeys([...list.keys.values()]), ...offerOf(list, configuration.keys) },
      rootListener: memberOf(root, 'api')?.kind === 'object',
      inboundListener: hasInbounds && configuration.listener !== null,
      hasOutbounds: memberOf(root, 'outbounds')?.kind === 'array',
    },
  };
}

interface PlacedNode {
  readonly place: string;
  readonly node: KeysNode;
}

/** Every element whose key another one before it has. */
function duplicateKeys(lists: readonly PlacedNode[]): readonly DuplicateKey[] {
  const seen = new Map<string, string>();
  const duplicates: DuplicateKey[] = [];
  for (const { place, node } of lists) {
    const records = node.records.values();
    for (const [index, hash] of node.list.hashes.entries()) {
      const accessKey = hash === 0 ? undefined : records.next().value?.accessKey;
      if (accessKey === undefined) continue;
      const first = seen.get(accessKey);
      if (first === undefined) seen.set(accessKey, `${place}[${index}]`);
      else duplicates.push({ accessKey, place: `${place}[${index}]`, first });
    }
  }
  return duplicates;
}

function countKeys(keys: readonly AccessKey[]): KeyCount {
  return {
    keys: keys.length,
    named: keys.filter(({ name }) => name !== null).length,
    limited: keys.filter(({ limitBytes }) => limitBytes !== null).length,
  };
}

function offerOf(list: LegacyList, inbounds: readonly AccessKey[]) {
  const { onlyInList, onlyInInbounds } = compareLegacyList(list, inbounds);
  const { underKey, objects, takenAtReload } = list;
  return { underKey, objects, takenAtReload, missing: onlyInInbounds.length, besides: onlyInList.length };
}
