import { DomainError } from '../core/errors.js';
import { FILE_LIMITS, limitWords } from '../core/file-limits.js';
import { finish, mappedSteps, Pace, type Steps } from '../core/steps.js';
import { styleOf } from './element.js';
import { insertItems, removeItemsSteps, type Sequence, type SequenceStyle, sequenceStyle } from './sequence.js';
import { applySplicesSteps, type Splice, sortSplicesSteps, splice } from './splice.js';
import { fileStyle, itemsFrame, lineIndent, type Rendered, type TextStyle } from './style.js';
import type { ArrayNode, MemberNode, ObjectNode, ValueNode } from './tree.js';
import { type ArrayValue, expectLevel, newValue, type ObjectValue, objectWith, type Value, weightOf } from './value.js';

/**
 * The factor by which indentation may enlarge the values of a patch, as it may those of a replacement; a MiB is always
 * allowed.
 */
const MOST_GROWTH = 16;
const ALWAYS_WRITTEN = 1024 * 1024;

/**
 * Returns the smallest edit after which the part of the bytes at `at` has this value: members and items that stay keep
 * their bytes, and a member that takes over the value of a removed one is only renamed. `brought` is the number of bytes
 * that come from a patch. Throws `configFormatFailed` before more is written than is allowed.
 */
export function* editSteps(
  bytes: Buffer,
  at: ValueNode,
  root: Value,
  brought: number,
  pace: Pace,
): Steps<readonly Splice[]> {
  const left = { brought: Math.max(ALWAYS_WRITTEN, MOST_GROWTH * brought), all: FILE_LIMITS.configuration };
  const editor = new Editor(bytes, fileStyle(bytes), left, pace);
  yield* editor.put(at, root);
  return editor.splices;
}

/** Does what `editSteps` does at once, for a value that no patch brings. */
export function editsOf(bytes: Buffer, at: ValueNode, value: Value): readonly Splice[] {
  return finish(editSteps(bytes, at, value, Number.POSITIVE_INFINITY, new Pace()));
}

/** Sets a member of an object: in place if it has the member, else after its last one. */
export function putMember(bytes: Buffer, owner: ObjectNode, name: string, value: Rendered): readonly Splice[] {
  return editsOf(bytes, owner, objectWith(owner, [[name, newValue(value)]]));
}

export const TOO_LONG = `it would have more than ${limitWords(FILE_LIMITS.configuration)}`;

/** Returns the refusal of a change that would make the configuration larger than allowed. */
export const tooMuch = (reason = TOO_LONG): DomainError => new DomainError('configFormatFailed', reason);

/** Characters that may still be written of values from the patch, and of all values. */
interface Left {
  brought: number;
  all: number;
}

/** A member or an element that a sequence is to have. */
interface PlacedItem {
  /** The text before the value: a member's name with its colon, or nothing. */
  readonly label: string;
  readonly value: Value;
  /** The index of the item that it continues; -1 if it is new. */
  readonly place: number;
}

class Editor {
  readonly splices: Splice[] = [];
  readonly #bytes: Buffer;
  readonly #base: TextStyle;
  readonly #left: Left;
  readonly #pace: Pace;

  constructor(bytes: Buffer, base: TextStyle, left: Left, pace: Pace) {
    this.#bytes = bytes;
    this.#base = base;
    this.#left = left;
    this.#pace = pace;
  }

