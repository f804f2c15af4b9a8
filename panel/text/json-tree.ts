/** A JSON value that keeps member order and every number as it was spelled. */
export type JsonNode =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly lexeme: string }
  | { readonly kind: 'word'; readonly value: null | boolean };

interface JsonMember {
  readonly name: string;
  readonly value: JsonNode;
  /** The place of the name in the text that it was read from. */
  readonly at?: number;
}

/** The kinds of problems, each with a message in the viewer's language. */
type JsonProblemKind = 'end' | 'unexpected' | 'comma' | 'string' | 'comment' | 'duplicate';

/** A text that is no JSON; `line` and `column` count from 1. */
export class JsonProblem extends Error {
  readonly kind: JsonProblemKind;
  readonly line: number;
  readonly column: number;
  readonly found: string;
  /** Its place in the text. */
  readonly offset: number;

  constructor(kind: JsonProblemKind, text: string, offset: number) {
    const before = text.slice(0, offset);
    const line = before.split('\n').length;
    const column = offset - before.lastIndexOf('\n');
    const found = text.slice(offset, offset + 1);
    super(kind);
    this.kind = kind;
    this.line = line;
    this.column = column;
    this.found = found;
    this.offset = offset;
  }
}

const DEEPEST = 1000;

const BLANKS = /[\t\n\r ]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y;
/** A string without its second quote, up to the first mistake. */
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;
const WORD = /true|false|null/y;
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** A JSON text (RFC 8259), and the place up to which it was read. */
class JsonReader {
  readonly #text: string;
  readonly #areNamesUnique: boolean;
  #offset = 0;
  #depth = 0;

  constructor(text: string, areNamesUnique: boolean) {
    this.#text = text;
    this.#areNamesUnique = areNamesUnique;
  }

