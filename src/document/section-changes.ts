import { isDeepStrictEqual } from 'node:util';
import { isSameRule, placesContinued } from '../core/continued-rules.js';
import { DEFAULT_RESOLVER, OLDER_MEMBERS, olderMembers } from '../core/dns-settings.js';
import {
  DEFAULT_DNS,
  type DnsChange,
  type DnsConfig,
  type OutboundRule,
  type ResolverSettings,
} from '../core/model.js';
import { finish, Pace } from '../core/steps.js';
import { adoptedSteps } from './adopt.js';
import { DNS_MEMBERS, hasResolverForm, OLDER_OF, type PlainDns, readDns, renderResolver } from './dns-section.js';
import type { ConfigurationDocument } from './document.js';
import { createWarnings, isAbsent } from './reading.js';
import type { Rendered } from './style.js';
import { memberOf, type ObjectNode, type ValueNode } from './tree.js';
import {
  areEqualSteps,
  arrayOf,
  isScalar,
  keptValue,
  newValue,
  type ObjectValue,
  objectWith,
  touch,
  type Value,
  valueAt,
} from './value.js';

/** Members of the root that a change sets. */
type SetMembers = readonly (readonly [string, Value])[];

interface DnsMember {
  readonly name: string;
  readonly value: Rendered;
  /** The value that a missing member means; undefined if the member is always written. */
  readonly fallback: Rendered | undefined;
  /** The older member that it replaces. */
  readonly older: string | null;
}

/**
 * Sets the members of `dns` whose value differs; a missing or unusable `dns` becomes an object of those given. Missing
 * members that a server of the file requires are added with the values in force, and stay next to those of the form of
 * 0.4.6.
 */
export function withDns(
  { bytes }: ConfigurationDocument,
  root: ObjectNode,
  change: DnsChange,
  needed: readonly string[] = [],
): SetMembers {
  const node = memberOf(root, 'dns');
  const asked = [...plainMembers(change), ...resolverMembers(node, change.resolver ?? null)];
  if (asked.length === 0) return [];
  const given = [...asked, ...neededMembers(root, change, needed, asked)];
  const dns = node && valueAt(bytes, node);
  if (dns?.kind !== 'object') return [['dns', newValue(new Map(given.map(({ name, value }) => [name, value])))]];
  touch(dns);
  for (const member of given) setDnsMember(dns, member, needed);
  return [['dns', dns]];
}

function setDnsMember({ members }: ObjectValue, member: DnsMember, needed: readonly string[]): void {
  const { name, value, fallback, older } = member;
  const present = members.get(name);
  const replaced = older === null || needed.includes(older) ? undefined : members.get(older);
  if (older !== null && isGiven(replaced)) {
    if (present === undefined) {
      // It takes the older member's place, which has no effect once the newer one exists.
      members.delete(older);
      members.set(name, inPlaceOf(replaced, value));
      return;
    }
    members.set(older, inPlaceOf(replaced, null));
  }
  const said = isGiven(present) ? present : fallback === undefined ? undefined : newValue(fallback);
  const wanted = newValue(value);
  if (says(said, wanted)) return;
  // An edit in place leaves names where the file has them, so another order is written from scratch.
  members.set(name, keepsOrder(present, wanted) ? inPlaceOf(present, value) : wanted);
}

const isGiven = (value: Value | undefined): value is Value =>
  value !== undefined && !(value.kind === 'literal' && value.text === 'null');

/** Tells whether a value is the wanted one, names in their order too. Servers do not accept `53.0` for an integer. */
function says(present: Value | undefined, wanted: Value): boolean {
  if (present?.kind === 'number' && wanted.kind === 'number') return present.text === wanted.text;
  return present !== undefined && keepsOrder(present, wanted) && finish(areEqualSteps(present, wanted, new Pace()));
}

