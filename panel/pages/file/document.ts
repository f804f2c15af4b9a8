import { ApiFailure } from '../../api/failure.js';
import { dataOf } from '../../api/http.js';
import { areSame } from '../../text/field-changes.js';
import { flagOf, type JsonNode, JsonProblem, memberOf, parseTree, textOf, withValue } from '../../text/json-tree.js';

/** The file from an answer that holds it; every number keeps its spelling. Throws `ApiFailure`. */
export function treeFromAnswer(answer: string): JsonNode {
  let tree: JsonNode;
  try {
    tree = parseTree(answer);
  } catch {
    dataOf(answer);
    throw new ApiFailure('garbled');
  }
  const data = memberOf(tree, 'data');
  if (!flagOf(memberOf(tree, 'ok')) || data === undefined) {
    throw new ApiFailure('refused', textOf(memberOf(tree, 'error')));
  }
  return data;
}

/** A configuration, or why a text is no configuration. */
export type Reading =
  | { readonly ok: true; readonly tree: JsonNode }
  | { readonly ok: false; readonly problem: JsonProblem | 'notObject' | 'noMode' };

export function readConfiguration(text: string): Reading {
  let tree: JsonNode;
  try {
    tree = parseTree(text);
  } catch (error) {
    if (error instanceof JsonProblem) return { ok: false, problem: error };
    throw error;
  }
  if (tree.kind !== 'object') return { ok: false, problem: 'notObject' };
  if (memberOf(tree, 'mode') === undefined) return { ok: false, problem: 'noMode' };
  return { ok: true, tree };
}

/** Member names and item numbers from the root. */
export type Path = readonly (string | number)[];

/** The places of a file's members; servers since 0.3.7 write most of them as items of `inbounds` and `outbounds`. */
export interface Places {
  readonly layout: 'accessKeys' | 'inbounds';
  /** Null where the file has none. */
  readonly listener: Path | null;
  readonly logLevel: Path;
  readonly rules: Path;
  readonly defaultRoute: Path;
  /** The tunnel's own address: one member, or host and port apart. Null where the file has no tunnel. */
  readonly tunnel: Path | null;
  /** The proxies: each an object with an address. */
  readonly proxies: readonly Path[];
}

export function placesIn(tree: JsonNode): Places {
  const inbounds = memberOf(tree, 'inbounds');
  if (inbounds?.kind !== 'array') {
    return {
      layout: 'accessKeys',
      listener: ['api'],
      logLevel: ['log_level'],
      rules: ['outbound', 'rules'],
      defaultRoute: ['outbound', 'default_action'],
      tunnel: [],
      proxies: memberOf(tree, 'outbound')?.kind === 'object' ? [['outbound']] : [],
    };
  }
  const first = (protocol: string) =>
    inbounds.items.findIndex((item) => textOf(memberOf(item, 'protocol')) === protocol);
  const [api, tunnel] = [first('api'), first('ostp')];
  return {
    layout: 'inbounds',
    listener: api < 0 ? null : ['inbounds', api],
    logLevel: ['log', 'level'],
    rules: ['routing', 'rules'],
    defaultRoute: ['routing', 'default_outbound'],
    tunnel: tunnel < 0 ? null : ['inbounds', tunnel],
    proxies: targetsIn(tree).flatMap(({ action, place }) => (action === 'proxy' ? [['outbounds', place]] : [])),
  };
}

/** An outbound that rules name. */
export interface Target {
  readonly tag: string;
  readonly action: 'proxy' | 'direct' | 'block';
  /** Its number among the `outbounds`. */
  readonly place: number;
}

/** The `outbounds` of a file by their tags; none in the older layout, whose rules name an action. */
export function targetsIn(tree: JsonNode): readonly Target[] {
  const outbounds = memberOf(tree, 'outbounds');
  if (outbounds?.kind !== 'array') return [];
  return outbounds.items.flatMap((item, place) => {
    const tag = textOf(memberOf(item, 'tag'));
    const protocol = textOf(memberOf(item, 'protocol'));
    const action = protocol === 'direct' || protocol === 'block' ? protocol : 'proxy';
    return tag === '' || protocol === '' ? [] : [{ tag, action, place }];
  });
}

