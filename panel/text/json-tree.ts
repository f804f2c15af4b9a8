import { type JsonMember, readJson } from './json-reader.js';

/** A JSON value that keeps member order, duplicate free, and every number as it was spelled. */
export type JsonNode =
  | { readonly kind: 'object'; readonly members: readonly JsonMember<JsonNode>[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly lexeme: string }
  | { readonly kind: 'word'; readonly value: null | boolean };

/** Reads a text into a tree. Throws `JsonProblem`, also where one object names a member twice. */
export function parseTree(text: string): JsonNode {
  return readJson<JsonNode>(
    text,
    {
      object: (members) => ({ kind: 'object', members }),
      array: (items) => ({ kind: 'array', items }),
      string: (value) => ({ kind: 'string', value }),
      number: (lexeme) => ({ kind: 'number', lexeme }),
      word: (value) => ({ kind: 'word', value }),
    },
    'reject',
  );
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
