import type { AccessKey } from '../../core/model.js';
import {
  type FileMember,
  type FileMembers,
  type FileType,
  type GivenMembers,
  rootListType,
  type ServerFile,
} from '../../wire/traits/server-file.js';
import { inboundsOf } from '../inbounds-layout.js';
import { EMPTY_KEY, type KeysNode, TWICE } from '../key-list.js';
import { isAbsent } from '../reading.js';
import { type MemberNode, memberOf, type ObjectNode, type ValueNode } from '../tree.js';
import type { ServerText } from './server-text.js';

/**
 * Returns what makes the start of a line's servers fail, as a clause that begins with the place; null for nothing.
 * Lists of keys are ignored if `keysCount` is false.
 */
export function startProblem(
  { root, bytes, problem }: ServerText,
  { root: type, rules }: ServerFile,
  { keysCount = true }: { readonly keysCount?: boolean } = {},
): string | null {
  if (root === null) return problem;
  const mistyped = problemOf(root, type, { bytes, place: '', lastCounts: false, keysCount });
  if (mistyped !== null) return mistyped;
  const given = givenIn(root);
  const broken = rules.find((rule) => !rule.isKept(given));
  return broken === undefined ? null : `${broken.place}: expected ${broken.expected}`;
}

/** Lists the keys that servers of a layout have after their start, including empty ones; the last of equal ones. */
export function keysAtStart({ root }: ServerText, layout: ServerFile['layout']): readonly AccessKey[] {
  if (root === null) return [];
  const lists =
    layout === 'access_keys'
      ? [memberOf(root, 'access_keys')]
      : inboundsOf(root, 'ostp').map(({ node }) => memberOf(node, 'users'));
  const keys = new Map<string, AccessKey>();
  for (const list of lists) {
    if (list?.kind !== 'keys') continue;
    for (const record of list.records) keys.set(record.accessKey, record);
    if (list.faults.some(({ text }) => text === EMPTY_KEY))
      keys.set('', { accessKey: '', name: null, limitBytes: null });
  }
  return [...keys.values()];
}

/** Returns what is wrong with an element of a root `access_keys`, which ends live reloads, too; null for nothing. */
export function rootListProblem({ root, bytes }: ServerText, file: ServerFile): string | null {
  const list = memberOf(root ?? undefined, 'access_keys');
  if (list?.kind !== 'keys' || list.list.starts.length === 0) return null;
  return problemOf(list, rootListType(file), { bytes, place: 'access_keys', lastCounts: false, keysCount: true });
}

interface Where {
  readonly bytes: Buffer;
  /** Empty for the root. */
  readonly place: string;
  /** True if the last of equal members counts. */
  readonly lastCounts: boolean;
  readonly keysCount: boolean;
}

function problemOf(node: ValueNode, type: FileType, where: Where): string | null {
  if (type === 'anything') return null;
  if (type === 'text') return node.kind === 'string' ? null : expected(where, 'a string');
  if (type === 'flag') return node.kind === 'boolean' ? null : expected(where, 'true or false');
  if ('lastCounts' in type) return problemOf(node, type.lastCounts, { ...where, lastCounts: true });
  if ('keys' in type) return keysProblem(node, type.plainAlone, where);
  if ('integerTo' in type) return integerProblem(node, type.integerTo, where);
  if ('words' in type) {
    const isWord = node.kind === 'string' && type.words.includes(node.value);
    return isWord ? null : expected(where, type.words.map((word) => `"${word}"`).join(' or '));
  }
  if ('either' in type) {
    const fits = type.either.some((one) => problemOf(node, one, where) === null);
    return fits ? null : expected(where, type.expected);
  }
  if ('elements' in type) return elementsProblem(node, type, where);
  if ('named' in type) {
    if (node.kind !== 'object') return expected(where, 'an object');
    return firstOf(node.members, ({ name, value }) => problemOf(value, type.named, at(where, name)));
  }
  if ('protocols' in type) return protocolsProblem(node, type.protocols, where);
  return membersProblem(node, type.members, where);
}

const expected = ({ place }: Where, words: string) => `${place === '' ? 'the root' : place}: expected ${words}`;

const at = (where: Where, member: string): Where => ({
  ...where,
  place: where.place === '' ? member : `${where.place}.${member}`,
});

function firstOf<T>(values: Iterable<T>, problem: (value: T) => string | null): string | null {
  for (const value of values) {
    const found = problem(value);
    if (found !== null) return found;
  }
  return null;
}

