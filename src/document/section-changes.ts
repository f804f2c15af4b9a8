import { isDeepStrictEqual } from 'node:util';
import { RULES } from '../core/continued-rules.js';
import { DEFAULT_RESOLVER, OLDER_MEMBERS, olderMembers } from '../core/dns-settings.js';
import {
  DEFAULT_DNS,
  type DnsChange,
  type DnsConfig,
  type OutboundRule,
  type ResolverSettings,
} from '../core/model.js';
import { finish, Pace } from '../core/steps.js';
import { continuedList, type ItemForm, inPlaceOf, type Members } from './continued-list.js';
import {
  DNS_MEMBERS,
  ENTRY_LISTS,
  type EntryKind,
  entryMembers,
  hasResolverForm,
  OLDER_OF,
  type PlainDns,
  readDns,
  renderResolver,
} from './dns-section.js';
import type { ConfigurationDocument } from './document.js';
import { createWarnings, isAbsent } from './reading.js';
import { isRenderedArray, type Rendered } from './style.js';
import { memberOf, type ObjectNode, type ValueNode } from './tree.js';
import {
  areEqualSteps,
  emptyObject,
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
  for (const member of given) setDnsMember(bytes, dns, member, needed);
  return [['dns', dns]];
}

/** The forms of the lists whose entries are objects. An entry continues an equal one, else one of the same name. */
const ENTRY_FORMS: ReadonlyMap<string, ItemForm<Members>> = new Map(
  [...ENTRY_LISTS].map(([list, kind]) => [list, entryForm(kind)]),
);

function entryForm({ read, named }: EntryKind): ItemForm<Members> {
  return {
    read(element) {
      const entry = read(element, '', createWarnings());
      return entry && entryMembers(entry);
    },
    render: (entry) => entry,
    isSame: isDeepStrictEqual,
    identities: [(entry) => JSON.stringify([...entry]), (entry) => String(entry.get(named))],
  };
}

function setDnsMember(bytes: Buffer, { members }: ObjectValue, member: DnsMember, needed: readonly string[]): void {
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
  const form = ENTRY_FORMS.get(name);
  if (form !== undefined && present?.at?.kind === 'array' && isRenderedArray(value)) {
    members.set(name, continuedList(bytes, present.at, value.filter(isMembers), form));
    return;
  }
  const isOrdered = present?.kind === 'object' && isMembers(value);
  members.set(name, isOrdered ? membersInOrder(present, value) : inPlaceOf(present, value));
}

/** Returns an object with these members, in their order, for another's place. An equal member keeps its spelling. */
function membersInOrder(present: ObjectValue, wanted: Members): ObjectValue {
  const result: ObjectValue = { ...emptyObject(present.at), isOrdered: true };
  for (const [name, value] of wanted) {
    const own = present.members.get(name);
    const isEqual = own !== undefined && says(own, newValue(value));
    result.members.set(name, isEqual ? own : inPlaceOf(own, value));
  }
  return result;
}

const isMembers = (value: Rendered): value is Members => value instanceof Map;

const isGiven = (value: Value | undefined): value is Value =>
  value !== undefined && !(value.kind === 'literal' && value.text === 'null');

/** Tells whether a value is the wanted one, names in their order too. Servers do not accept `53.0` for an integer. */
function says(present: Value | undefined, wanted: Value): boolean {
  if (present?.kind === 'number' && wanted.kind === 'number') return present.text === wanted.text;
  if (present === undefined || !isDeepStrictEqual(namesOf(present), namesOf(wanted))) return false;
  return finish(areEqualSteps(present, wanted, new Pace()));
}

const namesOf = (value: Value): readonly string[] => (value.kind === 'object' ? [...value.members.keys()] : []);

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
 * Replaces the rules, which continue those in the file. Throws `ConfigurationShapeError` if outbound routing is not configured or the
 * file cannot express a rule.
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
  const read = (node: ValueNode) => layout.readRule(root, node, `${name}.rules`, createWarnings());
  return [[name, objectWith(owner, [['rules', continuedList(bytes, list, rules, { ...RULES, read, render })]])]];
}
