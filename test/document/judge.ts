import { type Node, type ParseError, parseTree } from 'jsonc-parser';
import type { AccessKey } from '../../src/core/model.js';

// Reads configuration files with another parser than Keyway's, so that the properties of edits are not judged by the code
// under test. The text is taken as latin1: a character is a byte, and offsets are those of the file.

const TOKENS = /"(?:[^"\\]|\\.)*"|\/\*[\s\S]*?\*\/|(?:\/\/|#)[^\r\n]*/g;

/** A value with its numbers as they are written. */
export type JudgedValue = null | boolean | string | Lexeme | readonly JudgedValue[] | JudgedObject;
export type JudgedObject = ReadonlyMap<string, JudgedValue>;

/** A number as it is written. */
export class Lexeme {
  constructor(readonly text: string) {}
}

export interface Comment {
  readonly at: number;
  readonly text: string;
}

/** The comments of a file, with their byte offsets. */
export function commentsOf(bytes: Buffer): readonly Comment[] {
  return [...bytes.toString('latin1').matchAll(TOKENS)].flatMap(({ 0: text, index }) =>
    text.startsWith('"') ? [] : [{ at: index, text }],
  );
}

/** An element of a key list: its span, its key (empty where it has none), and itself. */
export interface JudgedElement {
  readonly start: number;
  readonly end: number;
  readonly key: string;
  readonly value: JudgedValue;
  /** Where its `name` and `limit_bytes` stand, with their values. */
  readonly columns: readonly { readonly start: number; readonly end: number }[];
}

/** A key list: the offsets of its brackets. */
export interface JudgedList {
  readonly open: number;
  readonly close: number;
  readonly elements: readonly JudgedElement[];
}

export interface JudgedFile {
  readonly root: JudgedValue;
  /** The lists whose keys count. */
  readonly lists: readonly JudgedList[];
  /** Whether the first place for keys has a list. */
  readonly hasHome: boolean;
}

/** Reads a file of either layout. Throws where it is not JSON with comments. */
export function judge(bytes: Buffer): JudgedFile {
  const text = bytes.toString('latin1').replaceAll(TOKENS, (token) => (token.startsWith('"') ? token : blank(token)));
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true });
  if (errors.length > 0 || root === undefined) throw new Error(`no JSON: ${JSON.stringify(errors)} in ${text}`);
  const inbounds = member(root, 'inbounds');
  const hasInbounds = inbounds?.type === 'array';
  const places = hasInbounds
    ? (inbounds.children ?? [])
        .filter((one) => member(one, 'protocol')?.value === 'ostp')
        .map((one) => member(one, 'users'))
    : [member(root, 'access_keys')];
  const lists = places.flatMap((place) =>
    place?.type === 'array' ? [listOf(place, text, hasInbounds ? 'key' : 'access_key')] : [],
  );
  return { root: valueIn(root, text), lists, hasHome: places[0]?.type === 'array' };
}

/** The keys that count, with what their last elements say of them; a name or limit of a wrong type is none. */
export function keysOf({ lists }: JudgedFile): readonly AccessKey[] {
  const keys = new Map<string, AccessKey>();
  for (const { key, value } of lists.flatMap(({ elements }) => elements)) {
    if (key === '') continue;
    const name = value instanceof Map ? value.get('name') : null;
    const limit = value instanceof Map ? value.get('limit_bytes') : null;
    const isLimit = limit instanceof Lexeme && /^\d+$/.test(limit.text) && BigInt(limit.text) < 2n ** 64n;
    const limitBytes = isLimit ? BigInt(limit.text) : null;
    keys.set(key, { accessKey: key, name: typeof name === 'string' ? name : null, limitBytes });
  }
  return [...keys.values()];
}

function listOf({ offset, length, children = [] }: Node, text: string, keyMember: string): JudgedList {
  const elements = children.map((node): JudgedElement => {
    const value = valueIn(node, text);
    const key = value instanceof Map ? value.get(keyMember) : value;
    const columns = propertiesOf(node)
      .filter(({ name }) => name.value === 'name' || name.value === 'limit_bytes')
      .map(({ name, value: of }) => ({ start: name.offset, end: of.offset + of.length }));
    return {
      start: node.offset,
      end: node.offset + node.length,
      key: typeof key === 'string' ? key : '',
      value,
      columns,
    };
  });
  return { open: offset, close: offset + length - 1, elements };
}

function propertiesOf(node: Node): readonly { readonly name: Node; readonly value: Node }[] {
  if (node.type !== 'object') return [];
  return (node.children ?? []).flatMap(({ children: [name, value] = [] }) =>
    name === undefined || value === undefined ? [] : [{ name, value }],
  );
}

/** Of a repeated member the last. */
function member(node: Node, wanted: string): Node | undefined {
  return propertiesOf(node).findLast(({ name }) => name.value === wanted)?.value;
}

function valueIn(node: Node, text: string): JudgedValue {
  const { type, offset, length } = node;
  if (type === 'array') return (node.children ?? []).map((child) => valueIn(child, text));
  if (type === 'object')
    return new Map(propertiesOf(node).map(({ name, value }) => [textOf(name, text), valueIn(value, text)]));
  if (type === 'number') return new Lexeme(text.slice(offset, offset + length));
  return type === 'string' ? textOf(node, text) : node.value;
}

/** The string that stands there, out of its bytes. */
function textOf({ offset, length }: Node, text: string): string {
  return JSON.parse(Buffer.from(text.slice(offset, offset + length), 'latin1').toString('utf8'));
}

const blank = (token: string) => token.replaceAll(/[^\n]/g, ' ');
