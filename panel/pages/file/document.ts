import { ApiFailure } from '../../api/failure.js';
import { dataOf } from '../../api/http.js';
import { areSame } from '../../text/field-changes.js';
import {
  flagOf,
  type JsonNode,
  JsonProblem,
  memberOf,
  parseTree,
  printTree,
  textOf,
  withValue,
} from '../../text/json-tree.js';

/** The file as pretty text, from an answer that holds it; every number keeps its spelling. Throws `ApiFailure`. */
export function textFromAnswer(answer: string): string {
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
  return `${printTree(data)}\n`;
}

/** A configuration, or why a text is none. */
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
  readonly keys: Path;
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
      keys: ['access_keys'],
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
  const holder = inbounds.items.findIndex((item) => memberOf(item, 'users') !== undefined);
  return {
    layout: 'inbounds',
    listener: api < 0 ? null : ['inbounds', api],
    keys: ['inbounds', Math.max(0, holder), 'users'],
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

/** The places of the lists of keys that a file of either layout can have. */
function keyListsIn(tree: JsonNode): readonly Path[] {
  const inbounds = memberOf(tree, 'inbounds');
  const count = inbounds?.kind === 'array' ? inbounds.items.length : 0;
  return [['access_keys'], ...Array.from({ length: count }, (_, index) => ['inbounds', index, 'users'])];
}

/** The file with the lists of keys of another, as far as it has what holds them: keys come and go by calls of their own. */
export function withKeysOf(tree: JsonNode, other: JsonNode): JsonNode {
  const places = [...keyListsIn(tree), ...keyListsIn(other)];
  return places.reduce((made, path) => {
    const list = valueAt(other, path);
    const isThere = valueAt(made, path) !== undefined || list !== undefined;
    return isThere && valueAt(made, path.slice(0, -1))?.kind === 'object' ? withValue(made, path, list) : made;
  }, tree);
}

/** Returns true where both files have the same lists of keys. */
export function haveSameKeys(a: JsonNode, b: JsonNode): boolean {
  const lists = (tree: JsonNode) => keyListsIn(tree).flatMap((path) => valueAt(tree, path) ?? []);
  const [ours, others] = [lists(a), lists(b)];
  return ours.length === others.length && ours.every((list, index) => areSame(list, others[index]));
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
