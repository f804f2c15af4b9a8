import type { OutboundAction, OutboundSettings } from '../core/model.js';
import { addressText } from './address.js';
import { ConfigurationShapeError, type Layout, type ListHolder, ruleMembers } from './layout.js';
import {
  createWarnings,
  isAbsent,
  isObjectHere,
  readElements,
  readPasswordHash,
  readPort,
  readRule,
  readString,
  type Warnings,
} from './reading.js';
import { memberOf, type ObjectNode, type ValueNode } from './tree.js';

/** The layout of newer servers: keys and listener under `inbounds`, routing under `outbounds` and `routing`. */
export const inboundsLayout: Layout = {
  name: 'inbounds',
  keyMember: 'key',
  bareStrings: false,
  shapes: {
    mode: 'tree',
    inbounds: {
      elements: {
        members: {
          protocol: 'tree',
          tag: 'tree',
          listen: 'tree',
          port: 'tree',
          users: { keys: 'key' },
          token: 'tree',
          webpath: 'tree',
          username: 'tree',
          password_hash: 'tree',
        },
      },
    },
    outbounds: 'tree',
    routing: 'tree',
    dns: 'tree',
  },
  noHolder: 'inbounds: expected one with the protocol "ostp"',

  keyHolders: (root) =>
    inboundsOf(root, 'ostp').map(({ node, place }): ListHolder => {
      return { place: `${place}.users`, owner: node, member: 'users', value: memberOf(node, 'users'), needed: true };
    }),

  readListener(root, warnings) {
    const [api, second] = inboundsOf(root, 'api');
    if (second !== undefined)
      warnings.add(second.place, 'another inbound has the protocol "api" too; the first counts');
    if (api === undefined) return null;
    const { node, place } = api;
    return {
      enabled: true,
      bind: addressText({
        host: readString(memberOf(node, 'listen'), `${place}.listen`, '127.0.0.1', warnings),
        port: readPort(memberOf(node, 'port'), `${place}.port`, 9090, warnings),
      }),
      token: readString(memberOf(node, 'token'), `${place}.token`, null, warnings),
      webpath: readString(memberOf(node, 'webpath'), `${place}.webpath`, '', warnings),
      username: readString(memberOf(node, 'username'), `${place}.username`, '', warnings),
      passwordHash: readPasswordHash(memberOf(node, 'password_hash'), `${place}.password_hash`, warnings),
    };
  },

  listenerOf: (root) => inboundsOf(root, 'api')[0]?.node ?? null,
  noListener: 'inbounds: expected one with the protocol "api", the listener whose password it is',

  readListen(root, warnings) {
    const [ostp] = inboundsOf(root, 'ostp');
    if (ostp === undefined) return null;
    const host = readString(memberOf(ostp.node, 'listen'), `${ostp.place}.listen`, '0.0.0.0', warnings);
    const port = readPort(memberOf(ostp.node, 'port'), `${ostp.place}.port`, null, warnings);
    return port === null ? null : addressText({ host, port });
  },

  readOutbound(root, warnings): OutboundSettings | null {
    const outbounds = readOutbounds(root, warnings);
    const proxy = outbounds.find((outbound) => outbound.protocol === 'socks5');
    const routing = memberOf(root, 'routing');
    if (proxy === undefined || proxy.node.kind !== 'object') return null;
    const routed = isObjectHere(routing, 'routing', warnings);
    const rules = routed ? readElements(memberOf(routing, 'rules'), 'routing.rules', warnings) : [];
    return {
      enabled: true,
      protocol: proxy.protocol,
      address: readString(memberOf(proxy.node, 'server'), `${proxy.place}.server`, '', warnings),
      port: readPort(memberOf(proxy.node, 'port'), `${proxy.place}.port`, 0, warnings),
      defaultAction: readDefaultAction(routing, outbounds, warnings),
      rules: rules.flatMap((node, index) => {
        const rule = readRule(node, `routing.rules[${index}]`, warnings, actionsOf(outbounds));
        return rule === null ? [] : [rule];
      }),
    };
  },

  readRule: (root, node, place, warnings) =>
    readRule(node, place, warnings, actionsOf(readOutbounds(root, createWarnings()))),

  rulesHome(root) {
    const outbounds = readOutbounds(root, createWarnings());
    if (!outbounds.some(({ protocol }) => protocol === 'socks5'))
      throw new ConfigurationShapeError('outbounds: expected one with the protocol "socks5"');
    const node = memberOf(root, 'routing');
    if (node?.kind === 'object') return { name: 'routing', node, others: [] };
    if (!isAbsent(node)) throw new ConfigurationShapeError('routing: expected an object');
    const direct = outbounds.find(({ action, tag }) => action === 'direct' && tag !== null);
    return { name: 'routing', node: null, others: [['default_outbound', direct?.tag ?? 'direct']] };
  },

  renderRule(root, rule) {
    const target = readOutbounds(root, createWarnings())
      .filter((outbound) => outbound.tag !== null && outbound.action === rule.action)
      .toSorted((a, b) => Number(b.protocol === 'socks5') - Number(a.protocol === 'socks5'))[0];
    if (target === undefined) {
      throw new ConfigurationShapeError(`outbounds: none with a tag can serve a rule whose action is "${rule.action}"`);
    }
    return ruleMembers(rule, ['outbound', target.tag]);
  },
};

