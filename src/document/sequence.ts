import { finish, mappedSteps, Pace, type Steps } from '../core/steps.js';
import { commentEnd, skipTrivia } from '../wire/json/scanner.js';
import { type Splice, splice } from './splice.js';
import { hasLineEnd, isBlank, lineIndent, lineStart, onlyBlanks, type TextStyle } from './style.js';

/** An array's elements or an object's members: everything between two brackets, separated by commas. */
export interface Sequence {
  /** The offsets of the brackets. */
  readonly open: number;
  readonly close: number;
  readonly starts: ArrayLike<number>;
  readonly ends: ArrayLike<number>;
}

/** The layout of the items of one sequence. */
export interface SequenceStyle extends TextStyle {
  /** The indentation of a new item's line. */
  readonly indent: string;
}

const QUOTE = 0x22;
const LF = 0x0a;
const HASH = 0x23;
const SLASH = 0x2f;
const BACKSLASH = 0x5c;

/** Returns the style of a sequence: that of its last items or, if it is empty, of its line. */
export function sequenceStyle(bytes: Buffer, sequence: Sequence, base: TextStyle): SequenceStyle {
  const { open, close, starts, ends } = sequence;
  const count = starts.length;
  const last = starts[count - 1];
  if (last === undefined) {
    const broken = hasLineEnd(bytes, open, close);
    const manyLines = broken || (base.manyLines && startsWithName(bytes, open));
    return { ...base, manyLines, indent: lineIndent(bytes, open) + base.unit };
  }
  const before = count > 1 ? (ends[count - 2] ?? open) : open;
  const manyLines = hasLineEnd(bytes, before, last);
  const spaces = count > 1 ? bytes.toString('latin1', skipTrivia(bytes, before) + 1, last) : base.gap;
  const gap = /^[ \t]*$/.test(spaces) ? spaces : base.gap;
  return { ...base, manyLines, gap, indent: lineIndent(bytes, last) };
}

/** Tells whether the line begins with a member's name, so that its content has a line of its own. */
function startsWithName(bytes: Buffer, at: number): boolean {
  let first = lineStart(bytes, at);
  while (isBlank(bytes[first])) first += 1;
  return bytes[first] === QUOTE;
}

/**
 * Removes items (indexes rising) with one comma each, and with their lines if only blanks are left there. Comments
 * outside the items stay. An item before a kept one takes the comma after it, the last items those before them. With
 * `followed`, new items come after the last kept one, and the comma there stays for them.
 */
export function removeItems(bytes: Buffer, sequence: Sequence, removed: readonly number[], followed = false): Splice[] {
  return finish(removeItemsSteps(bytes, sequence, removed, followed, new Pace()));
}

/** Does what `removeItems` does, in steps. */
export function* removeItemsSteps(
  bytes: Buffer,
  sequence: Sequence,
  removed: readonly number[],
  followed: boolean,
  pace: Pace,
): Steps<Splice[]> {
  const { starts, ends } = sequence;
  const tail = startOfTail(starts.length, removed);
  const cuts: Cut[] = [];
  for (const item of removed) {
    const last = item >= tail;
    const end = ends[item] ?? 0;
    const own: Cut = { from: starts[item] ?? 0, to: end, item: true, last };
    const comma = (at: number): Cut => ({ from: at, to: at + 1, item: false, last });
    const which = commaOf(item, tail, followed);
    if (which === 'before') addCut(bytes, cuts, comma(skipTrivia(bytes, ends[item - 1] ?? 0)));
    addCut(bytes, cuts, own);
    if (which === 'behind') addCut(bytes, cuts, comma(skipTrivia(bytes, end)));
    if (pace.isDue()) yield;
  }
  return yield* mappedSteps(cuts, (cut) => tidyCut(bytes, cut), pace);
}

/** Returns the index from which on every item is removed. */
function startOfTail(count: number, removed: readonly number[]): number {
  let tail = count;
  for (let i = removed.length - 1; i >= 0 && removed[i] === tail - 1; i -= 1) tail -= 1;
  return tail;
}

/** Chooses the comma to remove with an item. */
function commaOf(item: number, tail: number, followed: boolean): 'behind' | 'before' | 'none' {
  if (item < tail) return 'behind';
  if (item === 0) return 'none'; // Nothing precedes the first.
  return followed && item === tail ? 'none' : 'before';
}

/** Bytes to remove: an item, a comma, or several of them with blanks between. */
interface Cut {
  readonly from: number;
  readonly to: number;
  /** True if it begins with an item, not with a comma. */
  readonly item: boolean;
  /** True if no later item is kept. */
  readonly last: boolean;
}

/** Adds a cut; cuts with only blanks between them become one. */
function addCut(bytes: Buffer, cuts: Cut[], cut: Cut): void {
  const previous = cuts.at(-1);
  if (previous !== undefined && onlyBlanks(bytes, previous.to, cut.from)) {
    cuts[cuts.length - 1] = { ...previous, to: cut.to, last: cut.last };
  } else {
    cuts.push(cut);
  }
}

/** Widens a cut to its whole line if that is otherwise empty, else by the blanks that it would leave doubled. */
function tidyCut(bytes: Buffer, cut: Cut): Splice {
  let from = cut.from;
  while (from > 0 && isBlank(bytes[from - 1])) from -= 1;
  let to = cut.to;
  while (isBlank(bytes[to])) to += 1;
  const startsLine = from === 0 || bytes[from - 1] === LF;
  const endsLine = to === bytes.length || bytes[to] === LF;
  if (startsLine && endsLine) return splice(from, Math.min(to + 1, bytes.length), '');
  if (startsLine) return splice(cut.from, to, '');
  if (endsLine || cut.last) return splice(from, cut.to, '');
  return splice(cut.from, cut.item ? to : cut.to, '');
}

