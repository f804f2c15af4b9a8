import { membersOf, styleOf } from '../element.js';
import { elementsOf } from '../section-changes.js';
import { insertItems, removeItems, type Sequence, type SequenceStyle, sequenceStyle } from '../sequence.js';
import { type Splice, splice } from '../splice.js';
import { fileStyle, lineIndent, type Rendered, renderMember, renderValue, type TextStyle, Verbatim } from '../style.js';
import type { ArrayNode, ObjectNode, ValueNode } from '../tree.js';
import type { ArrayValue, ObjectValue, Value } from './value.js';

/** The smallest edit after which the root says this value: members and items that stay keep their bytes. */
export function editTo(bytes: Buffer, root: Value): Splice[] {
  const base = fileStyle(bytes);
  return new Editor(bytes, base).edit(root, base);
}

class Editor {
  readonly #bytes: Buffer;
  readonly #base: TextStyle;

  constructor(bytes: Buffer, base: TextStyle) {
    this.#bytes = bytes;
    this.#base = base;
  }

  /** Edits a value that is in its place; `style` is that of what it stands in. */
  edit(value: Value, style: TextStyle): Splice[] {
    const { at } = value;
    if (value.isSame || at === null) return [];
    if (value.kind === 'object' && at.kind === 'object') return this.#editObject(value, at);
    if (value.kind === 'array' && at.kind === 'array') return this.#editArray(value, at);
    return [this.#replace(at, value, style)];
  }

  #editObject({ members }: ObjectValue, at: ObjectNode): Splice[] {
    const bytes = this.#bytes;
    const own = membersOf(at);
    const style = sequenceStyle(bytes, own, styleOf(bytes, at, this.#base));
    const last = new Map(at.members.map((member) => [member.name, member.value]));
    const changed = [...last].flatMap(([name, node]) => {
      const value = members.get(name);
      return value === undefined ? [] : this.#put(node, value, style);
    });
    const texts = [...members].flatMap(([name, value]) =>
      last.has(name) ? [] : [renderMember(name, this.#rendered(value), style, style.indent)],
    );
    const removed = at.members.flatMap(({ name }, index) => (members.has(name) ? [] : [index]));
    return [...changed, ...this.#replaceTail(own, removed, texts, style)];
  }

  /** Removes items, and puts texts behind those that stay. */
  #replaceTail(own: Sequence, removed: readonly number[], texts: readonly string[], style: SequenceStyle): Splice[] {
    const bytes = this.#bytes;
    const count = own.starts.length;
    const [text] = texts;
    if (removed.length === count && text !== undefined && count > 0) {
      // The first takes the place of the first where none stays.
      const first = splice(own.starts[0] ?? 0, own.ends[0] ?? 0, text);
      return [first, ...this.#replaceTail(own, removed.slice(1), texts.slice(1), style)];
    }
    let kept = count - 1;
    for (let index = removed.length - 1; index >= 0 && removed[index] === kept; index -= 1) kept -= 1;
    const isTail = kept < count - 1;
    return [
      ...removeItems(bytes, own, removed, isTail && texts.length > 0),
      ...insertItems(bytes, own, kept, texts, style, isTail),
    ];
  }

  /** Between items that stay, new ones take the places of those that go, as far as there are any. */
  #editArray({ items }: ArrayValue, at: ArrayNode): Splice[] {
    const bytes = this.#bytes;
    const own = elementsOf(at);
    const style = sequenceStyle(bytes, own, this.#base);
    const places = new Map<ValueNode, number>(at.elements.map((node, index) => [node, index]));
    const staying = rising(items.map((item) => (item.at === null ? -1 : (places.get(item.at) ?? -1))));
    const splices: Splice[] = [];
    const removed: number[] = [];
    let waiting: Value[] = [];
    let before = -1;
    const fill = (next: number): void => {
      for (before += 1; before < next; before += 1) {
        const node = at.elements[before];
        const value = waiting.shift();
        if (value === undefined || node === undefined) removed.push(before);
        else splices.push(this.#replace(node, value, style));
      }
      const texts = waiting.map((value) => renderValue(this.#rendered(value), style, style.indent));
      splices.push(...insertItems(bytes, own, next - 1, texts, style));
      waiting = [];
    };
    items.forEach((item, index) => {
      const place = staying[index] ?? -1;
      if (place === -1) waiting.push(item);
      else {
        fill(place);
        splices.push(...this.edit(item, style));
      }
    });
    fill(at.elements.length);
    return [...splices, ...removeItems(bytes, own, removed)];
  }

  #put(node: ValueNode, value: Value, style: TextStyle): Splice[] {
    return value.at === node ? this.edit(value, style) : [this.#replace(node, value, style)];
  }

  #replace({ start, end }: ValueNode, value: Value, style: TextStyle): Splice {
    const indent = lineIndent(this.#bytes, start);
    return splice(start, end, renderValue(this.#rendered(value), style, indent));
  }

  /** The value as it is written elsewhere: with its own text where the document has it as it is. */
  #rendered(value: Value): Rendered {
    const { at } = value;
    if (value.isSame && at !== null) {
      return new Verbatim(this.#bytes.toString('utf8', at.start, at.end), lineIndent(this.#bytes, at.start));
    }
    if (value.kind === 'object') {
      return new Map([...value.members].map(([name, member]) => [name, this.#rendered(member)]));
    }
    if (value.kind === 'array') return value.items.map((item) => this.#rendered(item));
    if (value.kind === 'string') return value.text;
    return value.kind === 'keys' ? [] : new Verbatim(value.text);
  }
}

/** The indexes that stay: of these, in which -1 is none, the longest rising sequence; all others become -1. */
function rising(indexes: readonly number[]): readonly number[] {
  /** Per length of a sequence, the position of the least index that ends one. */
  const ends: number[] = [];
  const previous: number[] = [];
  indexes.forEach((index, position) => {
    previous.push(-1);
    if (index === -1) return;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((indexes[ends[middle] ?? 0] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    previous[position] = low === 0 ? -1 : (ends[low - 1] ?? -1);
    ends[low] = position;
  });
  const staying = indexes.map(() => -1);
  for (let position = ends.at(-1) ?? -1; position !== -1; position = previous[position] ?? -1) {
    staying[position] = indexes[position] ?? -1;
  }
  return staying;
}
