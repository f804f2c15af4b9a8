import { FILE_LIMITS } from '../../core/file-limits.js';
import type { Pace, Steps } from '../../core/steps.js';
import { membersOf, styleOf } from '../element.js';
import { elementsOf } from '../section-changes.js';
import { insertItems, removeItems, type Sequence, type SequenceStyle, sequenceStyle } from '../sequence.js';
import { type Splice, splice } from '../splice.js';
import { fileStyle, itemsFrame, lineIndent, type TextStyle } from '../style.js';
import type { ArrayNode, ObjectNode, ValueNode } from '../tree.js';
import { tooMuch } from './patch.js';
import { type ArrayValue, expectLevel, type ObjectValue, type Value, weightOf } from './value.js';

/** Values that a patch brings may come to so many times their bytes by indentation, as a replacement's may; always to a MiB. */
const MOST_GROWTH = 16;
const ALWAYS_WRITTEN = 1024 * 1024;

/**
 * The smallest edit after which the bytes, whose root is at `at`, say this value: members and items that stay keep their bytes.
 * `brought` is how many bytes of it the patch brings. Throws `configFormatFailed` before more is written than may be.
 */
export function* editSteps(
  bytes: Buffer,
  at: ValueNode,
  root: Value,
  brought: number,
  pace: Pace,
): Steps<readonly Splice[]> {
  const editor = new Editor(bytes, Math.max(ALWAYS_WRITTEN, MOST_GROWTH * brought), pace);
  yield* editor.put(at, root);
  return editor.splices;
}

class Editor {
  readonly splices: Splice[] = [];
  readonly #bytes: Buffer;
  readonly #base: TextStyle;
  readonly #pace: Pace;
  /** Characters that may yet be written of values that the patch brings, and of all. */
  readonly #left: { brought: number; all: number };

  constructor(bytes: Buffer, mostBrought: number, pace: Pace) {
    this.#bytes = bytes;
    this.#base = fileStyle(bytes);
    this.#pace = pace;
    this.#left = { brought: mostBrought, all: FILE_LIMITS.configuration };
  }

