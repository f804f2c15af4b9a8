import { isIP } from 'node:net';
import {
  type AnnouncedServer,
  type Carrier,
  DEFAULT_OVERNET,
  DEFAULT_PUBLISHED,
  type OvernetSettings,
  type Published,
  type ServerConfiguration,
  type SubscriptionSettings,
} from '../core/model.js';
import { withoutOuterSlashes } from '../wire/text-ends.js';
import { isAbsent, isObjectHere, readBoolean, readPort, readString, readStrings, type Warnings } from './reading.js';
import { memberOf, type ObjectNode, type Shape, type ValueNode } from './tree.js';

/**
 * The root members that say where clients find a server from 0.4.6 on; both layouts have them, and Keyway never writes
 * them.
 */
export const PUBLISHED_SHAPES: Readonly<Record<string, Shape>> = {
  domain: 'tree',
  tls: 'tree',
  subscription: 'tree',
  overnet: 'tree',
};

const MOST_HOURS = 720n;
const TLS_PORT = 443;
/** Servers that end TLS themselves have no path of their own. */
const BUILT_IN = 'builtin';

/**
 * Returns the host and port that links name, as far as a configuration says: its `domain`, else the host that the
 * server has found to be its own, else that of its first listening address.
 */
export function announcedBy(
  { listen, published }: Pick<ServerConfiguration, 'listen' | 'published'>,
  foundHost: string | null,
): Partial<AnnouncedServer> {
  const [, listening, port] = /^(.*):(\d+)$/.exec(listen ?? '') ?? [];
  const host = published.domain ?? foundHost ?? listening;
  return { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port: Number(port) }) };
}

/** Reads these members of a root, with defaults for what is missing or unusable. */
export function readPublished(root: ObjectNode, warnings: Warnings): Published {
  return {
    domain: readDomain(root, warnings),
    tls: readTls(memberOf(root, 'tls'), warnings),
    subscription: readSubscription(memberOf(root, 'subscription'), warnings),
    overnet: readOvernet(memberOf(root, 'overnet'), warnings),
  };
}

/** Reads a host that links can name; null, with a warning, for another text. */
function readDomain(root: ObjectNode, warnings: Warnings): string | null {
  const domain = textIn(root, 'domain', '', warnings);
  if (domain === null || isIP(domain) !== 0 || /^[^\s/:*@?#[\]]+$/.test(domain)) return domain;
  warnings.add('domain', 'expected a host without a scheme, a port and a path; links do not name it');
  return null;
}

function readTls(tls: ValueNode | undefined, warnings: Warnings): Published['tls'] {
  if (!isObjectHere(tls, 'tls', warnings)) return null;
  if (!readBoolean(memberOf(tls, 'enabled'), 'tls.enabled', false, warnings)) return null;
  const port = readPort(memberOf(tls, 'public_port'), 'tls.public_port', TLS_PORT, warnings);
  const frontend = readString(memberOf(tls, 'frontend'), 'tls.frontend', BUILT_IN, warnings);
  return { port, path: frontend === BUILT_IN ? null : textIn(tls, 'ws_path', 'tls.', warnings) };
}

function readSubscription(node: ValueNode | undefined, warnings: Warnings): SubscriptionSettings {
  const { subscription: fallback } = DEFAULT_PUBLISHED;
  if (!isObjectHere(node, 'subscription', warnings)) return fallback;
  const path = withoutOuterSlashes(textIn(node, 'path', 'subscription.', warnings) ?? '');
  return {
    enabled: readBoolean(memberOf(node, 'enabled'), 'subscription.enabled', fallback.enabled, warnings),
    prefix: path === '' ? fallback.prefix : `/${path}`,
    name: textIn(node, 'name', 'subscription.', warnings),
    interval: readHours(memberOf(node, 'update_interval_hours'), warnings),
    include: readCarriers(memberOf(node, 'include'), warnings),
  };
}

function readOvernet(node: ValueNode | undefined, warnings: Warnings): OvernetSettings {
  if (!isObjectHere(node, 'overnet', warnings)) return DEFAULT_OVERNET;
  const flag = (name: 'enabled' | 'entry' | 'exit') =>
    readBoolean(memberOf(node, name), `overnet.${name}`, DEFAULT_OVERNET[name], warnings);
  const text = (name: string, fallback: string) =>
    readString(memberOf(node, name), `overnet.${name}`, fallback, warnings);
  return {
    enabled: flag('enabled'),
    entry: flag('entry'),
    gateway: text('gateway', DEFAULT_OVERNET.gateway),
    exit: flag('exit'),
    exitListen: text('exit_listen', DEFAULT_OVERNET.exitListen),
  };
}

function readHours(node: ValueNode | undefined, warnings: Warnings): number {
  const { interval } = DEFAULT_PUBLISHED.subscription;
  if (isAbsent(node)) return interval;
  if (node.kind === 'integer' && node.value >= 1n && node.value <= MOST_HOURS) return Number(node.value);
  warnings.add(
    'subscription.update_interval_hours',
    `expected a whole number of hours from 1 to ${MOST_HOURS}; it is ignored`,
  );
  return interval;
}

function readCarriers(node: ValueNode | undefined, warnings: Warnings): readonly Carrier[] {
  const place = 'subscription.include';
  const named = readStrings(node, place, warnings);
  const carriers = named.filter(isCarrier);
  if (carriers.length < named.length) warnings.add(place, 'expected "tls" and "udp" alone; the others are ignored');
  return node?.kind === 'array' ? carriers : DEFAULT_PUBLISHED.subscription.include;
}

function isCarrier(text: string): text is Carrier {
  return text === 'tls' || text === 'udp';
}

/** Returns a text that is not empty; null for another value. */
function textIn(owner: ObjectNode, member: string, place: string, warnings: Warnings): string | null {
  return readString(memberOf(owner, member), `${place}${member}`, '', warnings).trim() || null;
}
