import { keyFields } from '../../core/keys/key-record.js';
import {
  another,
  createScanner,
  enter,
  expectName,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../../wire/json/scanner.js';
import { LATER_MEMBERS } from '../../wire/traits/server-file.js';
import { DNS_MEMBERS, RESOLVER_MEMBERS } from '../dns-section.js';
import type { KeyList } from '../key-list.js';
import type { LayoutName } from '../layout.js';
import { memberOf, type ObjectNode, type ValueNode } from '../tree.js';

/** A member that the gateway ignores and leaves as it is. */
export interface UnknownMember {
  /** Its first place, such as `access_keys[3].owner`. */
  readonly place: string;
  readonly name: string;
  /** The number of elements of the same list that have it. */
  readonly count: number;
  /** The members that are known there. */
  readonly known: readonly string[];
}

/** Root members of both layouts that only servers read (recordings, and what is known of 0.4.x). */
const OF_SERVERS = [
  ...['version', 'log', 'log_level', 'debug', 'bind_ip', 'fallback', 'transport', 'config_version'],
  ...LATER_MEMBERS,
];
const LISTENER = ['token', 'webpath', 'username', 'password_hash'];
const RULE = ['domain_suffix', 'ip_cidr', 'protocol', 'send_from'];
const DNS = [...DNS_MEMBERS.values(), ...RESOLVER_MEMBERS];

type Found = UnknownMember[];

/** Checks everything but the elements of key lists, in the order of the file. */
export function unknownMembers(root: ObjectNode, layout: LayoutName): readonly UnknownMember[] {
  const found: Found = [];
  for (const { name, value } of root.members) {
    const known = ROOT[layout].get(name);
    if (known === undefined) addUnknown(found, name, name, [...ROOT[layout].keys()]);
    else known(found, value, root);
  }
  return found;
}

type Look = (found: Found, node: ValueNode, root: ObjectNode) => void;

const nothing: Look = () => undefined;
const lookAtDns: Look = (found, node) => lookAtMembers(found, node, 'dns', DNS);

const COMMON: readonly (readonly [string, Look])[] = [
  ...OF_SERVERS.map((name) => [name, nothing] as const),
  ['mode', nothing],
  ['access_keys', nothing],
  ['dns', lookAtDns],
];

/** The known root members of each layout, and how to check inside them. */
const ROOT: Readonly<Record<LayoutName, ReadonlyMap<string, Look>>> = {
  access_keys: new Map<string, Look>([
    ...COMMON,
    ['listen', nothing],
    ['api', (found, node) => lookAtMembers(found, node, 'api', ['enabled', 'bind', ...LISTENER])],
    [
      'outbound',
      (found, node) => {
        const known = ['enabled', 'protocol', 'address', 'port', 'default_action', 'rules'];
        lookAtMembers(found, node, 'outbound', known);
        lookAtElements(found, memberOf(node, 'rules'), 'outbound.rules', [...RULE, 'action']);
      },
    ],
  ]),
  inbounds: new Map<string, Look>([
    ...COMMON,
    ['inbounds', lookAtInbounds],
    ['outbounds', (found, node) => lookAtElements(found, node, 'outbounds', ['protocol', 'tag', 'server', 'port'])],
    [
      'routing',
      (found, node) => {
        lookAtMembers(found, node, 'routing', ['rules', 'default_outbound']);
        lookAtElements(found, memberOf(node, 'rules'), 'routing.rules', [...RULE, 'outbound']);
      },
    ],
  ]),
};

const INBOUND = ['protocol', 'tag', 'listen', 'port'];

function lookAtInbounds(found: Found, node: ValueNode): void {
  if (node.kind !== 'array') return;
  for (const [index, inbound] of node.elements.entries()) {
    const protocol = memberOf(inbound, 'protocol');
    const named = protocol?.kind === 'string' ? protocol.value : '';
    if (named === 'ostp') lookAtMembers(found, inbound, `inbounds[${index}]`, [...INBOUND, 'users']);
    else if (named === 'api') lookAtMembers(found, inbound, `inbounds[${index}]`, [...INBOUND, ...LISTENER]);
    else found.push({ place: `inbounds[${index}]`, name: '', count: 1, known: [] });
  }
}

function lookAtMembers(found: Found, node: ValueNode | undefined, place: string, known: readonly string[]): void {
  if (node?.kind !== 'object') return;
  for (const { name } of node.members) if (!known.includes(name)) addUnknown(found, `${place}.${name}`, name, known);
}

/** Checks the elements of an array; the same member of several elements is one finding. */
function lookAtElements(found: Found, node: ValueNode | undefined, place: string, known: readonly string[]): void {
  if (node?.kind !== 'array') return;
  const counted: Counted = new Map();
  for (const [index, element] of node.elements.entries()) {
    if (element.kind !== 'object') continue;
    for (const { name } of element.members) count(counted, name, `${place}[${index}].${name}`, known);
  }
  addCounted(found, counted, known);
}

/** Lists the unknown members of the elements of a key list. */
export function unknownInKeys(
  bytes: Buffer,
  list: KeyList,
  place: string,
  keyMember: string,
): readonly UnknownMember[] {
  const known = [keyMember, ...keyFields.map(({ member }) => member)];
  const counted: Counted = new Map();
  for (const [index, start] of list.starts.entries()) {
    const scanner = createScanner(bytes, true, start);
    if (scanner.kind !== Token.openObject) continue;
    for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
      expectName(scanner);
      const name = stringValue(scanner);
      count(counted, name, `${place}[${index}].${name}`, known);
      toValue(scanner);
      skipValue(scanner);
    }
  }
  const found: Found = [];
  addCounted(found, counted, known);
  return found;
}

type Counted = Map<string, { readonly place: string; count: number }>;

function count(counted: Counted, name: string, place: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const seen = counted.get(name);
  if (seen === undefined) counted.set(name, { place, count: 1 });
  else seen.count += 1;
}

function addCounted(found: Found, counted: Counted, known: readonly string[]): void {
  for (const [name, { place, count: times }] of counted) found.push({ place, name, count: times, known });
}

function addUnknown(found: Found, place: string, name: string, known: readonly string[]): void {
  found.push({ place, name, count: 1, known });
}