function integerProblem(node: ValueNode, most: bigint, where: Where): string | null {
  const fits = node.kind === 'integer' && node.value >= 0n && node.value <= most;
  return fits ? null : expected(where, `an integer from 0 to ${most}`);
}

function elementsProblem(
  node: ValueNode,
  { elements, count }: { readonly elements: FileType; readonly count?: number },
  where: Where,
): string | null {
  if (node.kind !== 'array') return expected(where, 'an array');
  if (count !== undefined && node.elements.length !== count) return expected(where, `${count} elements`);
  return firstOf(node.elements.entries(), ([index, element]) => {
    return problemOf(element, elements, { ...where, place: `${where.place}[${index}]` });
  });
}

/** Checks members. An array may replace an object; its elements are then the values of all members in order. */
function membersProblem(node: ValueNode, members: FileMembers, where: Where): string | null {
  if (node.kind === 'object') {
    const known = node.members.filter(({ name }) => Object.hasOwn(members, name));
    return firstOf(Object.entries(members), ([name, member]) => memberProblem(known, name, member, where));
  }
  if (node.kind !== 'array' || where.place === '') return expected(where, 'an object');
  const named = Object.entries(members);
  if (node.elements.length > named.length) return expected(where, `${named.length} elements`);
  return firstOf(named.entries(), ([index, [name, { type, mayBeNull, mayLack }]]) => {
    const value = node.elements[index];
    if (value === undefined) return mayLack && !mayBeNull ? null : expected(where, `${named.length} elements`);
    return mayBeNull && value.kind === 'null' ? null : problemOf(value, type, at(where, name));
  });
}

function memberProblem(known: readonly MemberNode[], name: string, member: FileMember, where: Where): string | null {
  const { type, mayLack, mayBeNull } = member;
  const there = known.filter((one) => one.name === name);
  if (there.length > 1 && !where.lastCounts) return `${at(where, name).place}: it stands there twice`;
  const value = there.at(-1)?.value ?? NOTHING;
  if (value === NOTHING ? mayLack : mayBeNull && value.kind === 'null') return null;
  return problemOf(value, type, at(where, name));
}

/** Represents a missing value: no type accepts null. */
const NOTHING: ValueNode = { kind: 'null', start: 0, end: 0 };

function protocolsProblem(
  node: ValueNode,
  protocols: Readonly<Record<string, FileMembers>>,
  where: Where,
): string | null {
  if (node.kind !== 'object') return expected(where, 'an object');
  const named = memberOf(node, 'protocol');
  const members =
    named?.kind === 'string' && Object.hasOwn(protocols, named.value) ? protocols[named.value] : undefined;
  if (members !== undefined) return membersProblem(node, members, where);
  return expected(at(where, 'protocol'), Object.keys(protocols).join(', '));
}

function keysProblem(node: ValueNode, plainAlone: boolean, where: Where): string | null {
  if (node.kind !== 'keys') return expected(where, 'an array of keys');
  if (!where.keysCount) return null;
  if (node.list.starts.length === 0) return expected(where, 'at least one key');
  const fault = node.faults.find(({ text }) => text !== EMPTY_KEY && !(where.lastCounts && text === TWICE));
  if (fault !== undefined) {
    const { index, member, text } = fault;
    return `${where.place}[${index}]${member === '' ? '' : `.${member}`}: ${text.replace(/;.*/, '')}`;
  }
  const object = plainAlone ? firstObject(node, where.bytes) : -1;
  return object < 0 ? null : expected({ ...where, place: `${where.place}[${object}]` }, 'a string, as each key');
}

const QUOTE = 0x22;

function firstObject({ list: { starts } }: KeysNode, bytes: Buffer): number {
  return starts.findIndex((start) => bytes[start] !== QUOTE);
}

function givenIn(root: ObjectNode): GivenMembers {
  const nodeAt = (place: string) =>
    place.split('.').reduce<ValueNode | undefined>((node, name) => memberOf(node, name), root);
  const textOf = (node: ValueNode | undefined) => (node?.kind === 'string' ? [node.value] : []);
  return {
    text: (place) => textOf(nodeAt(place))[0] ?? null,
    isOn(place) {
      const node = nodeAt(place);
      return node?.kind === 'boolean' && node.value;
    },
    texts(place) {
      const node = nodeAt(place);
      if (isAbsent(node)) return null;
      return node.kind === 'array' ? node.elements.flatMap(textOf) : textOf(node);
    },
    elements(place) {
      const node = nodeAt(place);
      if (node?.kind !== 'array') return [];
      return node.elements.flatMap((element) => (element.kind === 'object' ? [givenIn(element)] : []));
    },
  };
}