  /** Replaces a value at a level of the document that results; `style` is that of its container. */
  *put(node: ValueNode, value: Value, style: TextStyle = this.#base, level = 0): Steps<void> {
    if (this.#pace.isDue()) yield;
    if (value.at !== node) yield* this.#replace(node, { label: '', value }, style, level);
    else if (value.isSame) return;
    else if (value.kind === 'object' && node.kind === 'object') yield* this.#editObject(value, node, level);
    else if (value.kind === 'array' && node.kind === 'array') yield* this.#editArray(value, node, level);
    else yield* this.#replace(node, { label: '', value }, style, level);
  }

  *#editObject({ members, isOrdered }: ObjectValue, at: ObjectNode, level: number): Steps<void> {
    expectLevel(level);
    const bytes = this.#bytes;
    const own = yield* this.#sequence(at, at.members);
    const style = sequenceStyle(bytes, own, styleOf(bytes, at, this.#base));
    const label = (name: string) => `${JSON.stringify(name)}${style.colon}`;
    if (isOrdered) {
      const places = new Map(at.members.map(({ name }, index) => [name, index]));
      const nodes = at.members.map(({ value }) => value);
      const items = [...members].map(([name, value]): PlacedItem => {
        const place = places.get(name) ?? -1;
        const member = at.members[place];
        // A member that moves keeps the comments between its name and its value.
        const present = member && bytes.toString('utf8', member.start, member.value.start);
        return { label: present ?? label(name), value, place };
      });
      return yield* this.#editInOrder(items, own, nodes, style, level);
    }
    const last = new Map<string, ValueNode>();
    const removed = new Map<ValueNode, number>();
    for (const [index, { name, value }] of at.members.entries()) {
      last.set(name, value);
      if (!members.has(name)) removed.set(value, index);
      if (this.#pace.isDue()) yield;
    }
    const texts: string[] = [];
    for (const [name, value] of members) {
      const node = last.get(name) ?? this.#rename(at.members, removed, name, value);
      if (node !== undefined) yield* this.put(node, value, style, level + 1);
      else texts.push(`${label(name)}${yield* this.#text(value, style, style.indent, level + 1)}`);
    }
    yield* this.#replaceTail(own, [...removed.values()], texts, style);
  }

  /** Gives a removed member, whose value is taken over under another name, that name. Returns the place of its value. */
  #rename(
    members: readonly MemberNode[],
    removed: Map<ValueNode, number>,
    name: string,
    { at }: Value,
  ): ValueNode | undefined {
    const member = at === null ? undefined : members[removed.get(at) ?? -1];
    if (member === undefined) return undefined;
    removed.delete(member.value);
    this.splices.push(splice(member.start, member.nameEnd, JSON.stringify(name)));
    return member.value;
  }

  /** Returns the places of the members of an object or the elements of an array. */
  *#sequence({ start, end }: ValueNode, items: readonly (MemberNode | ValueNode)[]): Steps<Sequence> {
    const starts = new Float64Array(items.length);
    const ends = new Float64Array(items.length);
    for (const [index, item] of items.entries()) {
      starts[index] = item.start;
      ends[index] = 'nameEnd' in item ? item.value.end : item.end;
      if (this.#pace.isDue()) yield;
    }
    return { open: start, close: end - 1, starts, ends };
  }

  /** Removes items, and puts texts after those that stay. */
  *#replaceTail(
    own: Sequence,
    removed: readonly number[],
    texts: readonly string[],
    style: SequenceStyle,
  ): Steps<void> {
    const count = own.starts.length;
    const [text] = texts;
    if (removed.length === count && text !== undefined && count > 0) {
      // If no element stays, the first new one replaces the first.
      this.splices.push(splice(own.starts[0] ?? 0, own.ends[0] ?? 0, text));
      return yield* this.#replaceTail(own, removed.slice(1), texts.slice(1), style);
    }
    if (removed.length === count && count > 0 && !(yield* this.#hasCommentsBetween(own))) {
      this.splices.push(splice(own.open + 1, own.close, ''));
      return;
    }
    let kept = count - 1;
    for (let index = removed.length - 1; index >= 0 && removed[index] === kept; index -= 1) kept -= 1;
    const isTail = kept < count - 1;
    this.#add(yield* removeItemsSteps(this.#bytes, own, removed, isTail && texts.length > 0, this.#pace));
    this.#add(insertItems(this.#bytes, own, kept, texts, style, isTail));
  }

  /** Tells whether there are comments outside the items. */
  *#hasCommentsBetween({ open, close, starts, ends }: Sequence): Steps<boolean> {
    for (let index = 0; index <= starts.length; index += 1) {
      const gap = this.#bytes.subarray(ends[index - 1] ?? open + 1, starts[index] ?? close);
      if (gap.includes(HASH) || gap.includes(SLASH)) return true;
      if (this.#pace.isDue()) yield;
    }
    return false;
  }

  *#editArray({ items }: ArrayValue, at: ArrayNode, level: number): Steps<void> {
    expectLevel(level);
    const own = yield* this.#sequence(at, at.elements);
    const places = new Map<ValueNode, number>();
    for (const [index, node] of at.elements.entries()) {
      places.set(node, index);
      if (this.#pace.isDue()) yield;
    }
    const placed = (value: Value): PlacedItem => {
      return { label: '', value, place: value.at === null ? -1 : (places.get(value.at) ?? -1) };
    };
    const wanted = yield* mappedSteps(items, placed, this.#pace);
    yield* this.#editInOrder(wanted, own, at.elements, sequenceStyle(this.#bytes, own, this.#base), level);
  }

  /** Edits between items that stay in this order: new ones replace removed ones, as far as there are any. */
  *#editInOrder(
    items: readonly PlacedItem[],
    own: Sequence,
    nodes: readonly ValueNode[],
    style: SequenceStyle,
    level: number,
  ): Steps<void> {
    const places = yield* mappedSteps(items, ({ place }) => place, this.#pace);
    const staying = yield* risingSteps(places, this.#pace);
    const removed: number[] = [];
    let waiting: PlacedItem[] = [];
    let next = 0;
    for (const [index, item] of [...items, null].entries()) {
      const place = item === null ? nodes.length : (staying[index] ?? -1);
      if (item !== null && place === -1) {
        waiting.push(item);
        continue;
      }
      for (let gone = next; gone < place; gone += 1) {
        const one = waiting[gone - next];
        if (one === undefined) removed.push(gone);
        else yield* this.#replace({ start: own.starts[gone] ?? 0, end: own.ends[gone] ?? 0 }, one, style, level + 1);
      }
      const texts: string[] = [];
      for (const { label, value } of waiting.slice(place - next))
        texts.push(`${label}${yield* this.#text(value, style, style.indent, level + 1)}`);
      this.#add(insertItems(this.#bytes, own, place - 1, texts, style));
      const node = nodes[place];
      if (item !== null && node !== undefined) yield* this.put(node, item.value, style, level + 1);
      waiting = [];
      next = place + 1;
    }
    yield* this.#replaceTail(own, removed, [], style);
  }

  *#replace(
    { start, end }: Pick<ValueNode, 'start' | 'end'>,
    { label, value }: Pick<PlacedItem, 'label' | 'value'>,
    style: TextStyle,
    level: number,
  ): Steps<void> {
    const text = yield* this.#text(value, style, lineIndent(this.#bytes, start), level);
    this.splices.push(splice(start, end, `${label}${text}`));
  }

  #add(splices: readonly Splice[]): void {
    for (const one of splices) this.splices.push(one);
  }

  /** Returns the text of a value; `indent` is that of the line it starts on. */
  *#text(value: Value, style: TextStyle, indent: string, level: number): Steps<string> {
    const parts: string[] = [];
    yield* this.#write(value, style, indent, level, parts);
    return parts.join('');
  }

  *#write(value: Value, style: TextStyle, indent: string, level: number, parts: string[]): Steps<void> {
    if (this.#pace.isDue(weightOf(value))) yield;
    const isBrought = value.at === null;
    const add = (part: string): void => {
      this.#left.all -= part.length;
      if (isBrought) this.#left.brought -= part.length;
      if (this.#left.all < 0) throw tooMuch();
      if (this.#left.brought < 0) throw tooMuch(`it would grow more than ${MOST_GROWTH} times by its indentation`);
      parts.push(part);
    };
    if (value.at !== null && value.isSame) return yield* this.#copy(value.at, [], indent, add);
    if (value.kind === 'keys') return;
    if (value.kind !== 'array' && value.kind !== 'object') {
      return add(value.kind === 'string' ? JSON.stringify(value.text) : value.text);
    }
    expectLevel(level);
    if (value.at?.kind === value.kind) {
      const inner = new Editor(this.#bytes, this.#base, this.#left, this.#pace);
      yield* inner.put(value.at, value, style, level);
      return yield* this.#copy(value.at, inner.splices, indent, add);
    }
    const isArray = value.kind === 'array';
    const { first, between, last } = itemsFrame(isArray ? '[' : '{', isArray ? ']' : '}', style, indent);
    let isFirst = true;
    for (const [name, child] of isArray ? value.items.map((item) => ['', item] as const) : value.members) {
      add(isFirst ? first : between);
      if (!isArray) add(`${JSON.stringify(name)}${style.colon}`);
      yield* this.#write(child, style, indent + style.unit, level + 1, parts);
      isFirst = false;
    }
    add(!isFirst ? last : isArray ? '[]' : '{}');
  }

  /** Adds the document's own text of a value after some splices, with its further lines indented to fit a line with `indent`. */
  *#copy(
    { start, end }: ValueNode,
    splices: readonly Splice[],
    indent: string,
    add: (part: string) => void,
  ): Steps<void> {
    const moved = splices.map(({ from, to, text }) => ({ from: from - start, to: to - start, text }));
    const own = this.#bytes.subarray(start, end);
    const text = moved.length === 0 ? own : yield* applySplicesSteps(own, yield* sortSplicesSteps(moved));
    const present = lineIndent(this.#bytes, start);
    if (present === indent) return add(text.toString('utf8'));
    for (let from = 0; from < text.length; ) {
      const feed = text.indexOf(LF, from);
      const next = feed === -1 ? text.length : feed + 1;
      const line = text.toString('utf8', from, next);
      add(from > 0 && line.startsWith(present) ? indent + line.slice(present.length) : line);
      if (this.#pace.isDue()) yield;
      from = next;
    }
  }
}

const LF = 0x0a;
const HASH = 0x23;
const SLASH = 0x2f;

/** Keeps the longest rising sequence of indexes, ignoring -1; all others become -1. */
function* risingSteps(indexes: readonly number[], pace: Pace): Steps<readonly number[]> {
  /** For each length of a sequence, the position of the least index that ends one. */
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [position, index] of indexes.entries()) {
    if (pace.isDue()) yield;
    previous.push(-1);
    if (index === -1) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((indexes[ends[middle] ?? 0] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    previous[position] = low === 0 ? -1 : (ends[low - 1] ?? -1);
    ends[low] = position;
  }
  const staying = new Array<number>(indexes.length).fill(-1);
  for (let position = ends.at(-1) ?? -1; position !== -1; position = previous[position] ?? -1) {
    staying[position] = indexes[position] ?? -1;
  }
  return staying;
}
