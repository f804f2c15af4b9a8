import { ApiFailure } from '../../api/failure.js';
import { dataOf } from '../../api/http.js';
import { JsonProblem } from '../../text/json-reader.js';
import { flagOf, type JsonNode, memberOf, parseTree, printTree, textOf } from '../../text/json-tree.js';

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

/** What a text is: a configuration, or why it is none. */
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

/** Where the file describes the listener and the keys; servers since 0.3.7 write them as items of `inbounds`. */
export interface Places {
  /** Null where the file has none. */
  readonly listener: Path | null;
  readonly keys: Path;
  readonly rules: Path;
  /** Whether the listener says `bind`, as opposed to a host and a port of its own. */
  readonly hasBind: boolean;
}

export function placesIn(tree: JsonNode): Places {
  const inbounds = memberOf(tree, 'inbounds');
  if (inbounds?.kind !== 'array') {
    return { listener: ['api'], keys: ['access_keys'], rules: ['outbound', 'rules'], hasBind: true };
  }
  const api = inbounds.items.findIndex((item) => textOf(memberOf(item, 'protocol')) === 'api');
  return {
    listener: api < 0 ? null : ['inbounds', api],
    keys: [
      'inbounds',
      Math.max(
        0,
        inbounds.items.findIndex((item) => memberOf(item, 'users') !== undefined),
      ),
      'users',
    ],
    rules: ['routing', 'rules'],
    hasBind: false,
  };
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
