import { DEFAULT_BIND, type OutboundAction, type OutboundSettings } from '../core/model.js';
import { ConfigurationShapeError, type Layout, ruleMembers } from './layout.js';
import {
  actionNamed,
  isAbsent,
  isObjectHere,
  readBoolean,
  readElements,
  readPasswordHash,
  readPort,
  readRule,
  readString,
  readStrings,
  type Warnings,
} from './reading.js';
import { memberOf, type ObjectNode } from './tree.js';

/** The layout with a root array `access_keys` (protocol: "Configuration file"). */
export const accessKeysLayout: Layout = {
  name: 'access_keys',
  keyMember: 'access_key',
  bareStrings: true,
  shapes: {
    mode: 'tree',
    listen: 'tree',
    access_keys: { keys: 'access_key' },
    api: 'tree',
    outbound: 'tree',
    dns: 'tree',
  },
  noHolder: 'the root is no object',

  keyHolders: (root) => [
    { place: 'access_keys', owner: root, member: 'access_keys', value: memberOf(root, 'access_keys'), needed: false },
  ],

  readListener(root, warnings) {
    const api = memberOf(root, 'api');
    if (!isObjectHere(api, 'api', warnings)) return null;
    return {
      enabled: readBoolean(memberOf(api, 'enabled'), 'api.enabled', false, warnings),
      bind: readString(memberOf(api, 'bind'), 'api.bind', DEFAULT_BIND, warnings),
      token: readString(memberOf(api, 'token'), 'api.token', null, warnings),
      webpath: readString(memberOf(api, 'webpath'), 'api.webpath', '', warnings),
      username: readString(memberOf(api, 'username'), 'api.username', '', warnings),
      passwordHash: readPasswordHash(memberOf(api, 'password_hash'), 'api.password_hash', warnings),
    };
  },

  listenerOf(root) {
    const api = memberOf(root, 'api');
    return api?.kind === 'object' ? api : null;
  },
  noListener: 'api: expected an object, the listener whose password it is',

  readListen(root, warnings) {
    const listen = memberOf(root, 'listen');
    if (listen?.kind !== 'array') return readString(listen, 'listen', null, warnings);
    return readStrings(listen, 'listen', warnings)[0] ?? null;
  },

  readOutbound(root, warnings): OutboundSettings | null {
    const outbound = memberOf(root, 'outbound');
    if (!isObjectHere(outbound, 'outbound', warnings)) return null;
    return {
      enabled: readBoolean(memberOf(outbound, 'enabled'), 'outbound.enabled', false, warnings),
      protocol: readString(memberOf(outbound, 'protocol'), 'outbound.protocol', '', warnings),
      address: readString(memberOf(outbound, 'address'), 'outbound.address', '', warnings),
      port: readPort(memberOf(outbound, 'port'), 'outbound.port', 0, warnings),
      defaultAction: readDefaultAction(outbound, warnings),
      rules: readElements(memberOf(outbound, 'rules'), 'outbound.rules', warnings).flatMap((node, index) => {
        const rule = readRule(node, `outbound.rules[${index}]`, warnings, readAction);
        return rule === null ? [] : [rule];
      }),
    };
  },

  readRule: (_root, node, place, warnings) => readRule(node, place, warnings, readAction),

  rulesHome(root) {
    const node = memberOf(root, 'outbound');
    if (isAbsent(node)) throw new ConfigurationShapeError('outbound: expected an object, found none');
    if (node.kind !== 'object') throw new ConfigurationShapeError('outbound: expected an object');
    return { name: 'outbound', node, others: [] };
  },

  renderRule: (_root, rule) => ruleMembers(rule, ['action', rule.action]),
};

function readDefaultAction(outbound: ObjectNode, warnings: Warnings): OutboundSettings['defaultAction'] {
  const place = 'outbound.default_action';
  const text = readString(memberOf(outbound, 'default_action'), place, null, warnings);
  if (text === null) return 'direct';
  const action = actionNamed(text);
  if (action === null) warnings.add(place, 'expected proxy, direct or block; direct is taken');
  return action ?? 'direct';
}

/** Reads a rule's action. Servers proxy by a rule without an action, or with an unknown one. */
function readAction(rule: ObjectNode, place: string, warnings: Warnings): OutboundAction {
  const text = readString(memberOf(rule, 'action'), `${place}.action`, null, warnings);
  const action = actionNamed(text);
  if (action === null && text !== null)
    warnings.add(`${place}.action`, 'expected proxy, direct or block; proxy is taken');
  return action ?? 'proxy';
}
