import type { AccessKey, ServerConfiguration } from '../../core/model.js';
import { type JsonObject, parseJson } from '../../wire/json/json.js';
import type { FileOffer, KeyCount } from '../../wire/traits/file-reading.js';
import { ROOT_SHAPE, readDocument, readRoot } from '../document.js';
import { DUPLICATE_KEY } from '../first-keys.js';
import { EMPTY_KEY, type KeysNode } from '../key-list.js';
import type { LayoutName } from '../layout.js';
import { compareLegacyList, type LegacyList, type ListDifferences, readLegacyList } from '../legacy-list.js';
import { memberOf, type ObjectNode } from '../tree.js';
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
      rootList:
        list === null || rootNode?.kind !== 'keys'
          ? null
          : { ...countKeys([...list.keys.values()]), ...offerOf(list, rootNode, configuration.keys) },
      rootListener: memberOf(root, 'api')?.kind === 'object',
      inboundListener: hasInbounds && configuration.listener !== null,
      hasOutbounds: memberOf(root, 'outbounds')?.kind === 'array',
      members: otherMembers(bytes, root),
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

function offerOf(list: LegacyList, { faults }: KeysNode, inbounds: readonly AccessKey[]) {
  const { onlyInList, onlyInInbounds } = compareLegacyList(list, inbounds);
  const { elements, underKey, objects, takenAtReload } = list;
  const mistyped = new Set(faults.filter(({ text }) => text !== EMPTY_KEY).map(({ index }) => index)).size;
  return {
    elements,
    underKey,
    objects,
    takenAtReload,
    mistyped,
    missing: onlyInInbounds.length,
    besides: onlyInList.length,
  };
}

const WITH_KEYS: ReadonlySet<string> = new Set(['access_keys', 'inbounds']);

/** The root members besides those with keys, of which there may be a million. */
function otherMembers(bytes: Buffer, root: ObjectNode): JsonObject {
  const members = root.members.filter(({ name }) => !WITH_KEYS.has(name));
  const parsed = members.map(({ name, value: { start, end } }) => {
    return [name, parseJson(bytes.subarray(start, end), { comments: true, duplicates: 'last' })] as const;
  });
  return Object.fromEntries(parsed);
}