export interface PlacedObject {
  readonly node: ObjectNode;
  readonly place: string;
}

/** Returns the inbounds of one protocol, in the file's order. */
export function inboundsOf(root: ObjectNode, protocol: string): readonly PlacedObject[] {
  const inbounds = memberOf(root, 'inbounds');
  if (inbounds?.kind !== 'array') return [];
  return inbounds.elements.flatMap((node, index) => {
    const named = memberOf(node, 'protocol');
    const matches = node.kind === 'object' && named?.kind === 'string' && named.value === protocol;
    return matches ? [{ node, place: `inbounds[${index}]` }] : [];
  });
}

export interface Outbound extends PlacedObject {
  readonly tag: string | null;
  readonly protocol: string;
  readonly action: OutboundAction;
}

/** Returns the outbounds that have a protocol, in the file's order. */
export function readOutbounds(root: ObjectNode, warnings: Warnings): readonly Outbound[] {
  const nodes = readElements(memberOf(root, 'outbounds'), 'outbounds', warnings);
  return nodes.flatMap((node, index) => {
    const place = `outbounds[${index}]`;
    if (!isObjectHere(node, place, warnings)) return [];
    const protocol = readString(memberOf(node, 'protocol'), `${place}.protocol`, null, warnings);
    if (protocol === null) return [];
    const tag = readString(memberOf(node, 'tag'), `${place}.tag`, null, warnings);
    return [{ node, place, tag, protocol, action: actionOf(protocol) }];
  });
}

/** Returns the action that an outbound of this protocol means. */
function actionOf(protocol: string): OutboundAction {
  return protocol === 'direct' || protocol === 'block' ? protocol : 'proxy';
}

function readDefaultAction(
  routing: ValueNode | undefined,
  outbounds: readonly Outbound[],
  warnings: Warnings,
): OutboundAction {
  const place = 'routing.default_outbound';
  const tag = readString(memberOf(routing, 'default_outbound'), place, null, warnings);
  if (tag === null) return 'direct';
  const target = outbounds.find((outbound) => outbound.tag === tag);
  if (target === undefined) warnings.add(place, 'no outbound has this tag; direct is taken');
  return target?.action ?? 'direct';
}

/** Makes the reader of a rule's action, which is in the outbound that the rule names. */
const actionsOf =
  (outbounds: readonly Outbound[]) =>
  (rule: ObjectNode, place: string, warnings: Warnings): OutboundAction | null => {
    const tag = readString(memberOf(rule, 'outbound'), `${place}.outbound`, null, warnings);
    const target = outbounds.find((outbound) => outbound.tag !== null && outbound.tag === tag);
    if (target === undefined) warnings.add(`${place}.outbound`, 'expected the tag of an outbound; the rule is ignored');
    return target?.action ?? null;
  };