  /** Puts a value into the place of one; `style` is that of what it stands in. */
  *put(node: ValueNode, value: Value, style: TextStyle = this.#base): Steps<void> {
    if (this.#pace.isDue()) yield;
    if (value.at !== node) yield* this.#replace(node, value, style);
    else if (value.isSame) return;
    else if (value.kind === 'object' && node.kind === 'object') yield* this.#editObject(value, node);
    else if (value.kind === 'array' && node.kind === 'array') yield* this.#editArray(value, node);
    else yield* this.#replace(node, value, style);
  }

  *#editObject({ members }: ObjectValue, at: ObjectNode): Steps<void> {
    const bytes = this.#bytes;
    const own = membersOf(at);
    const style = sequenceStyle(bytes, own, styleOf(bytes, at, this.#base));
    const last = new Map<string, ValueNode>();
    for (const { name, value } of at.members) {
      last.set(name, value);
      if (this.#pace.isDue()) yield;
    }
    const texts: string[] = [];
    for (const [name, value] of members) {
      const node = last.get(name);
      if (node !== undefined) yield* this.put(node, value, style);
      else texts.push(`${JSON.stringify(name)}${style.colon}${yield* this.#text(value, style, style.indent)}`);
    }
    const removed = at.members.flatMap(({ name }, index) => (members.has(name) ? [] : [index]));
    this.#replaceTail(own, removed, texts, style);
  }

  /** Removes items, and puts texts behind those that stay. */
  #replaceTail(own: Sequence, removed: readonly number[], texts: readonly string[], style: SequenceStyle): void {
    const count = own.starts.length;
    const [text] = texts;
    if (removed.length === count && text !== undefined && count > 0) {
      // The first takes the place of the first where none stays.
      this.splices.push(splice(own.starts[0] ?? 0, own.ends[0] ?? 0, text));
      this.#replaceTail(own, removed.slice(1), texts.slice(1), style);
      return;
    }
    let kept = count - 1;
    for (let index = removed.length - 1; index >= 0 && removed[index] === kept; index -= 1) kept -= 1;
    const isTail = kept < count - 1;
    this.#add(removeItems(this.#bytes, own, removed, isTail && texts.length > 0));
    this.#add(insertItems(this.#bytes, own, kept, texts, style, isTail));
  }

  /** Between items that stay, new ones take the places of those that go, as far as there are any. */
  *#editArray({ items }: ArrayValue, at: ArrayNode): Steps<void> {
    const own = elementsOf(at);
    const style = sequenceStyle(this.#bytes, own, this.#base);
    const staying = yield* this.#staying(items, at);
    const removed: number[] = [];
    let waiting: Value[] = [];
    let next = 0;
    for (const [index, item] of [...items, null].entries()) {
      const place = item === null ? at.elements.length : (staying[index] ?? -1);
      if (item !== null && place === -1) {
        waiting.push(item);
        continue;
      }
      const gone = at.elements.slice(next, place);
      for (const [which, node] of gone.entries()) {
        const value = waiting[which];
        if (value === undefined) removed.push(next + which);
        else yield* this.#replace(node, value, style);
      }
      const texts: string[] = [];
      for (const value of waiting.slice(gone.length)) texts.push(yield* this.#text(value, style, style.indent));
      this.#add(insertItems(this.#bytes, own, place - 1, texts, style));
      const node = at.elements[place];
      if (item !== null && node !== undefined) yield* this.put(node, item, style);
      waiting = [];
      next = place + 1;
    }
    this.#add(removeItems(this.#bytes, own, removed));
  }

  /** By item the index of the element that it leaves in its place; -1 for none. */
  *#staying(items: readonly Value[], at: ArrayNode): Steps<readonly number[]> {
    const places = new Map<ValueNode, number>();
    for (const [index, node] of at.elements.entries()) {
      places.set(node, index);
      if (this.#pace.isDue()) yield;
    }
    return yield* risingSteps(
      items.map((item) => (item.at === null ? -1 : (places.get(item.at) ?? -1))),
      this.#pace,
    );
  }

  *#replace({ start, end }: ValueNode, value: Value, style: TextStyle): Steps<void> {
    this.splices.push(splice(start, end, yield* this.#text(value, style, lineIndent(this.#bytes, start))));
  }

  #add(splices: readonly Splice[]): void {
    for (const one of splices) this.splices.push(one);
  }

  /** The text of a value; `indent` is that of the line it starts on. */
  *#text(value: Value, style: TextStyle, indent: string): Steps<string> {
    const parts: string[] = [];
    yield* this.#write(value, style, indent, 0, parts);
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
    if (value.at !== null && value.isSame) return yield* this.#copy(value.at, indent, add);
    if (value.kind === 'keys') return;
    if (value.kind !== 'array' && value.kind !== 'object') {
      return add(value.kind === 'string' ? JSON.stringify(value.text) : value.text);
    }
    expectLevel(level);
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

  /** Adds the document's own text of a value, with its further lines as far in as one that starts with `indent`. */
  *#copy({ start, end }: ValueNode, indent: string, add: (part: string) => void): Steps<void> {
    const own = lineIndent(this.#bytes, start);
    if (own === indent) return add(this.#bytes.toString('utf8', start, end));
    for (let at = start; at < end; ) {
      const feed = this.#bytes.subarray(at, end).indexOf(LF);
      const next = feed === -1 ? end : at + feed + 1;
      const line = this.#bytes.toString('utf8', at, next);
      add(at > start && line.startsWith(own) ? indent + line.slice(own.length) : line);
      if (this.#pace.isDue()) yield;
      at = next;
    }
  }
}

const LF = 0x0a;

/** The indexes that stay: of these, in which -1 is none, the longest rising sequence; all others become -1. */
function* risingSteps(indexes: readonly number[], pace: Pace): Steps<readonly number[]> {
  /** Per length of a sequence, the position of the least index that ends one. */
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
  const staying = indexes.map(() => -1);
  for (let position = ends.at(-1) ?? -1; position !== -1; position = previous[position] ?? -1) {
    staying[position] = indexes[position] ?? -1;
  }
  return staying;
}