export function valueAt(tree: JsonNode | undefined, path: Path): JsonNode | undefined {
  return path.reduce<JsonNode | undefined>((node, step) => {
    if (typeof step === 'string') return memberOf(node, step);
    return node?.kind === 'array' ? node.items[step] : undefined;
  }, tree);
}

export function countAt(tree: JsonNode, path: Path): number {
  const node = valueAt(tree, path);
  return node?.kind === 'array' ? node.items.length : 0;
}

/** The inbounds of a file; none in the older layout. */
function inboundsIn(tree: JsonNode): readonly JsonNode[] {
  const inbounds = memberOf(tree, 'inbounds');
  return inbounds?.kind === 'array' ? inbounds.items : [];
}

/** Names each inbound apart from the others: its tag, else its protocol, and which of those with the same it is. */
function inboundNames(tree: JsonNode): readonly string[] {
  const bare = inboundsIn(tree).map((item) => textOf(memberOf(item, 'tag')) || textOf(memberOf(item, 'protocol')));
  return bare.map((name, index) => `${name} ${bare.slice(0, index).filter((other) => other === name).length}`);
}

/** The lists of keys of a file of either layout, by their places. */
function keyListsIn(tree: JsonNode): readonly { readonly path: Path; readonly items: readonly JsonNode[] }[] {
  const places: readonly Path[] = [
    ['access_keys'],
    ...inboundsIn(tree).map((_, index) => ['inbounds', index, 'users']),
  ];
  return places.flatMap((path) => {
    const list = valueAt(tree, path);
    return list?.kind === 'array' ? [{ path, items: list.items }] : [];
  });
}

export function countKeys(tree: JsonNode): number {
  return keyListsIn(tree).reduce((count, { items }) => count + items.length, 0);
}

/** The number of keys of one file that another does not have; a changed one is the same key. */
export function countKeysGone(before: JsonNode, after: JsonNode): number {
  const names = (tree: JsonNode) =>
    new Set(
      keyListsIn(tree).flatMap(({ items }) =>
        items.map((item) => textOf(item) || textOf(memberOf(item, 'access_key') ?? memberOf(item, 'key'))),
      ),
    );
  const staying = names(after);
  return [...names(before)].filter((name) => !staying.has(name)).length;
}

/** The file without its lists of keys, which come and go by calls of their own; the same where it has none. */
export function withoutKeys(tree: JsonNode): JsonNode {
  return keyListsIn(tree).reduce((made, { path }) => withValue(made, path, undefined), tree);
}

/** The file with the lists of keys of another one, and no others, as far as it has what holds them. */
export function withKeysOf(tree: JsonNode, other: JsonNode): JsonNode {
  const [here, there] = [inboundNames(tree), inboundNames(other)];
  return keyListsIn(other).reduce((made, { path: [root = '', at, ...rest], items }) => {
    const index = typeof at === 'number' ? here.indexOf(there[at] ?? '') : null;
    if (index !== null && index < 0) return made;
    return withValue(made, index === null ? [root] : [root, index, ...rest], { kind: 'array', items });
  }, withoutKeys(tree));
}

/** Returns true where both files have the same lists of keys. */
export function haveSameKeys(a: JsonNode, b: JsonNode): boolean {
  const lists = (tree: JsonNode): JsonNode => ({
    kind: 'array',
    items: keyListsIn(tree).map(({ items }) => ({ kind: 'array', items })),
  });
  return areSame(lists(a), lists(b));
}

/** The credentials of the management API. */
export interface FileCredentials {
  readonly username: string;
  readonly passwordHash: string;
  readonly token: string;
}

export function credentialsIn(tree: JsonNode): FileCredentials {
  const { listener } = placesIn(tree);
  const at = (name: string) => (listener === null ? '' : textOf(valueAt(tree, [...listener, name])));
  return { username: at('username'), passwordHash: at('password_hash'), token: at('token') };
}
