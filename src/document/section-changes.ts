import { isDeepStrictEqual } from 'node:util';
import { placesContinued } from '../core/continued-rules.js';
import { DEFAULT_RESOLVER, OLDER_MEMBERS, olderMembers } from '../core/dns-settings.js';
import {
  DEFAULT_DNS,
  type DnsChange,
  type DnsConfig,
  type OutboundRule,
  type ResolverSettings,
} from '../core/model.js';
import {
  DNS_MEMBERS,
  hasResolverForm,
  type PlainDns,
  RESOLVER_MEMBERS,
  readDns,
  renderResolver,
  saysAlready,
} from './dns-section.js';
import type { ConfigurationDocument } from './document.js';
import { insertMember, membersOf, styleOf } from './element.js';
import { ConfigurationShapeError } from './layout.js';
import { createWarnings, isAbsent } from './reading.js';
import { insertItems, removeItems, type Sequence, sequenceStyle } from './sequence.js';
import { applySplices, type Splice, sortSplices, splice } from './splice.js';
import { fileStyle, lineIndent, type Rendered, renderMember, renderValue } from './style.js';
import { type ArrayNode, memberOf, type ObjectNode, type ValueNode } from './tree.js';

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

interface DnsMember {
  readonly name: string;
  readonly value: Rendered;
  /** Its meaning where the object lacks it; undefined: it is written all the same. */
  readonly fallback: Rendered | undefined;
  /** The older member for which it stands. */
  readonly older: string | null;
}

/**
 * Writes the members of `dns` whose value differs; a missing or unusable `dns` becomes an object of those given. Members that a
 * server of the file needs are written with the values in force where they lack, and stay beside those of the form of 0.4.6.
 */
export function changeDns(
  { bytes }: ConfigurationDocument,
  root: ObjectNode,
  change: DnsChange,
  needed: readonly string[] = [],
): Splice[] {
  const dns = memberOf(root, 'dns');
  const asked = [...plainMembers(change), ...resolverMembers(dns, change.resolver ?? null)];
  if (asked.length === 0) return [];
  const given = [...asked, ...neededMembers(root, change, needed, asked)];
  if (dns?.kind !== 'object') {
    return putMember(bytes, root, 'dns', new Map(given.map(({ name, value }) => [name, value])));
  }
  const differing = given.filter(({ name, value, fallback }) => {
    const node = memberOf(dns, name);
    return (fallback === undefined && isAbsent(node)) || !saysAlready(node, value, fallback ?? null);
  });
  const style = sequenceStyle(bytes, membersOf(dns), styleOf(bytes, dns, fileStyle(bytes)));
  const textOf = ({ name, value }: DnsMember) => renderMember(name, value, style, style.indent);
  const olderOf = ({ older }: DnsMember) =>
    dns.members.findLast(({ name, value }) => name === older && !needed.includes(name) && !isAbsent(value));
  const isThere = ({ name }: DnsMember) => memberOf(dns, name) !== undefined;
  const takesOver = (member: DnsMember) => !isThere(member) && olderOf(member) !== undefined;
  return [
    ...putMembers(
      bytes,
      dns,
      new Map(differing.filter((one) => !takesOver(one)).map(({ name, value }) => [name, value])),
    ),
    // The older member's place is its own; beside it, the older one says nothing any more.
    ...given.flatMap((member) => {
      const older = olderOf(member);
      if (older === undefined) return [];
      if (takesOver(member)) return [splice(older.start, older.value.end, textOf(member))];
      return [splice(older.value.start, older.value.end, 'null')];
    }),
  ];
}

/** Makes these the values of members, as `putMember` does. */
function putMembers(bytes: Buffer, owner: ObjectNode, values: ReadonlyMap<string, Rendered>): Splice[] {
  const style = sequenceStyle(bytes, membersOf(owner), styleOf(bytes, owner, fileStyle(bytes)));
  const isPresent = ([name]: readonly [string, Rendered]) => memberOf(owner, name) !== undefined;
  const absent = [...values].filter((each) => !isPresent(each));
  const texts = absent.map(([name, value]) => renderMember(name, value, style, style.indent));
  return [
    ...[...values].filter(isPresent).flatMap(([name, value]) => putMember(bytes, owner, name, value)),
    ...insertItems(bytes, membersOf(owner), owner.members.length - 1, texts, style),
  ];
}

function plainMembers(change: DnsChange): readonly DnsMember[] {
  const defaults: Readonly<Record<PlainDns, Rendered>> = DEFAULT_DNS;
  const isOlder = (setting: PlainDns) => OLDER_MEMBERS.some((member) => member === setting);
  return [...DNS_MEMBERS].flatMap(([setting, name]) => {
    const value: Rendered | undefined = change[setting];
    // Settings of the form of 0.4.6 stand for the older ones, which may have waited for a write with them.
    return value === undefined || (change.resolver && isOlder(setting))
      ? []
      : [{ name, value, fallback: defaults[setting], older: null }];
  });
}

