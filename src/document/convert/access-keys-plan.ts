import { type Address, addressOf } from '../address.js';
import { actionNamed, isAbsent } from '../reading.js';
import { memberOf, type ObjectNode, type ValueNode } from '../tree.js';
import { type Losses, loseMembers, NO_PLACE, TAKEN } from './losses.js';

/** The values of a file with a root `access_keys` that are read once and written in another form. */
export interface Plan {
  /** The address for clients, and that of the listener. */
  readonly listen: Address | null;
  readonly bind: Address | null;
  readonly hasApi: boolean;
  readonly hasOutbound: boolean;
  readonly hasKeys: boolean;
  readonly defaultAction: string | null;
}

/** Records what has no place in the other layout, and reads what is written in another form. */
export function planOf(root: ObjectNode, losses: Losses): Plan {
  loseMembers(root, '', (name) => isOne(root, name, ['inbounds', 'outbounds', 'routing']), TAKEN, losses);
  const keys = memberOf(root, 'access_keys');
  if (!isAbsent(keys) && keys.kind !== 'keys') losses.add('access_keys', 'it is no array; it is left out');
  const hasApi = isUsed(memberOf(root, 'api'), 'api', 'an inbound with the protocol "api" is always served', losses);
  const hasOutbound = isUsed(memberOf(root, 'outbound'), 'outbound', 'outbounds are always in use', losses);
  return {
    listen: readAddress(firstListen(memberOf(root, 'listen'), losses), 'listen', losses),
    bind: hasApi ? readAddress(memberOf(memberOf(root, 'api'), 'bind'), 'api.bind', losses) : null,
    hasApi,
    hasOutbound,
    hasKeys: keys?.kind === 'keys',
    defaultAction: hasOutbound ? readDefault(memberOf(memberOf(root, 'outbound'), 'default_action'), losses) : null,
  };
}

/** Tells whether a name is one of these, and the root has a member with it that is not null. */
function isOne(root: ObjectNode, name: string, names: readonly string[]): boolean {
  return names.includes(name) && !isAbsent(memberOf(root, name));
}

/** Tells whether an object says that it is enabled; one that does not has no place in the other layout. */
function isUsed(node: ValueNode | undefined, place: string, why: string, losses: Losses): boolean {
  if (isAbsent(node)) return false;
  if (node.kind !== 'object') {
    losses.add(place, 'it is no object; it is left out');
    return false;
  }
  const enabled = memberOf(node, 'enabled');
  if (enabled?.kind === 'boolean' && enabled.value) return true;
  losses.add(place, `it is not enabled, and ${why}; it is left out`);
  return false;
}

/** Returns the first of several addresses, because the other layout has one. */
function firstListen(node: ValueNode | undefined, losses: Losses): ValueNode | undefined {
  if (node?.kind !== 'array' || node.elements.length === 0) return node;
  for (const index of node.elements.keys()) if (index > 0) losses.add(`listen[${index}]`, NO_PLACE);
  return node.elements[0];
}

function readAddress(node: ValueNode | undefined, place: string, losses: Losses): Address | null {
  if (isAbsent(node)) return null;
  const address = node.kind === 'string' ? addressOf(node.value) : null;
  if (address === null) losses.add(place, 'it is no host:port; it is left out');
  return address;
}

function readDefault(node: ValueNode | undefined, losses: Losses): string | null {
  if (isAbsent(node)) return null;
  const action = node.kind === 'string' ? actionNamed(node.value) : null;
  if (action === null) losses.add('outbound.default_action', 'it is none of proxy, direct and block; it is left out');
  return action;
}
