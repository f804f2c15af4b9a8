import { GONE, goneWarnings } from '../settings/gone.js';
import { didYouMean } from '../wire/suggest.js';
import type { GatewayMount, GatewayOptions } from './options.js';

const MOUNT: Readonly<Record<keyof GatewayMount, null>> = {
  revision: null,
  webpath: null,
  panelDir: null,
  sunset: null,
};

/** Every option, with the member names of those that are records of settings; null for all others. */
const OPTIONS: { readonly [Name in keyof Required<GatewayOptions>]: readonly string[] | null } = {
  mounts: null,
  configPath: null,
  upstream: ['url', 'revision', 'token', 'username', 'password', 'ca'],
  backend: null,
  database: ['url', 'listenUrl', 'stale', 'migrates'],
  dataDir: null,
  countersWriteMilliseconds: null,
  listener: ['token', 'username', 'passwordHash', 'webpath'],
  announced: ['host', 'port', 'shareScheme', 'shareQuery'],
  panelDir: null,
  panelServers: null,
  ownVersion: null,
  subscriptions: ['host', 'port', 'tls'],
  subscriptionTokens: null,
  ownApi: null,
  webhook: null,
  webhookSecret: null,
  inPlace: null,
  serveStale: null,
  serverVersion: null,
  trustProxy: null,
  createServer: null,
  pollMilliseconds: null,
  refusesOpen: null,
  resolver: null,
  test: ['state', 'fault'],
  observer: ['requests', 'configuration', 'calls', 'database'],
  clock: null,
  random: null,
  fileSystem: null,
  log: null,
  loginGuard: null,
  allowHosts: null,
  requestLog: null,
  protectAudit: null,
};

const EXAMPLE = "mounts: [{ revision: 'current' }]";

/**
 * Returns a warning for each removed option that is given. Throws an `Error` for the user that names the first unknown
 * option, or the first of a wrong form, because a program without types may pass anything.
 */
export function checkOptions(options: unknown): readonly string[] {
  if (!isRecord(options)) throw new Error(`createGateway: expected options, at least ${EXAMPLE}`);
  refuseUnknown('', options, Object.keys(OPTIONS));
  for (const [name, members] of Object.entries(OPTIONS)) {
    const value = options[name];
    if (members === null || value === undefined || value === null) continue;
    if (!isRecord(value)) throw new Error(`${name}: expected an object with ${members.join(', ')}`);
    refuseUnknown(`${name}.`, value, members);
  }
  const { mounts } = options;
  if (!Array.isArray(mounts) || mounts.length === 0)
    throw new Error(`mounts: expected at least one revision, as ${EXAMPLE}`);
  for (const [index, mount] of mounts.entries()) {
    if (!isRecord(mount) || typeof mount.revision !== 'string')
      throw new Error(`mounts[${index}].revision: expected a revision, as ${EXAMPLE}`);
    refuseUnknown(`mounts[${index}].`, mount, Object.keys(MOUNT));
  }
  return goneWarnings(({ option }) => (isGiven(options, option.split('.')) ? [`option ${option}`] : []));
}

function isGiven(options: unknown, path: readonly string[]): boolean {
  return path.reduce((value, name) => (isRecord(value) ? value[name] : undefined), options) !== undefined;
}

function refuseUnknown(place: string, given: object, known: readonly string[]): void {
  const isGone = (name: string) => GONE.some(({ option }) => option === `${place}${name}`);
  const unknown = Object.keys(given).find((name) => !known.includes(name) && !isGone(name));
  if (unknown === undefined) return;
  throw new Error(`${place}${unknown}: there is no such option${didYouMean(unknown, known)}`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
