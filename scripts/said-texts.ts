import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';

/** A text that people are told, and where in the source it stands. */
export interface SaidText {
  /** Values in it are shown as `…`. */
  readonly text: string;
  /** `PATH:LINE`. */
  readonly at: string;
}

/** A node of a syntax tree, as far as it is looked at here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

/**
 * The texts of warnings and errors of the log, of failed starts and of settings that contradict each other: literals, and constants
 * of the same file. A text that comes from elsewhere, as one that a function is handed, is not seen.
 */
export function saidTexts(root: string): readonly SaidText[] {
  return sourcesIn(root, 'src').flatMap(({ path, source, program, nodes }) => {
    const declared = (program.body as unknown as readonly Node[])
      .map((each) => (each.type === 'ExportNamedDeclaration' ? (each.declaration as Node | null) : each))
      .flatMap((each) => (each?.type === 'VariableDeclaration' ? (each.declarations as readonly Node[]) : []));
    const constants = new Map(declared.map(({ id, init }) => [(id as Node).name, init as Node]));
    return nodes
      .flatMap((node) => messagesOf(node, path, source))
      .flatMap((message) => {
        const at = `src/${path}:${source.slice(0, message.start).split('\n').length}`;
        return textsOf(message, constants).map((text) => ({ text, at }));
      });
  });
}

/** The texts of all literals and templates of the source, whoever is told them; values in them are shown as `…`. */
export function writtenTexts(root: string): readonly string[] {
  const nodes = ['src', 'revisions'].flatMap((room) => sourcesIn(root, room).flatMap((source) => source.nodes));
  const literals = nodes.filter(({ type }) => type === 'Literal' || type === 'TemplateLiteral');
  return [...new Set(literals.flatMap((node) => textsOf(node, new Map())))];
}

function sourcesIn(root: string, room: string) {
  const paths = readdirSync(join(root, room), { recursive: true, encoding: 'utf8' });
  return paths
    .filter((path) => path.endsWith('.ts'))
    .toSorted()
    .map((path) => {
      const source = readFileSync(join(root, room, path), 'utf8');
      const { program } = parseSync(path, source);
      return { path, source, program, nodes: nodesOf(program) };
    });
}

/** Appends a node and those within it to `found`, and returns that. */
function nodesOf(value: unknown, found: Node[] = []): readonly Node[] {
  if (typeof value !== 'object' || value === null) return found;
  if ('type' in value && 'start' in value) found.push(value as Node);
  for (const member of Object.values(value)) nodesOf(member, found);
  return found;
}

/** The expressions of a node that say something to people. */
function messagesOf(node: Node, path: string, source: string): readonly Node[] {
  const { type, callee, key, value } = node as { readonly [name: string]: Node | undefined } & Node;
  const given = (node.arguments ?? []) as readonly Node[];
  if (
    type === 'CallExpression' &&
    /\blog\??\.(?:warn|error)$/.test(source.slice(callee?.start, given[0]?.start).split('(')[0] ?? '')
  )
    return given.slice(1, 2);
  if (type === 'NewExpression' && (callee?.name === 'StartError' || callee?.name === 'UsageError'))
    return given.slice(0, 1);
  if (path !== 'settings/cross.ts') return [];
  if (type === 'CallExpression' && callee?.name === 'problem') return given.slice(-1);
  return type === 'Property' && key?.name === 'message' && value ? [value] : [];
}

/** The texts that an expression can be. */
function textsOf(node: Node | null | undefined, constants: ReadonlyMap<unknown, Node>): readonly string[] {
  const inside = (names: readonly string[]) =>
    names.flatMap((name) => [node?.[name]].flat()).flatMap((each) => textsOf(each as Node, constants));
  switch (node?.type) {
    case 'Literal':
      return typeof node.value === 'string' ? [node.value] : [];
    case 'TemplateLiteral': {
      const pieces = node.quasis as readonly { readonly value: { readonly cooked: string } }[];
      const values = node.expressions as readonly Node[];
      // A constant within it is part of its words.
      const words = values.map((each) => (each.type === 'Identifier' ? textsOf(each, constants)[0] : undefined) ?? '…');
      return [pieces.map(({ value }, index) => value.cooked + (words[index] ?? '')).join('')];
    }
    case 'ConditionalExpression':
      return inside(['consequent', 'alternate']);
    case 'ArrayExpression':
      return inside(['elements']);
    case 'ObjectExpression':
      return inside(['properties']);
    case 'Property':
      return inside(['value']);
    case 'TSAsExpression':
      return inside(['expression']);
    case 'MemberExpression':
      return inside(['object']);
    case 'Identifier':
      return textsOf(constants.get(node.name), new Map([...constants].filter(([name]) => name !== node.name)));
    default:
      return [];
  }
}
