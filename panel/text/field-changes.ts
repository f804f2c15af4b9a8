import { exactValue } from './exact-json.js';
import { type JsonNode, memberOf, printTree, textOf } from './json-tree.js';

/** A field that two trees say differently, by its member names and item numbers; undefined where one of them has none. */
interface FieldChange {
  readonly path: readonly (string | number)[];
  readonly before: JsonNode | undefined;
  readonly after: JsonNode | undefined;
}

/** Compares two values; neither the order of members nor the spelling of numbers says anything. */
export function areSame(a: JsonNode | undefined, b: JsonNode | undefined): boolean {
  if (a === b) return true;
  if (a?.kind === 'object' && b?.kind === 'object') {
    return (
      a.members.length === b.members.length && a.members.every(({ name, value }) => areSame(value, memberOf(b, name)))
    );
  }
  if (a?.kind === 'array' && b?.kind === 'array') {
    return a.items.length === b.items.length && a.items.every((item, index) => areSame(item, b.items[index]));
  }
  return a !== undefined && b !== undefined && a.kind === b.kind && exactValue(a) === exactValue(b);
}

/** The fields that differ, as deep as both trees have them. A list is one field, unless its items bear the same tags in both. */
export function fieldChanges(
  before: JsonNode | undefined,
  after: JsonNode | undefined,
  path: FieldChange['path'] = [],
): readonly FieldChange[] {
  if (areSame(before, after)) return [];
  if (before?.kind === 'object' && after?.kind === 'object') {
    return namesOf(before, after).flatMap((name) =>
      fieldChanges(memberOf(before, name), memberOf(after, name), [...path, name]),
    );
  }
  const [tags, others] = [tagsOf(before, path.at(-1)), tagsOf(after, path.at(-1))];
  if (tags !== null && tags.join('\n') === others?.join('\n')) {
    const [from, to] = [itemsOf(before), itemsOf(after)];
    return tags.flatMap((_, index) => fieldChanges(from[index], to[index], [...path, index]));
  }
  return [{ path, before, after }];
}

/** The JSON Patch (RFC 6902) that makes one tree of the other; null where they say the same. Numbers keep their spelling. */
export function patchBetween(before: JsonNode, after: JsonNode): string | null {
  const operations = fieldChanges(before, after).map((change) => {
    const path = change.path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    const op = change.before === undefined ? 'add' : change.after === undefined ? 'remove' : 'replace';
    const value = change.after === undefined ? '' : `,"value":${printTree(change.after)}`;
    return `{"op":"${op}","path":${JSON.stringify(path)}${value}}`;
  });
  return operations.length === 0 ? null : `[${operations.join(',')}]`;
}

function namesOf(a: JsonNode, b: JsonNode): readonly string[] {
  const names = [a, b].flatMap((node) => (node.kind === 'object' ? node.members.map(({ name }) => name) : []));
  return [...new Set(names)];
}

/** The lists whose items are told apart by their `protocol` where they have no `tag`. That of a rule says what it is for. */
const BY_PROTOCOL: readonly unknown[] = ['inbounds', 'outbounds'];

/** The tags of the items of a list with this name; null where not each has one of its own. */
function tagsOf(list: JsonNode | undefined, name: string | number | undefined): readonly string[] | null {
  if (list?.kind !== 'array') return null;
  const members = BY_PROTOCOL.includes(name) ? ['tag', 'protocol'] : ['tag'];
  const tags = list.items.map((item) => members.map((member) => textOf(memberOf(item, member))).find(Boolean) ?? '');
  return tags.includes('') || new Set(tags).size < tags.length ? null : tags;
}

function itemsOf(list: JsonNode | undefined): readonly JsonNode[] {
  return list?.kind === 'array' ? list.items : [];
}
