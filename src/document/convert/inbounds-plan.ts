import type { Address } from '../address.js';
import { inboundsOf, type Outbound, type PlacedObject, readOutbounds } from '../inbounds-layout.js';
import { createWarnings, isAbsent } from '../reading.js';
import { memberOf, type ObjectNode, type ValueNode } from '../tree.js';
import { type Losses, loseMembers, NO_PLACE, TAGS, TAKEN } from './losses.js';

/** The parts of a file with inbounds that a conversion reads. */
export interface Parts {
  /** The inbounds for keys, and those for the listener. */
  readonly holders: readonly PlacedObject[];
  readonly listeners: readonly PlacedObject[];
  readonly outbounds: readonly Outbound[];
  /** The outbound that makes routing configured. */
  readonly proxy: Outbound | undefined;
}

/** Finds the parts. */
export function partsOf(root: ObjectNode): Parts {
  const outbounds = readOutbounds(root, createWarnings());
  return {
    holders: inboundsOf(root, 'ostp'),
    listeners: inboundsOf(root, 'api'),
    outbounds,
    proxy: outbounds.find(({ protocol }) => protocol === 'socks5'),
  };
}

/** The values that are read once and written in another form. */
export interface Plan {
  readonly listen: Address | null;
  readonly bind: Address | null;
  readonly defaultAction: string | null;
}

/** Records what has no place in the other layout, and reads what is written in another form. */
export function planOf(root: ObjectNode, parts: Parts, losses: Losses): Plan {
  const [holder, ...holders] = parts.holders;
  const [listener, ...listeners] = parts.listeners;
  loseRoot(root, losses);
  loseInbounds(root, parts, losses);
  for (const { place } of holders)
    losses.add(place, 'its keys join the one list; its address and other members are left out');
  for (const { place } of listeners) losses.add(place, NO_PLACE);
  if (holder !== undefined) loseHolder(holder, losses);
  if (listener !== undefined) loseTag(listener.node, listener.place, TAGS.listener, losses);
  loseOutbounds(root, parts, losses);
  return {
    listen: holder === undefined ? null : readAddress(holder, { host: '0.0.0.0', port: null }, losses),
    bind: listener === undefined ? null : readAddress(listener, { host: '127.0.0.1', port: 9090 }, losses),
    defaultAction: readDefault(root, parts, losses),
  };
}

function loseRoot(root: ObjectNode, losses: Losses): void {
  const list = memberOf(root, 'access_keys');
  if (!isAbsent(list)) {
    const text =
      'it is not read in a file with inbounds; it is left out: "keyway config adopt" takes its keys over first';
    losses.add('access_keys', text);
  }
  const taken = ['listen', 'api', 'outbound'];
  loseMembers(root, '', (name) => taken.includes(name) && !isAbsent(memberOf(root, name)), TAKEN, losses);
  for (const name of ['outbounds', 'routing'] as const) {
    const wanted = name === 'outbounds' ? 'array' : 'object';
    const node = memberOf(root, name);
    if (!isAbsent(node) && node.kind !== wanted) losses.add(name, `it is no ${wanted}; it is left out`);
  }
}

function loseInbounds(root: ObjectNode, { holders, listeners }: Parts, losses: Losses): void {
  const inbounds = memberOf(root, 'inbounds');
  if (inbounds?.kind !== 'array') return;
  const known = new Set<ValueNode>([...holders, ...listeners].map(({ node }) => node));
  for (const [index, node] of inbounds.elements.entries()) {
    if (!known.has(node)) losses.add(`inbounds[${index}]`, NO_PLACE);
  }
}

function loseHolder({ node, place }: PlacedObject, losses: Losses): void {
  const known = ['protocol', 'tag', 'listen', 'port', 'users'];
  loseMembers(node, place, (name) => !known.includes(name), NO_PLACE, losses);
  loseTag(node, place, TAGS.keys, losses);
  const users = memberOf(node, 'users');
  if (!isAbsent(users) && users.kind !== 'keys') losses.add(`${place}.users`, 'it is no array; it is left out');
}

