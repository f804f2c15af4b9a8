import { isBare, keyFields } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { createScanner } from '../wire/json/scanner.js';
import type { Layout } from './layout.js';
import { isAbsent } from './reading.js';
import { commentsBetween, insertItems, removeItems, type Sequence, sequenceStyle } from './sequence.js';
import { applySplices, splice } from './splice.js';
import { objectStyle, type Rendered, renderMember, renderValue, type TextStyle } from './style.js';
import { memberOf, type ObjectNode, readTree } from './tree.js';

/** Returns the text of a new element: a bare string if the layout allows one, else an object. */
export function renderElement(record: AccessKey, layout: Layout, style: TextStyle, indent: string): string {
  const isString = layout.bareStrings && isBare(record);
  return isString ? JSON.stringify(record.accessKey) : renderValue(membersFor(record, layout.keyMember), style, indent);
}

/** Returns the members of an element that is an object: the key and its columns. */
export function membersFor(record: AccessKey, keyMember: string): ReadonlyMap<string, Rendered> {
  const members = new Map<string, Rendered>([[keyMember, record.accessKey]]);
  for (const { name, member } of keyFields) {
    const value = record[name];
    if (value !== null) members.set(member, value);
  }
  return members;
}

/**
 * Changes an element to another record; unknown members, comments and the order of members stay. Null if it already has
 * the record. `style` and `indent` are for a bare string that becomes an object.
 */
export function changeElement(
  element: Buffer,
  record: AccessKey,
  layout: Layout,
  style: TextStyle,
  indent: string,
): Buffer | null {
  if (element[0] !== OPEN_OBJECT) {
    if (isBare(record)) return null;
    return Buffer.from(renderElement(record, { ...layout, bareStrings: false }, style, indent));
  }
  let changed = element;
  const behind = [layout.keyMember];
  for (const { name, member } of keyFields) {
    changed = setMember(changed, member, record[name], behind, style);
    behind.unshift(member);
  }
  if (changed === element) return null;
  return layout.bareStrings ? asBareString(changed, layout.keyMember) : changed;
}

const OPEN_OBJECT = 0x7b;

/** Returns the key's own text if nothing else is left in an element, else the element. */
function asBareString(element: Buffer, keyMember: string): Buffer {
  const node = readElement(element);
  const key = memberOf(node, keyMember);
  const bare = node.members.every(({ name, value }) => name === keyMember || (KNOWN.has(name) && isAbsent(value)));
  if (!bare || key === undefined || commentsBetween(element, 0, element.length).length > 0) return element;
  return element.subarray(key.start, key.end);
}

const KNOWN: ReadonlySet<string> = new Set(keyFields.map(({ member }) => member));

/** Sets a member or, for null, removes it; a new one is put after the first of `behind` that exists. */
function setMember(
  element: Buffer,
  name: string,
  value: string | bigint | null,
  behind: readonly string[],
  style: TextStyle,
): Buffer {
  const node = readElement(element);
  const present = memberOf(node, name);
  if (value === null) {
    if (isAbsent(present)) return element;
    const indexes = node.members.flatMap((member, index) => (member.name === name ? [index] : []));
    return applySplices(element, removeItems(element, membersOf(node), indexes));
  }
  if (present !== undefined) {
    if ((present.kind === 'string' || present.kind === 'integer') && present.value === value) return element;
    return applySplices(element, [splice(present.start, present.end, renderValue(value, style, ''))]);
  }
  const found = behind.find((other) => memberOf(node, other) !== undefined);
  const after = node.members.findLastIndex((member) => member.name === found);
  const members = membersOf(node);
  const own = sequenceStyle(element, members, styleOf(element, node, style));
  return applySplices(element, insertItems(element, members, after, [renderMember(name, value, own, own.indent)], own));
}

/** Returns an object's own style, or that of `base` if it is empty. */
export function styleOf(bytes: Buffer, node: ObjectNode, base: TextStyle): TextStyle {
  const [first] = node.members;
  if (first === undefined) return base;
  const name = { start: first.start, end: first.nameEnd };
  return objectStyle(bytes, { open: node.start, name, valueStart: first.value.start }, base);
}

export function membersOf(node: ObjectNode): Sequence {
  return {
    open: node.start,
    close: node.end - 1,
    starts: node.members.map(({ start }) => start),
    ends: node.members.map(({ value }) => value.end),
  };
}

/** Reads the object that starts at an offset. */
export function readElement(bytes: Buffer, at = 0): ObjectNode {
  const node = readTree(createScanner(bytes, true, at));
  if (node.kind !== 'object') throw new TypeError('a key element is no object');
  return node;
}
