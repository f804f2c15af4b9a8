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
} from '../../wire/json/scanner.js';
import { type KeysNode, readKeys } from './key-list.js';

/**
 * How much of a value is kept. A configuration file can be a hundred megabytes of keys, so only what is looked at
 * becomes a tree; key lists become `KeysNode`, and everything else is checked and passed over.
 */
export type Shape =
  | 'skip'
  | 'tree'
  /** An array of keys; its elements' key member has this name. */
  | { readonly keys: string }
  | { readonly elements: Shape }
  /** Members by name; others are skipped. */
  | { readonly members: Readonly<Record<string, Shape>> };

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
  /** Where the name starts; the member ends with its value. */
  readonly start: number;
  readonly nameEnd: number;
  readonly value: ValueNode;
}

/** The member that counts: of several with one name the last. */
export function memberOf(node: ValueNode | undefined, name: string): ValueNode | undefined {
  if (node?.kind !== 'object') return undefined;
  return node.members.findLast((member) => member.name === name)?.value;
}

/** Reads the value that the scanner stands on. Throws `JsonSyntaxError`. */
export function readValue(scanner: JsonScanner, shape: Shape): ValueNode {
  const { start } = scanner;
  if (shape === 'skip') {
    skipValue(scanner);
    return { kind: 'skipped', start, end: scanner.lastEnd };
  }
  if (scanner.kind === Token.openArray) {
    if (shape !== 'tree' && 'keys' in shape) return readKeys(scanner, shape.keys);
    return readArray(scanner, shape !== 'tree' && 'elements' in shape ? shape.elements : 'tree');
  }
  if (scanner.kind === Token.openObject) {
    return readObject(scanner, shape !== 'tree' && 'members' in shape ? shape.members : undefined);
  }
  const node = readScalar(scanner);
  advance(scanner);
  return node;
}

function readArray(scanner: JsonScanner, shape: Shape): ArrayNode {
  const { start } = scanner;
  const elements: ValueNode[] = [];
  for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) {
    elements.push(readValue(scanner, shape));
  }
  return { kind: 'array', start, end: scanner.lastEnd, elements };
}

function readObject(scanner: JsonScanner, shapes: Readonly<Record<string, Shape>> | undefined): ObjectNode {
  const { start } = scanner;
  const members: MemberNode[] = [];
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    const name = stringValue(scanner);
    const nameStart = scanner.start;
    const nameEnd = scanner.end;
    toValue(scanner);
    members.push({ name, start: nameStart, nameEnd, value: readValue(scanner, shapeOf(shapes, name)) });
  }
  return { kind: 'object', start, end: scanner.lastEnd, members };
}

function shapeOf(shapes: Readonly<Record<string, Shape>> | undefined, name: string): Shape {
  if (shapes === undefined) return 'tree';
  return Object.hasOwn(shapes, name) ? (shapes[name] ?? 'skip') : 'skip';
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
