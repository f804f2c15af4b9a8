import { ROOT_SHAPE, readRoot } from '../document.js';
import { membersOf, styleOf } from '../element.js';
import { ConfigurationShapeError } from '../layout.js';
import { commentsBetween, insertItems, removeItems, type SequenceStyle, sequenceStyle } from '../sequence.js';
import { applySplices, type Splice, sortSplices, splice } from '../splice.js';
import { fileStyle, lineIndent, renderItems } from '../style.js';
import type { ObjectNode, ValueNode } from '../tree.js';

/** A file during its conversion: bytes, and their root. */
export interface Draft {
  readonly bytes: Buffer;
  readonly root: ObjectNode;
}

/** Reads a file for conversion. Throws as `readDocument` does. */
export function draftOf(bytes: Buffer): Draft {
  return { bytes, root: readRoot(bytes, ROOT_SHAPE) };
}

/** Applies splices, given in any order, to a draft. */
export function edited({ bytes }: Draft, splices: readonly Splice[]): Draft {
  return draftOf(applySplices(bytes, sortSplices(splices)));
}

export function rootStyle({ bytes, root }: Draft): SequenceStyle {
  return sequenceStyle(bytes, membersOf(root), styleOf(bytes, root, fileStyle(bytes)));
}

/** Returns the text of a value from the file, moved to lines with another indentation. */
export function movedText(
  bytes: Buffer,
  node: { readonly start: number; readonly end: number },
  indent: string,
): string {
  const before = lineIndent(bytes, node.start);
  const text = bytes.toString('utf8', node.start, node.end);
  if (before === indent || !text.includes('\n')) return text;
  if (!text.includes('/*')) return text.replaceAll(`\n${before}`, `\n${indent}`);
  // The lines inside a block comment keep their indentation.
  const pieces = /"[^"\\]*(?:\\.[^"\\]*)*"|\/\*[\s\S]*?\*\/|(?:\/\/|#)[^\n]*|\n/g;
  let moved = '';
  let at = 0;
  for (const { 0: piece, index } of text.matchAll(pieces)) {
    if (piece !== '\n' || !text.startsWith(before, index + 1)) continue;
    moved += `${text.slice(at, index + 1)}${indent}`;
    at = index + 1 + before.length;
  }
  return moved + text.slice(at);
}

/** Writes a member whose value has already been written as text. */
export function memberText(name: string, value: string, style: SequenceStyle): string {
  return `${JSON.stringify(name)}${style.colon}${value}`;
}

/** Inserts members, whose values are already text, after the one at an index; -1 inserts them first. */
export function insertMembers(
  bytes: Buffer,
  node: ObjectNode,
  after: number,
  members: readonly (readonly [string, string])[],
  base: SequenceStyle,
): readonly Splice[] {
  const own = sequenceStyle(bytes, membersOf(node), styleOf(bytes, node, base));
  const texts = members.map(([name, text]) => memberText(name, text, own));
  return insertItems(bytes, membersOf(node), after, texts, own);
}

/** Writes an object or array of texts, `depth` levels below the root's members. */
export function itemsText(
  brackets: '{}' | '[]',
  items: readonly string[],
  style: SequenceStyle,
  level: number,
): string {
  return renderItems(brackets.charAt(0), items, brackets.charAt(1), style, style.indent + style.unit.repeat(level));
}

/** Returns the indentation `depth` levels below the root's members. */
export function indentAt(style: SequenceStyle, level: number): string {
  return style.indent + style.unit.repeat(level);
}

/** Refuses an object with two members of one name, because a conversion cannot decide which of them is meant. */
export function refuseRepeated(node: ValueNode | undefined, place: string): void {
  if (node?.kind !== 'object') return;
  const seen = new Set<string>();
  for (const { name } of node.members) {
    const where = place === '' ? name : `${place}.${name}`;
    if (seen.has(name)) throw new ConfigurationShapeError(`${where}: it stands there twice; leave one`);
    seen.add(name);
  }
}

/** Removes members of the root, and one of the blank lines before and after them. */
export function removeFromRoot({ bytes, root }: Draft, names: readonly string[]): readonly Splice[] {
  return removeItems(bytes, membersOf(root), indexesOf(root, names)).map((cut) => {
    const before = bytes.toString('latin1', Math.max(cut.from - 4, 0), cut.from);
    const [blank] = /^\r?\n/.exec(bytes.toString('latin1', cut.to, cut.to + 2)) ?? [''];
    return /\n\r?\n$/.test(before) ? { ...cut, to: cut.to + blank.length } : cut;
  });
}

/** Returns the indexes of members with these names. */
export function indexesOf(node: ObjectNode, names: readonly string[]): readonly number[] {
  return node.members.flatMap(({ name }, index) => (names.includes(name) ? [index] : []));
}

/** Adds the comments of the source that the result has lost, on lines before one of its root members. */
export function withComments(source: Buffer, draft: Draft, anchor: string): Buffer {
  const { bytes, root } = draft;
  const counts = new Map<string, number>();
  for (const { text } of commentsBetween(bytes, contentStart(bytes), bytes.length))
    counts.set(text, (counts.get(text) ?? 0) + 1);
  const missing = commentsBetween(source, contentStart(source), source.length).flatMap(({ text }) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count > 0 ? [] : [text];
  });
  if (missing.length === 0) return bytes;
  const style = rootStyle(draft);
  const line = `${style.eol}${style.manyLines ? style.indent : ''}`;
  const place = (root.members.find(({ name }) => name === anchor) ?? root.members[0])?.start ?? root.end - 1;
  const texts = missing.map((text) => text + (text.startsWith('/*') && !style.manyLines ? ' ' : line));
  return applySplices(bytes, [splice(place, place, texts.join(''))]);
}

/** Returns the offset of the text, after a byte order mark. */
function contentStart(bytes: Buffer): number {
  return bytes[0] === 0xef ? 3 : 0;
}
