import type { AccessKey } from '../../core/model.js';
import { createScanner } from '../../wire/json/scanner.js';
import type { Layout } from './layout.js';
import { isAbsent } from './reading.js';
import { hasComment, insertItems, removeItems, type Sequence, sequenceStyle } from './sequence.js';
import { applySplices, type Splice, splice } from './splice.js';
import { objectStyle, type Rendered, renderMember, renderValue, type TextStyle } from './style.js';
import { memberOf, type ObjectNode, readValue } from './tree.js';

/** The text of a new element: a bare string where the layout writes one, else an object. */
export function renderElement(record: AccessKey, layout: Layout, style: TextStyle, indent: string): string {
  const { accessKey, name, limitBytes } = record;
  if (layout.bareStrings && name === null && limitBytes === null) return JSON.stringify(accessKey);
  const members = new Map<string, Rendered>([[layout.keyMember, accessKey]]);
  if (name !== null) members.set('name', name);
  if (limitBytes !== null) members.set('limit_bytes', limitBytes);
  return renderValue(members, style, indent);
}

/**
 * An element with another name and limit: unknown members, comments and the order of members stay. Null when it says so
 * already. `style` and `indent` are for a bare string that becomes an object.
 */
export function changeElement(
  element: Buffer,
  record: AccessKey,
  layout: Layout,
  style: TextStyle,
  indent: string,
): Buffer | null {
  if (element[0] !== OPEN_OBJECT) {
    if (record.name === null && record.limitBytes === null) return null;
    return Buffer.from(renderElement(record, { ...layout, bareStrings: false }, style, indent));
  }
  const named = setMember(element, 'name', record.name, [layout.keyMember], style);
  const limited = setMember(named, 'limit_bytes', record.limitBytes, ['name', layout.keyMember], style);
  if (limited === element) return null;
  return layout.bareStrings ? asBareString(limited, layout.keyMember) : limited;
}

const OPEN_OBJECT = 0x7b;

/** The key's own text when nothing else is left in an element, else the element. */
function asBareString(element: Buffer, keyMember: string): Buffer {
  const node = readElement(element);
  const key = memberOf(node, keyMember);
  const bare = node.members.every(({ name, value }) => name === keyMember || (KNOWN.has(name) && isAbsent(value)));
  if (!bare || key === undefined || hasComment(element, 0, element.length)) return element;
  return element.subarray(key.start, key.end);
}

const KNOWN: ReadonlySet<string> = new Set(['name', 'limit_bytes']);

/** Sets or, for null, removes a member; a new one goes behind the first of `behind` that is there. */
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
  return applySplices(element, insertMember(element, node, after, name, value, style));
}

/** The splices that put a member behind the one at an index (-1: in front), in the style of the object. */
export function insertMember(
  bytes: Buffer,
  node: ObjectNode,
  after: number,
  name: string,
  value: Rendered,
  base: TextStyle,
): Splice[] {
  const members = membersOf(node);
  const own = sequenceStyle(bytes, members, styleOf(bytes, node, base));
  return insertItems(bytes, members, after, [renderMember(name, value, own, own.indent)], own);
}

/** An object's own style; that of `base` when it is empty. */
export function styleOf(bytes: Buffer, node: ObjectNode, base: TextStyle): TextStyle {
  const [first] = node.members;
  if (first === undefined) return base;
  const name = { start: first.start, end: first.nameEnd };
  return objectStyle(bytes, { open: node.start, name, valueStart: first.value.start }, base);
}

/** The members of an object as a sequence. */
export function membersOf(node: ObjectNode): Sequence {
  return {
    open: node.start,
    close: node.end - 1,
    starts: node.members.map(({ start }) => start),
    ends: node.members.map(({ value }) => value.end),
  };
}

/** The object that is known to start at an offset. */
export function readElement(bytes: Buffer, at = 0): ObjectNode {
  const node = readValue(createScanner(bytes, true, at), 'tree');
  if (node.kind !== 'object') throw new TypeError('a key element is no object');
  return node;
}