/** The members of older forms that servers need, beside those that a change gives, as the settings are then. */
function neededMembers(
  root: ObjectNode,
  change: DnsChange,
  needed: readonly string[],
  asked: readonly DnsMember[],
): readonly DnsMember[] {
  const dns: DnsConfig = { ...readDns(root, createWarnings()), ...change };
  const older = olderMembers(dns);
  const values: Readonly<Record<string, Rendered>> = {
    enabled: dns.enabled,
    // Of no upstream at all the form of 0.4.6 would make one of the default here.
    doh_upstream: dns.resolver?.upstreams.length === 0 ? '' : older.dohUpstream,
    adblock_urls: older.adblockUrls,
    custom_domains: older.customDomains,
  };
  const present = memberOf(root, 'dns');
  return needed.flatMap((name) => {
    const value = values[name];
    const isSaid = asked.some((member) => member.name === name);
    if (value === undefined || isSaid || (dns.resolver === null && !isAbsent(memberOf(present, name)))) return [];
    return [{ name, value, fallback: undefined, older: null }];
  });
}

/** All members go into an object of the older form, so that it has the other form from then on. */
function resolverMembers(dns: ValueNode | undefined, settings: ResolverSettings | null): readonly DnsMember[] {
  if (settings === null) return [];
  const defaults = dns?.kind === 'object' && hasResolverForm(dns) ? renderResolver(DEFAULT_RESOLVER) : new Map();
  return [...renderResolver(settings)].map(([name, value]) => {
    return { name, value, fallback: defaults.get(name), older: RESOLVER_MEMBERS.get(name) ?? null };
  });
}

/**
 * Replaces the rules. Those that are the same at the start and at the end of the list keep their text, and of the others each that
 * continues one of the file keeps its comments and unknown members. Throws `ConfigurationShapeError` when outbound routing is not
 * configured or the file cannot express a rule.
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
    return putMember(bytes, owner, member, new Map([[home.member, rendered], ...home.others]));
  }
  const { value, owner, member } = home;
  if (value?.kind !== 'array') return putMember(bytes, owner, member, rendered);
  const present = value.elements.map((node) => layout.readRule(root, node, home.place, createWarnings()));
  const { head, tail } = sameEnds(present, rules);
  const middle = present.slice(head, present.length - tail);
  const wanted = rules.slice(head, rules.length - tail);
  const places = placesContinued(wanted, middle);
  const style = sequenceStyle(bytes, elementsOf(value), fileStyle(bytes));
  const texts = places.map((place, index) => {
    const after = rendered[head + index] ?? new Map();
    const [node, before] = place === null ? [] : [value.elements[head + place], middle[place]];
    if (node?.kind !== 'object' || !before) return renderValue(after, style, style.indent);
    return changedRule(bytes, node, layout.renderRule(root, before), after);
  });
  return replaceMiddle(bytes, value, { head, tail }, texts);
}

/** The text of a rule with those members changed that another rule has otherwise or that it lacks. */
function changedRule(bytes: Buffer, node: ObjectNode, before: Members, after: Members): string {
  const gone = [...before.keys()].filter((name) => !after.has(name)).map((name) => [name, null] as const);
  const isSaid = (name: string) => node.members.some((member) => member.name === name);
  const differing = [...after, ...gone].filter(
    ([name, value]) => !isSaid(name) || !isDeepStrictEqual(before.get(name), value),
  );
  const splices = putMembers(bytes, node, new Map(differing));
  const moved = splices.map(({ from, to, text }) => ({ from: from - node.start, to: to - node.start, text }));
  return applySplices(bytes.subarray(node.start, node.end), sortSplices(moved)).toString('utf8');
}

type Members = ReadonlyMap<string, Rendered>;

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
  if ((a.sendFrom ?? null) !== (b.sendFrom ?? null)) return false;
  return sameTexts(a.domainSuffix, b.domainSuffix) && sameTexts(a.ipCidr, b.ipCidr);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/** Replaces the items between two ends: one by one as far as both lists go, then removes or inserts the rest. */
function replaceMiddle(bytes: Buffer, list: ArrayNode, { head, tail }: SameEnds, texts: readonly string[]): Splice[] {
  const sequence = elementsOf(list);
  const style = sequenceStyle(bytes, sequence, fileStyle(bytes));
  const middle = list.elements.slice(head, list.elements.length - tail);
  const replaced = middle.flatMap((node, index) => {
    const text = texts[index];
    return text === undefined ? [] : [splice(node.start, node.end, text)];
  });
  const removed = middle.map((_, index) => head + index).slice(texts.length);
  const after = head + middle.length - 1;
  const inserted = insertItems(bytes, sequence, after, texts.slice(middle.length), style);
  return [...replaced, ...removeItems(bytes, sequence, removed), ...inserted];
}

export function elementsOf(list: ArrayNode): Sequence {
  return {
    open: list.start,
    close: list.end - 1,
    starts: list.elements.map(({ start }) => start),
    ends: list.elements.map(({ end }) => end),
  };
}
