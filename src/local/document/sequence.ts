import { commentEnd, skipTrivia } from '../../wire/json/scanner.js';
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

/** How the items of one sequence stand. */
export interface SequenceStyle extends TextStyle {
  /** The indentation of a new item's line. */
  readonly indent: string;
}

const QUOTE = 0x22;
const LF = 0x0a;
const HASH = 0x23;
const SLASH = 0x2f;

/** The style of a sequence: of its last items, or, where it has none, of the line that it is on. */
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

/** True when the line's first text is a member's name, so that what stands there is on a line of its own. */
function startsWithName(bytes: Buffer, at: number): boolean {
  let first = lineStart(bytes, at);
  while (isBlank(bytes[first])) first += 1;
  return bytes[first] === QUOTE;
}

/**
 * Removes items (indexes rising) with one comma each, and with their lines when nothing but blanks is left there.
 * Comments outside the items stay. An item with a kept one behind it takes the comma after it, the last ones those before.
 * With `followed` new items come behind the last kept one, and the comma there stays for them.
 */
export function removeItems(bytes: Buffer, sequence: Sequence, removed: readonly number[], followed = false): Splice[] {
  const { starts, ends } = sequence;
  let tail = starts.length;
  let inner = removed.length;
  while (inner > 0 && removed[inner - 1] === tail - 1) {
    tail -= 1;
    inner -= 1;
  }
  const cuts: Cut[] = [];
  for (let i = 0; i < removed.length; i += 1) {
    const item = removed[i] ?? 0;
    const end = ends[item] ?? 0;
    const own = { from: starts[item] ?? 0, to: end, item: true, last: i >= inner };
    const spared = followed && item === tail;
    const comma =
      i < inner ? skipTrivia(bytes, end) : item > 0 && !spared ? skipTrivia(bytes, ends[item - 1] ?? 0) : null;
    const its = comma === null ? [] : [{ from: comma, to: comma + 1, item: false, last: i >= inner }];
    for (const cut of i < inner ? [own, ...its] : [...its, own]) addCut(bytes, cuts, cut);
  }
  return cuts.map((cut) => tidyCut(bytes, cut));
}

/** Bytes to take out: an item, a comma, or several of them with blanks between. */
interface Cut {
  readonly from: number;
  readonly to: number;
  /** It begins with an item, not with a comma. */
  readonly item: boolean;
  /** No item is kept behind it. */
  readonly last: boolean;
}

/** Cuts with only blanks between become one. */
function addCut(bytes: Buffer, cuts: Cut[], cut: Cut): void {
  const previous = cuts.at(-1);
  if (previous !== undefined && onlyBlanks(bytes, previous.to, cut.from)) {
    cuts[cuts.length - 1] = { ...previous, to: cut.to, last: cut.last };
  } else {
    cuts.push(cut);
  }
}

/** Widens a cut to its whole line where nothing else is on it, else by the blanks that it would leave doubled. */
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
 * Puts items behind the one at index `after`, -1 standing for the opening bracket. A comment that follows that item on
 * its line stays with it, so the new ones come after the comment. With `last` nothing stays behind them: the items that
 * follow, if any, are removed by `removeItems`.
 */
export function insertItems(
  bytes: Buffer,
  sequence: Sequence,
  after: number,
  texts: readonly string[],
  style: SequenceStyle,
  last = false,
): Splice[] {
  const { starts, ends } = sequence;
  const count = starts.length;
  if (texts.length === 0) return [];
  if (count === 0) return [fillEmpty(bytes, sequence, texts, style)];
  const line = `${style.eol}${style.indent}`;
  const separator = style.manyLines ? line : style.gap;
  const next = starts[after + 1];
  if (after === -1) {
    const first = starts[0] ?? 0;
    return [splice(first, first, texts.map((text) => `${text},${separator}`).join(''))];
  }
  const end = ends[after] ?? 0;
  const comma = next === undefined ? end : skipTrivia(bytes, end) + 1;
  const tail = commentsOnLine(bytes, comma);
  // A comment with an item behind it on the same line belongs to that item.
  const at = next !== undefined && !hasLineEnd(bytes, tail.end, next) ? { end: comma, line: false } : tail;
  const lead = at.line ? line : separator;
  const body = `${lead}${texts.join(`,${separator}`)}`;
  if (next !== undefined) return [splice(at.end, at.end, last ? body : `${body},`)];
  return at.end === end ? [splice(end, end, `,${body}`)] : [splice(end, end, ','), splice(at.end, at.end, body)];
}

/** Where the comments end that follow on the same line; `line` says that the last of them ends with its line. */
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
  const line = `${style.eol}${style.indent}`;
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

/** True when a comment stands between two offsets of a valid text, outside its strings. */
export function hasComment(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    if (bytes[at] === QUOTE) at = stringEnd(bytes, at);
    else if (bytes[at] === HASH || bytes[at] === SLASH) return true;
  }
  return false;
}

function stringEnd(bytes: Buffer, open: number): number {
  let at = open + 1;
  while (bytes[at] !== QUOTE) at += bytes[at] === 0x5c ? 2 : 1;
  return at;
}
