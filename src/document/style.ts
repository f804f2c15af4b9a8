import { createScanner, enter, Token, toValue } from '../wire/json/scanner.js';

/** A value to write; a map is an object whose members keep the map's order. */
export type Rendered = string | bigint | number | boolean | null | readonly Rendered[] | ReadonlyMap<string, Rendered>;

/** How a file, or an object in it, is laid out. */
export interface TextStyle {
  /** Its line break. */
  readonly eol: string;
  /** One level of indentation. */
  readonly unit: string;
  /** The text between a member's name and its value. */
  readonly colon: string;
  /** The blanks after a comma on one line. */
  readonly gap: string;
  /** The blanks inside the braces of an object on one line. */
  readonly pad: string;
  /** True if items have lines of their own. */
  readonly manyLines: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;
const TAB = 0x09;

/** Tells whether a byte is a blank, a tab or a carriage return. */
export function isBlank(byte: number | undefined): boolean {
  return byte === BLANK || byte === TAB || byte === CR;
}

/** Tells whether there are only blanks and line breaks between two offsets. */
export function onlyBlanks(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (!isBlank(bytes[at]) && bytes[at] !== LF) return false;
  return true;
}

/** Tells whether a line ends between two offsets. */
export function hasLineEnd(bytes: Buffer, from: number, to: number): boolean {
  return bytes.subarray(from, to).includes(LF);
}

/**
 * The longest distance over which the start of a line is sought; otherwise a file on one line would be searched for
 * each place in it.
 */
const LONGEST_LINE = 1 << 14;

/** Returns the start of the line that this offset is on; for a very long line the offset itself. */
export function lineStart(bytes: Buffer, at: number): number {
  const first = Math.max(0, at - LONGEST_LINE);
  const feed = bytes.subarray(first, at).lastIndexOf(LF);
  return feed >= 0 || first === 0 ? first + feed + 1 : at;
}

/** Returns the blanks at the start of this offset's line, up to the offset. */
export function lineIndent(bytes: Buffer, at: number): string {
  const start = lineStart(bytes, at);
  let end = start;
  while (end < at && (bytes[end] === BLANK || bytes[end] === TAB)) end += 1;
  return bytes.toString('latin1', start, end);
}

/** Returns the style of a file whose root is an object, from its first lines. */
export function fileStyle(bytes: Buffer): TextStyle {
  const scanner = createScanner(bytes, true);
  const feed = bytes.indexOf(LF);
  const eol = feed > 0 && bytes[feed - 1] === CR ? '\r\n' : '\n';
  const none = { eol, unit: '  ', colon: ': ', gap: ' ', pad: '', manyLines: true };
  const open = scanner.start;
  if (scanner.kind !== Token.openObject || !enter(scanner)) return none;
  const name = { start: scanner.start, end: scanner.end };
  toValue(scanner);
  return objectStyle(bytes, { open, name, valueStart: scanner.start }, none);
}

/** The beginning of an object with a member: its brace, its first member's name, and that member's value. */
export interface ObjectHead {
  readonly open: number;
  readonly name: { readonly start: number; readonly end: number };
  readonly valueStart: number;
}

/** Returns the style of one object; what it does not show comes from `base`. */
export function objectStyle(bytes: Buffer, head: ObjectHead, base: TextStyle): TextStyle {
  const { open, name, valueStart } = head;
  const manyLines = hasLineEnd(bytes, open, name.start);
  const between = bytes.toString('latin1', name.end, valueStart);
  const colon = /^[ \t]*:[ \t]*$/.test(between) ? between : base.colon;
  const inner = bytes.toString('latin1', open + 1, name.start);
  const outer = lineIndent(bytes, open);
  const indent = lineIndent(bytes, name.start);
  return {
    eol: base.eol,
    unit: manyLines && indent.startsWith(outer) ? indent.slice(outer.length) : base.unit,
    colon,
    gap: colon === ':' && !manyLines ? '' : ' ',
    pad: !manyLines && /^[ \t]*$/.test(inner) ? inner : '',
    manyLines,
  };
}

/** Returns the text of a value; `indent` is that of the line it starts on. */
export function renderValue(value: Rendered, style: TextStyle, indent: string): string {
  if (value instanceof Map) {
    const members = [...value].map(([name, member]) => renderMember(name, member, style, indent + style.unit));
    return renderItems('{', members, '}', style, indent);
  }
  if (isRenderedArray(value)) {
    const elements = value.map((element) => renderValue(element, style, indent + style.unit));
    return renderItems('[', elements, ']', style, indent);
  }
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
}

/** Returns the text of a member; `indent` is that of the line it starts on. */
export function renderMember(name: string, value: Rendered, style: TextStyle, indent: string): string {
  return `${JSON.stringify(name)}${style.colon}${renderValue(value, style, indent)}`;
}

/** Returns items between two brackets, in one style; `indent` is that of the line they start on. */
export function renderItems(
  open: string,
  items: readonly string[],
  close: string,
  style: TextStyle,
  indent: string,
): string {
  if (items.length === 0) return open + close;
  const { first, between, last } = itemsFrame(open, close, style, indent);
  return `${first}${items.join(between)}${last}`;
}

/** Returns the text before, between and after items. */
export function itemsFrame(open: string, close: string, style: TextStyle, indent: string) {
  if (!style.manyLines) {
    const pad = open === '{' ? style.pad : '';
    return { first: `${open}${pad}`, between: `,${style.gap}`, last: `${pad}${close}` };
  }
  const line = `${style.eol}${indent}${style.unit}`;
  return { first: `${open}${line}`, between: `,${line}`, last: `${style.eol}${indent}${close}` };
}

/** Needed because `Array.isArray` does not narrow a readonly array. */
export function isRenderedArray(value: Rendered): value is readonly Rendered[] {
  return Array.isArray(value);
}
