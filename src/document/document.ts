import { isUtf8 } from 'node:buffer';
import type { AccessKey, ServerConfiguration } from '../core/model.js';
import { finish, Pace, type Steps } from '../core/steps.js';
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
import { memberIndexSteps, memberOf, type ObjectNode, readValueSteps, type Shape, type ValueNode } from './tree.js';

export { ConfigurationShapeError } from './layout.js';

/** A configuration file's bytes, with the places of its keys. Immutable; a change makes a new one. */
export interface ConfigurationDocument {
  readonly bytes: Buffer;
  readonly layout: Layout;
  /** The key lists in the file, in the order that the keys have. */
  readonly lists: readonly KeyList[];
  /** True if the first list is the one for new keys; false if that one has to be created. */
  readonly hasHome: boolean;
  /** The number of places for keys in the file, with or without a list. */
  readonly keyPlaces: number;
  /** The legacy key list, whose keys are not in force; null without one. */
  readonly legacyList: PlacedLegacyList | null;
  /** The places where something other than a list of keys, or of inbounds with keys, is found. */
  readonly wrongLists: readonly string[];
  /** The names of the members of the root. */
  readonly members: ReadonlySet<string>;
}

/** A legacy key list: the places of its elements, and whether a server that has read it continues to read the file. */
export interface PlacedLegacyList {
  readonly list: KeyList;
  readonly takenAtReload: boolean;
}

/** The result of `readDocument`. The document holds no reference to the configuration. */
export interface ReadConfiguration {
  readonly document: ConfigurationDocument;
  readonly configuration: ServerConfiguration;
}

/** Everything that either layout reads; only the names of the rest. */
export const ROOT_SHAPE: Shape = {
  members: { ...accessKeysLayout.shapes, ...inboundsLayout.shapes, ...PUBLISHED_SHAPES },
};

/**
 * Reads a configuration file (protocol: "Configuration file"), JSON with comments. Values of a wrong type never throw:
 * they are ignored and named in `warnings`. Throws `JsonSyntaxError`, and `ConfigurationShapeError` if the root is not
 * an object or the bytes are not UTF-8.
 */
export function readDocument(bytes: Buffer): ReadConfiguration {
  return finish(readDocumentSteps(bytes));
}

/** Does what `readDocument` does, in steps. */
export function* readDocumentSteps(bytes: Buffer): Steps<ReadConfiguration> {
  const root = yield* readRootSteps(bytes, ROOT_SHAPE);
  const document = yield* documentInSteps(bytes, root);
  return { document, configuration: yield* readConfiguration(bytes, root, document.layout) };
}

/** Finds only the lists of keys, in steps. Throws as `readDocument` does. */
export function* locateKeysSteps(bytes: Buffer): Steps<ConfigurationDocument> {
  return yield* documentInSteps(bytes, yield* readRootSteps(bytes, ROOT_SHAPE));
}

function* documentInSteps(bytes: Buffer, root: ObjectNode): Steps<ConfigurationDocument> {
  const members = yield* namesOfSteps(root);
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
    members,
  };
}

function legacyListOf(bytes: Buffer, root: ObjectNode): PlacedLegacyList | null {
  const node = memberOf(root, 'access_keys');
  if (node?.kind !== 'keys') return null;
  const { hashes, takenAtReload } = readLegacyList(bytes, node);
  return { list: { ...node.list, hashes }, takenAtReload };
}

/** Returns the parts that are lost when another document replaces this one. */
export function lossesBetween(before: ConfigurationDocument, after: ConfigurationDocument) {
  const hasInbound = ({ layout, keyPlaces }: ConfigurationDocument) => layout === inboundsLayout && keyPlaces > 0;
  /** A file with inbounds for keys becomes one without, as happens when a panel sends an old copy back. */
  const losesInbounds = hasInbound(before) && !hasInbound(after);
  const lost = [...before.members].filter((name) => !after.members.has(name));
  return { losesInbounds, lostMembers: losesInbounds ? lost.filter((name) => name !== 'inbounds') : lost };
}

/** Counts the elements of key lists that are not plain strings. */
export function objectsIn({ bytes, lists }: ConfigurationDocument): number {
  const isObject = (start: number) => bytes[start] === OPEN_OBJECT;
  return lists.reduce((count, { starts }) => count + starts.filter(isObject).length, 0);
}

const OPEN_OBJECT = 0x7b;

function* namesOfSteps({ members }: ObjectNode): Steps<ReadonlySet<string>> {
  const pace = new Pace();
  const names = new Set<string>();
  for (const { name } of members) {
    names.add(name);
    if (pace.isDue()) yield;
  }
  return names;
}

/** Returns the root object of a file. Throws as `readDocument` does. */
export function readRoot(bytes: Buffer, shape: Shape): ObjectNode {
  return finish(readRootSteps(bytes, shape));
}

/** Does what `readRoot` does, in steps. */
export function* readRootSteps(bytes: Buffer, shape: Shape): Steps<ObjectNode> {
  if (!isUtf8(bytes)) throw new ConfigurationShapeError('the file is not valid UTF-8');
  const scanner = createScanner(bytes, true);
  const root = yield* readValueSteps(scanner, shape);
  expectEnd(scanner);
  if (root.kind !== 'object') throw new ConfigurationShapeError('the root: expected an object');
  yield* memberIndexSteps(root);
  return root;
}

/**
 * Returns the layout of a file: the one with inbounds if it has a root array `inbounds`, else the other. Servers that
 * read a root `access_keys` ignore inbounds, and the others require one for keys; so if the file has that list,
 * inbounds for neither keys nor the API are disregarded.
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
  // Kept apart from the other warnings, which may be too many to be shown in full.
  const others = createWarnings();
  warnOfOtherLayout(bytes, root, layout, keys, others);
  const listener = layout.readListener(root, warnings);
  const listen = layout.readListen(root, warnings);
  const outbound = layout.readOutbound(root, warnings);
  const dns = readDns(root, warnings);
  const published = readPublished(root, warnings);
  return { mode, keys, listener, listen, outbound, dns, published, warnings: [...others.list(), ...warnings.list()] };
}

/** Warns about parts of one layout in a file of the other that could be mistaken for effective ones. */
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
    else if (!isAbsent(list)) warnings.add('access_keys', 'it is not read in a file with inbounds');
  } else if (isOtherThanArray(memberOf(root, 'inbounds'))) {
    warnings.add('inbounds', 'expected an array; it is ignored, and the keys are those of access_keys');
  }
}

function isOtherThanArray(node: ValueNode | undefined): boolean {
  return !isAbsent(node) && node.kind !== 'array';
}

/** Returns the keys of all lists; of equal ones the last. */
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
