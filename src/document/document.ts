import { isUtf8 } from 'node:buffer';
import type { AccessKey, ServerConfiguration } from '../core/model.js';
import { finish, type Steps } from '../core/steps.js';
import { createScanner, expectEnd } from '../wire/json/scanner.js';
import { accessKeysLayout } from './access-keys-layout.js';
import { readDns } from './dns-section.js';
import { inboundsLayout, inboundsOf } from './inbounds-layout.js';
import type { KeyList } from './key-list.js';
import { lastOfEachSteps, type PlacedKeys } from './last-keys.js';
import { ConfigurationShapeError, type Layout, type ListHolder } from './layout.js';
import { compareLegacyList, readLegacyList, warnOfLegacyList } from './legacy-list.js';
import { PUBLISHED_SHAPES, readPublished } from './published-sections.js';
import { createWarnings, isAbsent, readString, type Warnings } from './reading.js';
import { memberOf, type ObjectNode, readValueSteps, type Shape, type ValueNode } from './tree.js';

export { ConfigurationShapeError } from './layout.js';

/** A configuration file's bytes, and where its keys stand in them. Immutable; a change makes another one. */
export interface ConfigurationDocument {
  readonly bytes: Buffer;
  readonly layout: Layout;
  /** The key lists that the file has, in the order in which their keys count. */
  readonly lists: readonly KeyList[];
  /** True when the first list is the one that new keys go to; false when that one has yet to be made. */
  readonly hasHome: boolean;
  /** The number of places for keys in the file, with or without a list in them. */
  readonly keyPlaces: number;
  /** A root `access_keys` beside inbounds, whose keys do not count; null where there is none. */
  readonly legacyList: PlacedLegacyList | null;
  /** The places where a list of keys, or of inbounds with keys, should stand and something else does. */
  readonly wrongLists: readonly string[];
  /** The names of the members of the root. */
  readonly members: ReadonlySet<string>;
}

/** A legacy key list: where its elements stand, and whether a server that has read it goes on reading the file. */
export interface PlacedLegacyList {
  readonly list: KeyList;
  readonly takenAtReload: boolean;
}

/** The answer of `readDocument`. The document does not hold on to the configuration. */
export interface ReadConfiguration {
  readonly document: ConfigurationDocument;
  readonly configuration: ServerConfiguration;
}

/** All that either layout looks at; of the rest the names. */
export const ROOT_SHAPE: Shape = {
  members: { ...accessKeysLayout.shapes, ...inboundsLayout.shapes, ...PUBLISHED_SHAPES },
};

/**
 * Reads a configuration file (protocol: "Configuration file"), JSON with comments. Values of a wrong type never throw: they
 * are read past and named in `warnings`. Throws `JsonSyntaxError`, and `ConfigurationShapeError` when the root is no
 * object or the bytes are no UTF-8.
 */
export function readDocument(bytes: Buffer): ReadConfiguration {
  return finish(readDocumentSteps(bytes));
}

/** Does as `readDocument`, in steps. */
export function* readDocumentSteps(bytes: Buffer): Steps<ReadConfiguration> {
  const root = yield* readRootSteps(bytes, ROOT_SHAPE);
  const document = documentIn(bytes, root);
  return { document, configuration: yield* readConfiguration(bytes, root, document.layout) };
}

/** Finds the lists of keys alone, in steps. Throws as `readDocument` does. */
export function* locateKeysSteps(bytes: Buffer): Steps<ConfigurationDocument> {
  return documentIn(bytes, yield* readRootSteps(bytes, ROOT_SHAPE));
}

function documentIn(bytes: Buffer, root: ObjectNode): ConfigurationDocument {
  const layout = layoutOf(root);
  const holders = layout.keyHolders(root);
  const lists = holders.flatMap(listOf);
  const legacyList = layout === inboundsLayout ? legacyListOf(bytes, root) : null;
  const isWrong = ({ value }: ListHolder) => value?.kind !== 'keys' && !isAbsent(value);
  const isNoList = layout !== inboundsLayout && isOtherThanArray(memberOf(root, 'inbounds'));
  const wrongLists = [...holders.filter(isWrong).map(({ place }) => place), ...(isNoList ? ['inbounds'] : [])];
  return {
    ...{ bytes, layout, lists, hasHome: isKeyList(holders[0]), keyPlaces: holders.length, legacyList },
    wrongLists,
    members: namesOf(root),
  };
}

function legacyListOf(bytes: Buffer, root: ObjectNode): PlacedLegacyList | null {
  const node = memberOf(root, 'access_keys');
  if (node?.kind !== 'keys') return null;
  const { hashes, takenAtReload } = readLegacyList(bytes, node);
  return { list: { ...node.list, hashes }, takenAtReload };
}

/** The parts that go with a document when another one takes its place. */
export function lossesBetween(before: ConfigurationDocument, after: ConfigurationDocument) {
  const hasInbound = ({ layout, keyPlaces }: ConfigurationDocument) => layout === inboundsLayout && keyPlaces > 0;
  /** A file with inbounds for keys becomes one without: what a panel does that sends an old copy back. */
  const losesInbounds = hasInbound(before) && !hasInbound(after);
  const lost = [...before.members].filter((name) => !after.members.has(name));
  return { losesInbounds, lostMembers: losesInbounds ? lost.filter((name) => name !== 'inbounds') : lost };
}