  /** Reads the whole text as one value. */
  whole(): JsonNode {
    const root = this.#value();
    if (this.#next() !== '') throw this.#problem('unexpected');
    return root;
  }

  #value(): JsonNode {
    const next = this.#next();
    if (next === '{') return { kind: 'object', members: this.#members() };
    if (next === '[') return { kind: 'array', items: this.#items(']', () => this.#value()) };
    if (next === '"') return { kind: 'string', value: this.#string() };
    const word = WORDS.get(this.#take(WORD));
    if (word !== undefined) return { kind: 'word', value: word };
    const lexeme = this.#take(NUMBER);
    if (lexeme === '') throw this.#problem('unexpected');
    return { kind: 'number', lexeme };
  }

  #members(): readonly JsonMember[] {
    const names = new Set<string>();
    return this.#items('}', () => {
      if (this.#next() !== '"') throw this.#problem('unexpected');
      const offset = this.#offset;
      const name = this.#string();
      if (this.#areNamesUnique && names.has(name)) throw this.#problem('duplicate', offset);
      names.add(name);
      this.#expect(':');
      return { name, value: this.#value(), at: offset };
    });
  }

  /** Reads what stands between a bracket and its `end`, parted by commas. */
  #items<T>(end: string, read: () => T): readonly T[] {
    if (this.#depth === DEEPEST) throw this.#problem('unexpected');
    this.#depth += 1;
    this.#offset += 1;
    const items: T[] = [];
    while (items.length > 0 || this.#next() !== end) {
      items.push(read());
      const behind = this.#offset;
      const next = this.#next();
      if (next === end) break;
      // What goes on in a line below lacks the comma above.
      if (/["[{\w-]/.test(next) && this.#text.slice(behind, this.#offset).includes('\n'))
        throw this.#problem('comma', behind);
      this.#expect(',');
    }
    this.#expect(end);
    this.#depth -= 1;
    return items;
  }

  #string(): string {
    const start = this.#offset;
    const begun = this.#take(STRING);
    const stop = this.#text.charAt(this.#offset);
    if (stop === '"') {
      this.#offset += 1;
      return begun.includes('\\') ? String(JSON.parse(`${begun}"`)) : begun.slice(1);
    }
    // A bad escape is told at the string's beginning.
    throw this.#problem('string', stop === '\\' ? start : undefined);
  }

  /** The character that stands next, behind blanks; empty at the end. */
  #next(): string {
    this.#take(BLANKS);
    return this.#text.charAt(this.#offset);
  }

  /** Goes over what stands next as far as it has this form. */
  #take(form: RegExp): string {
    form.lastIndex = this.#offset;
    const [found = ''] = form.exec(this.#text) ?? [];
    this.#offset += found.length;
    return found;
  }

  #expect(sign: string): void {
    if (this.#next() !== sign) throw this.#problem('unexpected');
    this.#offset += 1;
  }

  /** Tells the mistake, whose kind may be another where the text ends or a comment stands. */
  #problem(kind: JsonProblemKind, offset = this.#offset): JsonProblem {
    const isComment = kind !== 'string' && /^(?:#|\/[/*])/.test(this.#text.slice(offset, offset + 2));
    const shown = isComment ? 'comment' : kind;
    return new JsonProblem(offset >= this.#text.length ? 'end' : shown, this.#text, offset);
  }
}

/**
 * Reads a JSON text. Throws `JsonProblem`. A name that occurs twice in one object is a problem unless `duplicates` keeps
 * both.
 */
export function parseTree(text: string, duplicates: 'reject' | 'keep' = 'reject'): JsonNode {
  return new JsonReader(text, duplicates === 'reject').whole();
}

/** Pretty-printed with two blanks, every number as it was spelled. */
export function printTree(node: JsonNode, indent = ''): string {
  const inner = `${indent}  `;
  switch (node.kind) {
    case 'object':
      if (node.members.length === 0) return '{}';
      return `{\n${node.members
        .map(({ name, value }) => `${inner}${JSON.stringify(name)}: ${printTree(value, inner)}`)
        .join(',\n')}\n${indent}}`;
    case 'array':
      if (node.items.length === 0) return '[]';
      return `[\n${node.items.map((item) => `${inner}${printTree(item, inner)}`).join(',\n')}\n${indent}]`;
    case 'string':
      return JSON.stringify(node.value);
    case 'number':
      return node.lexeme;
    case 'word':
      return String(node.value);
  }
}

/** The place in the text at which the member of a path (`inbounds[1].port`) begins, as far as the text has it. */
export function placeOf(node: JsonNode, path: string): number {
  let place = 0;
  let here: JsonNode | undefined = node;
  for (const step of path.match(/[^.[\]]+/g) ?? []) {
    const member: JsonMember | undefined =
      here?.kind === 'object' ? here.members.find(({ name }) => name === step) : undefined;
    place = member?.at ?? place;
    here = here?.kind === 'array' ? here.items[Number(step)] : member?.value;
    if (here?.kind === 'object') place = member?.at ?? here.members[0]?.at ?? place;
  }
  return place;
}

/** The member of an object, or undefined. */
export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  return node?.kind === 'object' ? node.members.find((member) => member.name === name)?.value : undefined;
}

/** The tree with the value at this path replaced or added; undefined removes it. Objects on the way are made where missing. */
export function withValue(
  node: JsonNode | undefined,
  path: readonly (string | number)[],
  value: JsonNode | undefined,
): JsonNode {
  const [step, ...rest] = path;
  if (step === undefined) return value ?? { kind: 'word', value: null };
  if (typeof step === 'number') {
    const items = node?.kind === 'array' ? node.items : [];
    return { kind: 'array', items: items.map((item, index) => (index === step ? withValue(item, rest, value) : item)) };
  }
  const members = node?.kind === 'object' ? node.members : [];
  const present = members.some(({ name }) => name === step);
  if (rest.length === 0 && value === undefined)
    return { kind: 'object', members: members.filter(({ name }) => name !== step) };
  const changed = { name: step, value: withValue(memberOf(node, step), rest, value) };
  return {
    kind: 'object',
    members: present ? members.map((member) => (member.name === step ? changed : member)) : [...members, changed],
  };
}

export const text = (value: string): JsonNode => ({ kind: 'string', value });
export const flag = (value: boolean): JsonNode => ({ kind: 'word', value });
export const texts = (values: readonly string[]): JsonNode => ({ kind: 'array', items: values.map(text) });

export function textOf(node: JsonNode | undefined): string {
  return node?.kind === 'string' ? node.value : '';
}

export function flagOf(node: JsonNode | undefined): boolean {
  return node?.kind === 'word' && node.value === true;
}