/** Tells whether an object has the wanted order of names once those that it lacks follow the ones that stay. */
function keepsOrder(present: Value | undefined, wanted: Value): boolean {
  if (present?.kind !== 'object' || wanted.kind !== 'object') return true;
  const staying = [...present.members.keys()].filter((name) => wanted.members.has(name));
  const names = [...wanted.members.keys()];
  return [...new Set([...staying, ...names])].every((name, index) => name === names[index]);
}

/** Returns the value for another's place, where it keeps what both have in common. */
function inPlaceOf(present: Value | undefined, rendered: Rendered): Value {
  const value = newValue(rendered);
  if (present === undefined) return value;
  return isScalar(value) ? { ...value, at: present.at } : finish(adoptedSteps(present, value, new Pace()));
}

function plainMembers(change: DnsChange): readonly DnsMember[] {
  const defaults: Readonly<Record<PlainDns, Rendered>> = DEFAULT_DNS;
  const isOlder = (setting: PlainDns) => OLDER_MEMBERS.some((member) => member === setting);
  return [...DNS_MEMBERS].flatMap(([setting, name]) => {
    const value: Rendered | undefined = change[setting];
    // Settings of the form of 0.4.6 override older ones, which may have waited for a write together with them.
    return value === undefined || (change.resolver && isOlder(setting))
      ? []
      : [{ name, value, fallback: defaults[setting], older: null }];
  });
}

/** Returns the older members that servers require and a change does not include, with their values after the change. */
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
    // The form of 0.4.6 would read no upstream at all as the default here.
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

/** Returns the members to write. An object of the older form gets all of them, and has the other form from then on. */
function resolverMembers(dns: ValueNode | undefined, settings: ResolverSettings | null): readonly DnsMember[] {
  if (settings === null) return [];
  const defaults = dns?.kind === 'object' && hasResolverForm(dns) ? renderResolver(DEFAULT_RESOLVER) : new Map();
  return [...renderResolver(settings)].map(([name, value]) => {
    return { name, value, fallback: defaults.get(name), older: OLDER_OF.get(name) ?? null };
  });
}

/**
 * Replaces the rules. Each that continues one in the file keeps its unknown members, and its comments too unless it
 * changes its place at once; an equal one keeps its text. Throws `ConfigurationShapeError` if outbound routing is not configured or the file cannot express a rule.
 */
export function withRules(
  { bytes, layout }: ConfigurationDocument,
  root: ObjectNode,
  rules: readonly OutboundRule[],
): SetMembers {
  const { name, node: owner, others } = layout.rulesHome(root);
  const render = (rule: OutboundRule) => layout.renderRule(root, rule);
  if (owner === null) return [[name, newValue(new Map<string, Rendered>([['rules', rules.map(render)], ...others]))]];
  const list = memberOf(owner, 'rules');
  if (list?.kind !== 'array') return [[name, objectWith(owner, [['rules', newValue(rules.map(render))]])]];
  const present = list.elements.map((node) => layout.readRule(root, node, `${name}.rules`, createWarnings()));
  const places = placesContinued(rules, present);
  const items = rules.map((rule, index) => {
    const place = places[index] ?? -1;
    const [node, before] = [list.elements[place], present[place]];
    if (node?.kind !== 'object' || !before) return newValue(render(rule));
    return isSameRule(before, rule) ? keptValue(node) : changedRule(valueAt(bytes, node), render(before), render(rule));
  });
  return [[name, objectWith(owner, [['rules', arrayOf(items, list)]])]];
}

/** Returns a rule with the members set in which another rule differs, or which it lacks. */
function changedRule(rule: Value, before: Members, after: Members): Value {
  if (rule.kind !== 'object') return newValue(after);
  const gone = [...before.keys()].filter((name) => !after.has(name)).map((name) => [name, null] as const);
  for (const [name, value] of [...after, ...gone]) {
    const present = rule.members.get(name);
    if (present !== undefined && isDeepStrictEqual(before.get(name), value)) continue;
    rule.members.set(name, inPlaceOf(present, value));
  }
  touch(rule);
  return rule;
}

type Members = ReadonlyMap<string, Rendered>;