/** Records a tag as lost unless a conversion back would assign the same one. */
function loseTag(node: ValueNode, place: string, usual: string, losses: Losses): void {
  const tag = memberOf(node, 'tag');
  if (isAbsent(tag) || (tag.kind === 'string' && tag.value === usual)) return;
  losses.add(`${place}.tag`, NO_PLACE);
}

/** Reads `listen` and `port` as one address; null if the inbound has neither, or they are no valid address. */
function readAddress(
  { node, place }: PlacedObject,
  fallback: { readonly host: string; readonly port: number | null },
  losses: Losses,
): Address | null {
  const [listen, port] = [memberOf(node, 'listen'), memberOf(node, 'port')];
  if (isAbsent(listen) && isAbsent(port)) return null;
  const isPort = port?.kind === 'integer' && port.value >= 0n && port.value <= 65_535n;
  if (!isAbsent(listen) && listen.kind !== 'string') losses.add(`${place}.listen`, 'it is no text; it is left out');
  if (!isAbsent(port) && !isPort) losses.add(`${place}.port`, 'it is no port; it is left out');
  const host = listen?.kind === 'string' ? listen.value : fallback.host;
  const number = isPort ? Number(port.value) : fallback.port;
  if (number !== null) return { host, port: number };
  if (listen?.kind === 'string') losses.add(`${place}.listen`, 'there is no port beside it; it is left out');
  return null;
}

/** Records the outbounds and rules that the single `outbound` cannot express. */
function loseOutbounds(root: ObjectNode, parts: Parts, losses: Losses): void {
  const { outbounds, proxy } = parts;
  const nodes = memberOf(root, 'outbounds');
  const seen = new Set<string>();
  for (const [index, node] of (nodes?.kind === 'array' ? nodes.elements : []).entries()) {
    const place = `outbounds[${index}]`;
    const outbound = outbounds.find((one) => one.node === node);
    if (outbound === proxy && outbound !== undefined) loseTag(node, place, TAGS.proxy, losses);
    else if (outbound !== undefined && isPlain(outbound) && !seen.has(outbound.protocol)) {
      seen.add(outbound.protocol);
      loseTag(node, place, outbound.protocol, losses);
    } else losses.add(place, NO_PLACE);
  }
  loseMembers(
    memberOf(root, 'routing'),
    'routing',
    (name) => !['rules', 'default_outbound'].includes(name),
    NO_PLACE,
    losses,
  );
  const rules = memberOf(memberOf(root, 'routing'), 'rules');
  if (isAbsent(rules)) return;
  if (rules.kind !== 'array') losses.add('routing.rules', 'it is no array; it is left out');
  else if (proxy === undefined && rules.elements.length > 0) {
    losses.add('routing.rules', 'there is no outbound with the protocol "socks5"; they are left out');
  }
}

/** Tells whether an action of the other layout expresses an outbound completely. */
function isPlain({ node, protocol }: Outbound): boolean {
  const isAction = protocol === TAGS.direct || protocol === TAGS.block;
  return isAction && node.members.every(({ name }) => name === 'protocol' || name === 'tag');
}

function readDefault(root: ObjectNode, { outbounds, proxy }: Parts, losses: Losses): string | null {
  const node = memberOf(memberOf(root, 'routing'), 'default_outbound');
  if (isAbsent(node)) return null;
  const place = 'routing.default_outbound';
  const target = outbounds.find(({ tag }) => tag !== null && node.kind === 'string' && tag === node.value);
  if (target === undefined) losses.add(place, 'no outbound has this tag; it is left out');
  else if (proxy === undefined && target.action !== 'direct') {
    losses.add(place, 'there is no outbound with the protocol "socks5"; it is left out');
  } else if (target.action === 'proxy' && target !== proxy) losses.add(place, otherProxy(proxy));
  return target?.action ?? null;
}

/** Returns why a rule, or the default, would change its meaning. */
export function otherProxy(proxy: Outbound | undefined): string {
  return `it goes to another outbound than ${proxy?.place ?? 'a proxy'}; it becomes "proxy", which is that one`;
}
