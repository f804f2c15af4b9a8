import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';

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
}

/** The kinds of problems, each with a message in the viewer's language. */
type JsonProblemKind = 'end' | 'unexpected' | 'string' | 'number' | 'comment' | 'duplicate' | 'deep' | 'after';

/** A text that is no JSON; `line` and `column` count from 1. */
export class JsonProblem extends Error {
  readonly kind: JsonProblemKind;
  readonly line: number;
  readonly column: number;
  readonly found: string;

  constructor(kind: JsonProblemKind, text: string, offset: number) {
    const before = text.slice(0, offset);
    const line = before.split('\n').length;
    const column = offset - before.lastIndexOf('\n');
    const found = text.slice(offset, offset + 1);
    super(`${kind} at line ${line}, column ${column}: ${found}`);
    this.kind = kind;
    this.line = line;
    this.column = column;
    this.found = found;
  }
}

const DEEPEST = 1000;

/** Problems that are not just something unexpected, by the parser's names of them. */
const KINDS: Readonly<Record<string, JsonProblemKind>> = {
  InvalidCommentToken: 'comment',
  EndOfFileExpected: 'after',
  InvalidNumberFormat: 'number',
  UnexpectedEndOfNumber: 'number',
  UnexpectedEndOfString: 'string',
  InvalidUnicode: 'string',
  InvalidEscapeCharacter: 'string',
  InvalidCharacter: 'string',
};

/** Tells what the parser stopped at, where a person would see the mistake. */
function problemAt(code: ParseErrorCode, text: string, start: number, length: number): JsonProblem {
  const name = printParseErrorCode(code);
  // A word that goes on behind its end, as `truex` does, is read as one thing.
  const word = name === 'InvalidSymbol' ? /^(?:true|false|null)/.exec(text.slice(start, start + length))?.[0] : '';
  const offset = start + (word?.length ?? 0);
  const isOpenString = name === 'UnexpectedEndOfString' && offset + length >= text.length;
  if (offset >= text.length || isOpenString) return new JsonProblem('end', text, text.length);
  if (text[offset] === '#') return new JsonProblem('comment', text, offset);
  // A number that goes on behind its end, as `01` and `1x` do, is read as two things.
  const begun = /-?\d[\d.eE+-]*$/.exec(text.slice(Math.max(0, offset - 40), offset))?.[0].length ?? 0;
  if ((begun > 0 && /[\w.+-]/.test(text.charAt(offset))) || text[offset] === '-') {
    return new JsonProblem('number', text, offset - begun);
  }
  const kind = KINDS[name] ?? 'unexpected';
  if (kind !== 'string') return new JsonProblem(kind, text, offset);
  // The end of a line ends the string, and is not part of it. A bad escape is told at the string's beginning.
  const control = text
    .slice(offset, offset + length + (name === 'UnexpectedEndOfString' ? 1 : 0))
    .search(/[^ -\uffff]/);
  return new JsonProblem(kind, text, offset + Math.max(0, control));
}

/**
 * Reads a JSON text (RFC 8259). Throws `JsonProblem`. A name that occurs twice in one object is a problem unless
 * `duplicates` keeps both.
 */
export function parseTree(text: string, duplicates: 'reject' | 'keep' = 'reject'): JsonNode {
  const root: JsonNode[] = [];
  /** The containers that are open: what takes the next value of each. */
  const open: ((value: JsonNode) => void)[] = [(value) => root.push(value)];
  const names: (Set<string> | null)[] = [];
  let name = '';
  const add = (value: JsonNode) => open.at(-1)?.(value);
  const enter = (offset: number, value: JsonNode, take: (value: JsonNode) => void) => {
    add(value);
    open.push(take);
    // The first of them takes the root: it is no level.
    if (open.length > DEEPEST + 1) throw new JsonProblem('deep', text, offset);
  };
  visit(
    text,
    {
      onObjectBegin(offset) {
        const members: JsonMember[] = [];
        names.push(duplicates === 'reject' ? new Set() : null);
        enter(offset, { kind: 'object', members }, (value) => members.push({ name, value }));
      },
      onObjectProperty(property, offset) {
        const known = names.at(-1);
        if (known?.has(property)) throw new JsonProblem('duplicate', text, offset);
        known?.add(property);
        name = property;
      },
      onObjectEnd() {
        names.pop();
        open.pop();
      },
      onArrayBegin(offset) {
        const items: JsonNode[] = [];
        enter(offset, { kind: 'array', items }, (value) => items.push(value));
      },
      onArrayEnd: () => open.pop(),
      onLiteralValue(value: unknown, offset, length) {
        if (typeof value === 'string') add({ kind: 'string', value });
        else if (typeof value === 'number') add({ kind: 'number', lexeme: text.slice(offset, offset + length) });
        else add({ kind: 'word', value: typeof value === 'boolean' ? value : null });
      },
      onError(code, offset, length) {
        throw problemAt(code, text, offset, length);
      },
    },
    { disallowComments: true },
  );
  return root[0] ?? { kind: 'word', value: null };
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

/** The strings of a list; other items are left out. */
export function textsOf(node: JsonNode | undefined): readonly string[] {
  return node?.kind === 'array' ? node.items.flatMap((item) => (item.kind === 'string' ? [item.value] : [])) : [];
}
