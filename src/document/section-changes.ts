import { DEFAULT_DNS, type DnsChange, type DnsConfig, type OutboundRule } from '../core/model.js';
import { DNS_MEMBERS, saysAlready } from './dns-section.js';
import type { ConfigurationDocument } from './document.js';
import { insertMember, membersOf, styleOf } from './element.js';
import { ConfigurationShapeError } from './layout.js';
import { createWarnings, isAbsent } from './reading.js';
import { insertItems, removeItems, type Sequence, sequenceStyle } from './sequence.js';
import { type Splice, splice } from './splice.js';
import { fileStyle, lineIndent, type Rendered, renderMember, renderValue } from './style.js';
import { type ArrayNode, memberOf, type ObjectNode } from './tree.js';

/**
 * Makes `value` the value of a member: in place where the object has it, else behind its last member. The value is
 * written in the style of its object.
 */
export function putMember(bytes: Buffer, owner: ObjectNode, name: string, value: Rendered): Splice[] {
  const present = memberOf(owner, name);
  const base = fileStyle(bytes);
  if (present === undefined) return insertMember(bytes, owner, owner.members.length - 1, name, value, base);
  const style = sequenceStyle(bytes, membersOf(owner), styleOf(bytes, owner, base));
  return [splice(present.start, present.end, renderValue(value, style, lineIndent(bytes, present.start)))];
}

/** Makes an empty array for keys where the first holder has none. Throws `ConfigurationShapeError` where it cannot. */
export function makeKeyList(document: ConfigurationDocument, root: ObjectNode): Splice[] {
  const { bytes, layout } = document;
  const [home] = layout.keyHolders(root);
  if (home === undefined) throw new ConfigurationShapeError(`${layout.noHolder} to take a new key`);
  if (!isAbsent(home.value))
    throw new ConfigurationShapeError(`${home.place}: expected an array to put a new key into`);
  return putMember(bytes, home.owner, home.member, []);
}

/** Writes the members of `dns` whose value differs; a missing or unusable `dns` becomes an object of those given. */
export function changeDns({ bytes }: ConfigurationDocument, root: ObjectNode, change: DnsChange): Splice[] {
  const given = [...DNS_MEMBERS].flatMap(([setting, name]) => {
    const value: Rendered | undefined = change[setting];
    return value === undefined ? [] : [{ setting, name, value }];
  });
  const dns = memberOf(root, 'dns');
  if (given.length === 0) return [];
  if (dns?.kind !== 'object') {
    return putMember(bytes, root, 'dns', new Map(given.map(({ name, value }) => [name, value])));
  }
  const defaults: Readonly<Record<keyof DnsConfig, Rendered>> = { ...DEFAULT_DNS };
  const differing = given.filter(
    ({ setting, name, value }) => !saysAlready(memberOf(dns, name), value, defaults[setting]),
  );
  const present = differing.filter(({ name }) => memberOf(dns, name) !== undefined);
  const style = sequenceStyle(bytes, membersOf(dns), styleOf(bytes, dns, fileStyle(bytes)));
  const absent = differing.filter(({ name }) => memberOf(dns, name) === undefined);
  const texts = absent.map(({ name, value }) => renderMember(name, value, style, style.indent));
  return [
    ...present.flatMap(({ name, value }) => putMember(bytes, dns, name, value)),
    ...insertItems(bytes, membersOf(dns), dns.members.length - 1, texts, style),
  ];
}

/**
 * Replaces the rules. Those that are the same at the start and at the end of the list keep their text. Throws
 * `ConfigurationShapeError` when outbound routing is not configured or the file cannot express a rule.
 */
export function changeRules(
  { bytes, layout }: ConfigurationDocument,
  root: ObjectNode,
  rules: readonly OutboundRule[],
): Splice[] {
  const rendered = rules.map((rule) => layout.renderRule(root, rule));
  const home = layout.rulesHome(root);
  if ('missing' in home) {
    const { owner, member } = home.missing;
    return putMember(bytes, owner, member, new Map([[home.member, rendered]]));
  }
  const { value, owner, member } = home;
  if (value?.kind !== 'array') return putMember(bytes, owner, member, rendered);
  const present = value.elements.map((node) => layout.readRule(root, node, home.place, createWarnings()));
  const kept = sameEnds(present, rules);
  return replaceMiddle(bytes, value, kept, rendered);
}

/** The numbers of items that are the same at the start and at the end of both lists. */
interface SameEnds {
  readonly head: number;
  readonly tail: number;
}

function sameEnds(present: readonly (OutboundRule | null)[], wanted: readonly OutboundRule[]): SameEnds {
  const most = Math.min(present.length, wanted.length);
  let head = 0;
  while (head < most && sameRule(present[head], wanted[head])) head += 1;
  let tail = 0;
  while (tail < most - head && sameRule(present.at(-1 - tail), wanted.at(-1 - tail))) tail += 1;
  return { head, tail };
}

function sameRule(a: OutboundRule | null | undefined, b: OutboundRule | null | undefined): boolean {
  if (!a || !b || a.action !== b.action || a.protocol !== b.protocol) return false;
  return sameTexts(a.domainSuffix, b.domainSuffix) && sameTexts(a.ipCidr, b.ipCidr);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/** Replaces the items between two ends: one by one as far as both lists go, then removes or inserts the rest. */
function replaceMiddle(
  bytes: Buffer,
  list: ArrayNode,
  { head, tail }: SameEnds,
  wanted: readonly Rendered[],
): Splice[] {
  const sequence = elementsOf(list);
  const style = sequenceStyle(bytes, sequence, fileStyle(bytes));
  const middle = list.elements.slice(head, list.elements.length - tail);
  const texts = wanted.slice(head, wanted.length - tail).map((rule) => renderValue(rule, style, style.indent));
  const replaced = middle.flatMap((node, index) => {
    const text = texts[index];
    return text === undefined ? [] : [splice(node.start, node.end, text)];
  });
  const removed = middle.map((_, index) => head + index).slice(texts.length);
  const after = head + middle.length - 1;
  const inserted = insertItems(bytes, sequence, after, texts.slice(middle.length), style);
  return [...replaced, ...removeItems(bytes, sequence, removed), ...inserted];
}

function elementsOf(list: ArrayNode): Sequence {
  return {
    open: list.start,
    close: list.end - 1,
    starts: list.elements.map(({ start }) => start),
    ends: list.elements.map(({ end }) => end),
  };
}
