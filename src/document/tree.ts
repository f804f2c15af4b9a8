import type { Steps } from '../core/steps.js';
import {
  advance,
  another,
  enter,
  expectName,
  isShortInteger,
  type JsonScanner,
  skipValue,
  stringValue,
  Token,
  toValue,
  unexpectedToken,
} from '../wire/json/scanner.js';
import { type KeysNode, readKeysSteps } from './key-list.js';

/**
 * The part of a value that is kept. A configuration file can be a hundred megabytes of keys, so only what is looked at
 * becomes a tree; key lists become `KeysNode`, and everything else is checked and passed over.
 */
export type Shape =
  | 'skip'
  | 'tree'
  /** An array of keys; its elements' key member has this name. */
  | { readonly keys: string }
  | { readonly elements: Shape }
  /** Members by name; others are skipped where nothing else is said of them. */
  | MembersShape;

interface MembersShape {
  readonly members: Readonly<Record<string, Shape>>;
  readonly others?: 'skip' | 'tree';
}

/** A value with its span of bytes, `end` exclusive. */
export type ValueNode =
  | ObjectNode
  | ArrayNode
  | KeysNode
  | { readonly kind: 'string'; readonly start: number; readonly end: number; readonly value: string }
  | { readonly kind: 'integer'; readonly start: number; readonly end: number; readonly value: bigint }
  | { readonly kind: 'boolean'; readonly start: number; readonly end: number; readonly value: boolean }
  | { readonly kind: 'number' | 'null' | 'skipped'; readonly start: number; readonly end: number };

export interface ObjectNode {
  readonly kind: 'object';
  readonly start: number;
  readonly end: number;
  readonly members: readonly MemberNode[];
}

export interface ArrayNode {
  readonly kind: 'array';
  readonly start: number;
  readonly end: number;
  readonly elements: readonly ValueNode[];
}

export interface MemberNode {
  readonly name: string;
  /** The start of the name; the member ends with its value. */
  readonly start: number;
  readonly nameEnd: number;
  readonly value: ValueNode;
}

/** The member that counts: of several with one name the last. */
export function memberOf(node: ValueNode | undefined, name: string): ValueNode | undefined {
  if (node?.kind !== 'object') return undefined;
  return node.members.findLast((member) => member.name === name)?.value;
}

/** Reads all of the value that the scanner stands on. Throws `JsonSyntaxError`. */
export function readTree(scanner: JsonScanner): ValueNode {
  return readWhole(scanner, 'tree');
}

/** Reads what `shape` asks for of that value, pausing within lists of keys. Throws `JsonSyntaxError`. */
export function* readValueSteps(scanner: JsonScanner, shape: Shape): Steps<ValueNode> {
  if (shape === 'skip' || shape === 'tree') return readWhole(scanner, shape);
  if (scanner.kind === Token.openArray) {
    if ('keys' in shape) return yield* readKeysSteps(scanner, shape.keys);
    if ('elements' in shape) return yield* readElements(scanner, shape.elements);
  } else if (scanner.kind === Token.openObject && 'members' in shape) return yield* readMembers(scanner, shape);
  return readWhole(scanner, 'tree');
}

function* readElements(scanner: JsonScanner, shape: Shape): Steps<ArrayNode> {
  const { start } = scanner;
  const elements: ValueNode[] = [];
  for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) {
    elements.push(yield* readValueSteps(scanner, shape));
  }
  return { kind: 'array', start, end: scanner.lastEnd, elements };
}

function* readMembers(scanner: JsonScanner, { members: shapes, others = 'skip' }: MembersShape): Steps<ObjectNode> {
  const { start } = scanner;
  const members: MemberNode[] = [];
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    const name = readName(scanner);
    const shape = Object.hasOwn(shapes, name.name) ? (shapes[name.name] ?? others) : others;
    members.push({ ...name, value: yield* readValueSteps(scanner, shape) });
  }
  return { kind: 'object', start, end: scanner.lastEnd, members };
}

/** Reads a value of which everything is wanted, or nothing. */
function readWhole(scanner: JsonScanner, shape: 'skip' | 'tree'): ValueNode {
  const { start } = scanner;
  if (shape === 'skip') {
    skipValue(scanner);
    return { kind: 'skipped', start, end: scanner.lastEnd };
  }
  if (scanner.kind === Token.openArray) {
    const elements: ValueNode[] = [];
    for (let more = enter(scanner); more; more = another(scanner, Token.closeArray))
      elements.push(readWhole(scanner, shape));
    return { kind: 'array', start, end: scanner.lastEnd, elements };
  }
  if (scanner.kind === Token.openObject) {
    const members: MemberNode[] = [];
    for (let more = enter(scanner); more; more = another(scanner, Token.closeObject))
      members.push({ ...readName(scanner), value: readWhole(scanner, shape) });
    return { kind: 'object', start, end: scanner.lastEnd, members };
  }
  const node = readScalar(scanner);
  advance(scanner);
  return node;
}

/** Reads a member's name; the scanner then stands on its value. */
function readName(scanner: JsonScanner): Omit<MemberNode, 'value'> {
  expectName(scanner);
  const name = { name: stringValue(scanner), start: scanner.start, nameEnd: scanner.end };
  toValue(scanner);
  return name;
}

function readScalar(scanner: JsonScanner): ValueNode {
  const { kind, start, end } = scanner;
  if (kind === Token.string) return { kind: 'string', start, end, value: stringValue(scanner) };
  if (kind === Token.true || kind === Token.false) return { kind: 'boolean', start, end, value: kind === Token.true };
  if (kind === Token.null) return { kind: 'null', start, end };
  if (kind !== Token.number) throw unexpectedToken(scanner, 'a value');
  if (!isShortInteger(scanner)) return { kind: 'number', start, end };
  return { kind: 'integer', start, end, value: BigInt(scanner.bytes.toString('latin1', start, end)) };
}
