import { exactValue } from './exact-json.js';
import { type JsonNode, memberOf, printTree, textOf, withValue } from './json-tree.js';

/** A step to a member by its name, or to the item of a list that alone bears this tag. */
type Step = string | { readonly tag: string };

/** A field that two trees say differently; undefined where one of them has none. */
export interface FieldChange {
  readonly path: readonly Step[];
  readonly before: JsonNode | undefined;
  readonly after: JsonNode | undefined;
}

/** A field that was changed here and elsewhere, to different values; undefined where it was removed. */
export interface Conflict {
  /** Names the field and the other's value: who has chosen is asked again about another value. */
  readonly id: string;
  /** The field's place, such as `inbounds[api].port`. */
  readonly field: string;
  readonly mine: JsonNode | undefined;
  readonly theirs: JsonNode | undefined;
}

/** The value of a conflict that is to stay. */
export type Side = 'mine' | 'theirs';

/** The choices that were made, by the ids of their conflicts. */
export type Choices = ReadonlyMap<string, Side>;

export interface Merge {
  /** The present tree with the changes of one's own, without those that wait for a choice. */
  readonly merged: JsonNode;
  readonly conflicts: readonly Conflict[];
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
  path: readonly Step[] = [],
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
    return tags.flatMap((tag, index) => fieldChanges(from[index], to[index], [...path, { tag }]));
  }
  return [{ path, before, after }];
}

/**
 * Makes the changes from `base` to `now` in the present tree. A field that has neither the value of `base` nor that of `now`
 * there is a conflict, and stays as it is until `choices` says otherwise.
 */
export function mergeFields(base: JsonNode, now: JsonNode, present: JsonNode, choices: Choices): Merge {
  const conflicts: Conflict[] = [];
  let merged = present;
  const make = ({ path, before, after }: FieldChange): void => {
    const theirs = nodeAt(present, path);
    if (areSame(theirs, after)) return;
    // Both have made the same object: its members are compared.
    if (before === undefined && after?.kind === 'object' && theirs?.kind === 'object') {
      for (const { name, value } of after.members) make({ path: [...path, name], before, after: value });
      return;
    }
    const list = mergeLists(before, after, theirs);
    if (list !== null) {
      merged = withNode(merged, path, list, now);
      return;
    }
    // A new line has lost its place where others took away what was to hold it.
    const hasLostPlace = path.length > 0 && nodeAt(present, path.slice(0, -1)) === undefined;
    if (hasLostPlace || !areSame(theirs, before)) {
      const field = path.reduce<string>(
        (text, step) => (typeof step === 'string' ? `${text}${text === '' ? '' : '.'}${step}` : `${text}[${step.tag}]`),
        '',
      );
      const id = `${field}\n${theirs === undefined ? '' : printTree(theirs)}`;
      conflicts.push({ id, field, mine: after, theirs });
      if (choices.get(id) !== 'mine') return;
    }
    merged = withNode(merged, path, after, now);
  };
  for (const change of fieldChanges(base, now)) make(change);
  return { merged, conflicts };
}

/** A part of a list that was changed: the items from `start` to before `end` became others. */
interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly items: readonly JsonNode[];
}

function hunkBetween(before: readonly JsonNode[], after: readonly JsonNode[]): Hunk {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && areSame(before[head], after[head])) head += 1;
  let tail = 0;
  while (tail < most - head && areSame(before.at(-1 - tail), after.at(-1 - tail))) tail += 1;
  return { start: head, end: before.length - tail, items: after.slice(head, after.length - tail) };
}

/** The list with both changes; null where they are no lists, or both have changed the same part. */
function mergeLists(
  before: JsonNode | undefined,
  after: JsonNode | undefined,
  theirs: JsonNode | undefined,
): JsonNode | null {
  if (before?.kind !== 'array' || after?.kind !== 'array' || theirs?.kind !== 'array') return null;
  const hunks = [hunkBetween(before.items, after.items), hunkBetween(before.items, theirs.items)] as const;
  const [first, second] = hunks[0].start <= hunks[1].start ? hunks : [hunks[1], hunks[0]];
  // Of two insertions at one place nobody can tell which goes first.
  if (first.end > second.start || first.start === second.end) return null;
  const items = [
    ...before.items.slice(0, first.start),
    ...first.items,
    ...before.items.slice(first.end, second.start),
    ...second.items,
    ...before.items.slice(second.end),
  ];
  return { kind: 'array', items };
}

/** The JSON Patch (RFC 6902) that makes one tree of the other; null where they say the same. Numbers keep their spelling. */
export function patchBetween(before: JsonNode, after: JsonNode): string | null {
  const operations = fieldChanges(before, after).map((change) => {
    const place = placeOf(before, change.path) ?? [];
    const path = place.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
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
const BY_PROTOCOL: readonly (Step | undefined)[] = ['inbounds', 'outbounds'];

/** The tags of the items of a list with this name; null where not each has one of its own. */
function tagsOf(list: JsonNode | undefined, name: Step | undefined): readonly string[] | null {
  if (list?.kind !== 'array') return null;
  const members = BY_PROTOCOL.includes(name) ? ['tag', 'protocol'] : ['tag'];
  const tags = list.items.map((item) => members.map((member) => textOf(memberOf(item, member))).find(Boolean) ?? '');
  return tags.includes('') || new Set(tags).size < tags.length ? null : tags;
}

function itemsOf(list: JsonNode | undefined): readonly JsonNode[] {
  return list?.kind === 'array' ? list.items : [];
}

function nodeAt(tree: JsonNode | undefined, path: readonly Step[]): JsonNode | undefined {
  return path.reduce<JsonNode | undefined>((node, step, depth) => {
    if (typeof step === 'string') return memberOf(node, step);
    return itemsOf(node)[tagsOf(node, path[depth - 1])?.indexOf(step.tag) ?? -1];
  }, tree);
}

/** The path with the numbers of the items; null where the tree has no such item. */
function placeOf(tree: JsonNode, path: readonly Step[]): readonly (string | number)[] | null {
  const place: (string | number)[] = [];
  for (const [depth, step] of path.entries()) {
    if (typeof step === 'string') place.push(step);
    else {
      const index = tagsOf(nodeAt(tree, path.slice(0, depth)), path[depth - 1])?.indexOf(step.tag) ?? -1;
      if (index === -1) return null;
      place.push(index);
    }
  }
  return place;
}

/** The tree with another value at the path. A list that has lost the item on the way gets it back as `now` has it. */
function withNode(tree: JsonNode, path: readonly Step[], value: JsonNode | undefined, now: JsonNode): JsonNode {
  const place = placeOf(tree, path);
  if (place !== null) return withValue(tree, place, value);
  const depth = path.findIndex((_, index) => placeOf(tree, path.slice(0, index + 1)) === null);
  const list = placeOf(tree, path.slice(0, depth));
  const [items, item] = [nodeAt(tree, path.slice(0, depth)), nodeAt(now, path.slice(0, depth + 1))];
  if (list === null || item === undefined) return tree;
  return withValue(tree, list, { kind: 'array', items: [...itemsOf(items), item] });
}