/** The number of elements of key lists that are no plain strings. */
export function objectsIn({ bytes, lists }: ConfigurationDocument): number {
  const isObject = (start: number) => bytes[start] === OPEN_OBJECT;
  return lists.reduce((count, { starts }) => count + starts.filter(isObject).length, 0);
}

const OPEN_OBJECT = 0x7b;

export function namesOf({ members }: ObjectNode): ReadonlySet<string> {
  return new Set(members.map(({ name }) => name));
}

/** The root object of a file. Throws as `readDocument` does. */
export function readRoot(bytes: Buffer, shape: Shape): ObjectNode {
  return finish(readRootSteps(bytes, shape));
}

/** Does as `readRoot`, in steps. */
export function* readRootSteps(bytes: Buffer, shape: Shape): Steps<ObjectNode> {
  if (!isUtf8(bytes)) throw new ConfigurationShapeError('the file is not valid UTF-8');
  const scanner = createScanner(bytes, true);
  const root = yield* readValueSteps(scanner, shape);
  expectEnd(scanner);
  if (root.kind !== 'object') throw new ConfigurationShapeError('the root: expected an object');
  return root;
}

/**
 * Decided by what the file has: a root array `inbounds` makes the one, everything else is the other. Servers that read a root
 * `access_keys` pass over inbounds, and the others want one for keys: beside that list, inbounds for neither keys nor the API are none.
 */
function layoutOf(root: ObjectNode): Layout {
  if (memberOf(root, 'inbounds')?.kind !== 'array') return accessKeysLayout;
  const isNone =
    memberOf(root, 'access_keys')?.kind === 'keys' && !PROTOCOLS.some((one) => inboundsOf(root, one).length > 0);
  return isNone ? accessKeysLayout : inboundsLayout;
}

const PROTOCOLS = ['ostp', 'api'];

function isKeyList(holder: ListHolder | undefined): boolean {
  return holder?.value?.kind === 'keys';
}

function listOf({ value }: ListHolder): readonly KeyList[] {
  return value?.kind === 'keys' ? [value.list] : [];
}

function* readConfiguration(bytes: Buffer, root: ObjectNode, layout: Layout): Steps<ServerConfiguration> {
  const holders = layout.keyHolders(root);
  const warnings = createWarnings();
  const mode = readString(memberOf(root, 'mode'), 'mode', null, warnings);
  const keys = yield* readKeyRecords(layout, holders, warnings);
  // Not among the others, of which the file may have more than are shown.
  const others = createWarnings();
  warnOfOtherLayout(bytes, root, layout, keys, others);
  const listener = layout.readListener(root, warnings);
  const listen = layout.readListen(root, warnings);
  const outbound = layout.readOutbound(root, warnings);
  const dns = readDns(root, warnings);
  const published = readPublished(root, warnings);
  return { mode, keys, listener, listen, outbound, dns, published, warnings: [...others.list(), ...warnings.list()] };
}

/** Warns of parts of the one layout that stand in a file of the other where they may be taken for something. */
function warnOfOtherLayout(
  bytes: Buffer,
  root: ObjectNode,
  layout: Layout,
  keys: readonly AccessKey[],
  warnings: Warnings,
): void {
  if (layout === inboundsLayout) {
    const list = memberOf(root, 'access_keys');
    if (list?.kind === 'keys') warnOfLegacyList(compareLegacyList(readLegacyList(bytes, list), keys), warnings);
    else if (!isAbsent(list)) warnings.add('access_keys', 'it stands beside inbounds and is not read');
  } else if (isOtherThanArray(memberOf(root, 'inbounds'))) {
    warnings.add('inbounds', 'expected an array; it is ignored, and the keys are those of access_keys');
  }
}

function isOtherThanArray(node: ValueNode | undefined): boolean {
  return !isAbsent(node) && node.kind !== 'array';
}

/** The keys of all lists; of equal ones the last. */
function* readKeyRecords(
  layout: Layout,
  holders: readonly ListHolder[],
  warnings: Warnings,
): Steps<readonly AccessKey[]> {
  const [first] = holders;
  if (first === undefined) warnings.add(layout.noHolder, 'there are no keys');
  for (const { place } of holders.slice(1)) warnings.add(place, `these keys count too; new ones go to ${first?.place}`);
  const nodes: PlacedKeys[] = [];
  for (const { place, value, needed } of holders) {
    if (value?.kind === 'keys') nodes.push({ place, node: value });
    else if (!isAbsent(value)) warnings.add(place, 'expected an array; it is ignored');
    else if (needed) warnings.add(place, 'absent; there are no keys');
  }
  for (const { place, node } of nodes) {
    for (const { index, member, text } of node.faults) {
      warnings.add(`${place}[${index}]${member === '' ? '' : `.${member}`}`, text);
    }
  }
  return yield* lastOfEachSteps(nodes, warnings);
}
