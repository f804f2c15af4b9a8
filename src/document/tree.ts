import { finish, Pace, type Steps } from '../core/steps.js';
import {
  advance,
  another,
  enter,
  expectName,
  isContainer,
  isPauseDue,
  isShortInteger,
  type JsonScanner,
  skipValueSteps,
  stringValue,
  Token,
  toValue,
  unexpectedToken,
} from '../wire/json/scanner.js';
import { type KeysNode, readKeysSteps } from './key-list.js';

/**
 * The part of a value that is kept. A configuration file can be a hundred megabytes of keys, so only what is read
 * becomes a tree; key lists become `KeysNode`, and everything else is checked and skipped.
 */
export type Shape =
  | 'skip'
  | 'tree'
  /** An array of keys; this member of an element holds the key. */
  | { readonly keys: string }
  | { readonly elements: Shape }
  /** Members by name; others are skipped by default. */
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

/** Returns the effective member: of several with one name the last. */
export function memberOf(node: ValueNode | undefined, name: string): ValueNode | undefined {
  if (node?.kind !== 'object') return undefined;
  if (node.members.length > MOST_SEARCHED) return (memberIndexes.get(node) ?? finish(memberIndexSteps(node))).get(name);
  return node.members.findLast((member) => member.name === name)?.value;
}

/** The most members that are searched each time. */
const MOST_SEARCHED = 64;

const memberIndexes = new WeakMap<ObjectNode, ReadonlyMap<string, ValueNode>>();

/** Returns the values of an object by name, in steps. The map is made once for each object. */
export function* memberIndexSteps(node: ObjectNode): Steps<ReadonlyMap<string, ValueNode>> {
  const known = memberIndexes.get(node);
  if (known !== undefined) return known;
  const pace = new Pace();
  const made = new Map<string, ValueNode>();
  for (const { name, value } of node.members) {
    made.set(name, value);
    if (pace.isDue()) yield;
  }
  memberIndexes.set(node, made);
  return made;
}

/** Reads the whole current value. Throws `JsonSyntaxError`. */
export function readTree(scanner: JsonScanner): ValueNode {
  return finish(readTreeSteps(scanner));
}

/** Reads the parts of the current value that `shape` asks for, in steps. Throws `JsonSyntaxError`. */
export function* readValueSteps(scanner: JsonScanner, shape: Shape): Steps<ValueNode> {
  if (shape === 'skip') {
    const { start } = scanner;
    yield* skipValueSteps(scanner);
    return { kind: 'skipped', start, end: scanner.lastEnd };
  }
  if (shape === 'tree') return yield* readTreeSteps(scanner);
  if (scanner.kind === Token.openArray) {
    if ('keys' in shape) return yield* readKeysSteps(scanner, shape.keys);
    if ('elements' in shape) return yield* readElements(scanner, shape.elements);
  } else if (scanner.kind === Token.openObject && 'members' in shape) return yield* readMembers(scanner, shape);
  return yield* readTreeSteps(scanner);
}

function* readElements(scanner: JsonScanner, shape: Shape): Steps<ArrayNode> {
  const { start } = scanner;
  const elements: ValueNode[] = [];
  for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) {
    elements.push(yield* readValueSteps(scanner, shape));
    if (isPauseDue(scanner)) yield;
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
    if (isPauseDue(scanner)) yield;
  }
  return { kind: 'object', start, end: scanner.lastEnd, members };
}

/** Does what `readTree` does, in steps. */
export function* readTreeSteps(scanner: JsonScanner): Steps<ValueNode> {
  const { start } = scanner;
  if (scanner.kind === Token.openArray) {
    const elements: ValueNode[] = [];
    for (let more = enter(scanner); more; more = another(scanner, Token.closeArray)) {
      elements.push(isContainer(scanner) ? yield* readTreeSteps(scanner) : readScalar(scanner));
      if (isPauseDue(scanner)) yield;
    }
    return { kind: 'array', start, end: scanner.lastEnd, elements };
  }
  if (scanner.kind === Token.openObject) {
    const members: MemberNode[] = [];
    for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
      const name = readName(scanner);
      members.push({ ...name, value: isContainer(scanner) ? yield* readTreeSteps(scanner) : readScalar(scanner) });
      if (isPauseDue(scanner)) yield;
    }
    return { kind: 'object', start, end: scanner.lastEnd, members };
  }
  return readScalar(scanner);
}

/** Reads a member's name, and moves to its value. */
function readName(scanner: JsonScanner): Omit<MemberNode, 'value'> {
  expectName(scanner);
  const name = { name: stringValue(scanner), start: scanner.start, nameEnd: scanner.end };
  toValue(scanner);
  return name;
}

/** Reads the current string, number or word, and moves past it. */
function readScalar(scanner: JsonScanner): ValueNode {
  const node = scalarHere(scanner);
  advance(scanner);
  return node;
}

function scalarHere(scanner: JsonScanner): ValueNode {
  const { kind, start, end } = scanner;
  if (kind === Token.string) return { kind: 'string', start, end, value: stringValue(scanner) };
  if (kind === Token.true || kind === Token.false) return { kind: 'boolean', start, end, value: kind === Token.true };
  if (kind === Token.null) return { kind: 'null', start, end };
  if (kind !== Token.number) throw unexpectedToken(scanner, 'a value');
  if (!isShortInteger(scanner)) return { kind: 'number', start, end };
  return { kind: 'integer', start, end, value: BigInt(scanner.bytes.toString('latin1', start, end)) };
}