/**
 * Puts items after the one at index `after`, or after the opening bracket for -1. A comment that follows that item on
 * its line stays with it, so the new ones come after the comment. With `last` nothing stays after them: `removeItems`
 * removes the items that follow, if any.
 */
export function insertItems(
  bytes: Buffer,
  sequence: Sequence,
  after: number,
  texts: readonly string[],
  style: SequenceStyle,
  last = false,
): Splice[] {
  const { starts } = sequence;
  if (texts.length === 0) return [];
  if (starts.length === 0) return [fillEmpty(bytes, sequence, texts, style)];
  if (after === -1) return [insertInFront(bytes, sequence, texts, style)];
  const end = sequence.ends[after] ?? 0;
  const next = starts[after + 1];
  if (next === undefined) return insertAtEnd(bytes, end, texts, style);
  return [insertBetween(bytes, { end, next }, texts, style, last)];
}

/** Inserts at the front, before the comments of the first item; each new item brings the comma after it. */
function insertInFront(
  bytes: Buffer,
  { open, starts }: Sequence,
  texts: readonly string[],
  style: SequenceStyle,
): Splice {
  const tail = commentsOnLine(bytes, open + 1);
  // A comment before an item on the same line belongs to that item, else to the bracket.
  const first = starts[0] ?? 0;
  const at = skipBlanks(bytes, hasLineEnd(bytes, tail.end, first) ? tail.end : open + 1);
  const separator = separatorOf(style);
  // A comment on a line of its own keeps it.
  const last = hasLineEnd(bytes, at, first) ? lineOf(style) : separator;
  return splice(at, at, `${texts.join(`,${separator}`)},${last}`);
}

/** Inserts between items. The previous one has its comma; the new ones bring one for the next, if that stays. */
function insertBetween(
  bytes: Buffer,
  { end, next }: { readonly end: number; readonly next: number },
  texts: readonly string[],
  style: SequenceStyle,
  last: boolean,
): Splice {
  const comma = skipTrivia(bytes, end) + 1;
  const tail = commentsOnLine(bytes, comma);
  // A comment before an item on the same line belongs to that item.
  const at = hasLineEnd(bytes, tail.end, next) ? tail : { end: comma, line: false };
  return splice(at.end, at.end, `${bodyBehind(at, texts, style)}${last ? '' : ','}`);
}

/** Inserts at the end. The previous item gets its comma directly after it, even if a comment follows. */
function insertAtEnd(bytes: Buffer, end: number, texts: readonly string[], style: SequenceStyle): Splice[] {
  const at = commentsOnLine(bytes, end);
  const body = bodyBehind(at, texts, style);
  return at.end === end ? [splice(end, end, `,${body}`)] : [splice(end, end, ','), splice(at.end, at.end, body)];
}

function bodyBehind({ line }: { readonly line: boolean }, texts: readonly string[], style: SequenceStyle): string {
  const separator = separatorOf(style);
  return `${line ? lineOf(style) : separator}${texts.join(`,${separator}`)}`;
}

function separatorOf(style: SequenceStyle): string {
  return style.manyLines ? lineOf(style) : style.gap;
}

/** Returns a line break and indentation for an item. */
function lineOf({ eol, indent }: SequenceStyle): string {
  return `${eol}${indent}`;
}

/** Returns the end of the comments on the same line; `line` says that the last of them ends with its line. */
function commentsOnLine(bytes: Buffer, from: number): { readonly end: number; readonly line: boolean } {
  let end = from;
  let line = false;
  for (let at = from; ; ) {
    while (isBlank(bytes[at])) at += 1;
    if (bytes[at] !== HASH && bytes[at] !== SLASH) return { end, line };
    line = bytes[at] === HASH || bytes[at + 1] === SLASH;
    end = commentEnd(bytes, at);
    at = end;
  }
}

function fillEmpty(bytes: Buffer, sequence: Sequence, texts: readonly string[], style: SequenceStyle): Splice {
  const { open, close } = sequence;
  let at = open + 1;
  for (let next = skipBlanks(bytes, at); next < close; next = skipBlanks(bytes, at)) at = commentEnd(bytes, next);
  const broken = hasLineEnd(bytes, at, close);
  const line = lineOf(style);
  if (style.manyLines) {
    const body = `${line}${texts.join(`,${line}`)}`;
    return broken ? splice(at, at, body) : splice(at, close, `${body}${style.eol}${lineIndent(bytes, open)}`);
  }
  const pad = bytes[open] === 0x7b ? style.pad : '';
  const body = texts.join(`,${style.gap}`);
  return at === open + 1 ? splice(at, close, `${pad}${body}${pad}`) : splice(at, at, `${style.gap}${body}`);
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (isBlank(bytes[at]) || bytes[at] === LF) at += 1;
  return at;
}

/** Returns the end of the string that opens here, exclusive. */
function stringEnd(bytes: Buffer, open: number): number {
  let at = open + 1;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** A comment with its span; that of a line comment excludes the line break. */
export interface Comment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Lists the comments between two offsets of a valid text, neither of which is inside a string or a comment. */
export function commentsBetween(bytes: Buffer, from: number, to: number): readonly Comment[] {
  const comments: Comment[] = [];
  for (let at = from; at < to; ) {
    const byte = bytes[at];
    if (byte === HASH || byte === SLASH) {
      const end = commentEnd(bytes, at);
      comments.push({ start: at, end, text: bytes.toString('utf8', at, end) });
      at = end;
    } else at = byte === QUOTE ? stringEnd(bytes, at) : at + 1;
  }
  return comments;
}
