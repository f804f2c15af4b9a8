import { join } from 'node:path';
import { DEFAULT_BIND } from '../core/model.js';
import type { ClockPort, FileSystemPort, ProgressPort, RandomPort } from '../core/ports.js';
import type { Resolver, ResolverOptions } from '../dns/resolver.js';
import { assembleGateway, type Gateway } from '../gateway/compose.js';
import { openHome } from '../gateway/homes/open.js';
import type { ComposeOptions } from '../gateway/options.js';
import type { CountedLog } from '../platform/log.js';
import { StartError } from '../platform/start-error.js';
import type { Settings } from '../settings/table.js';
import type { Connections } from './connections.js';
import { refusal } from './open-mounts.js';
import type { RunningOps } from './ops.js';
import { gatewayOptions } from './options.js';
import { openTls, type Tls, tlsAt } from './tls.js';

/** The outside world of a gateway that is served. */
export interface ServePorts {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: CountedLog;
  /** Shown while a user waits for the start. */
  readonly progress?: ProgressPort;
}

/** The parts that exist before the gateway does. */
export interface Around {
  /** Keyway's version. */
  readonly version: string;
  readonly settings: Settings;
  readonly connections: Connections;
  /** Null without an operator's listener. */
  readonly ops: RunningOps | null;
}

/**
 * A composed gateway with everything that it needs to listen. Closing it closes all of that, except for the parts in
 * `Around`.
 */
export interface Prepared extends Around {
  readonly gateway: Gateway;
  /** The address of the API: `host:port`, or `unix:` and a path. */
  readonly bind: string;
  readonly tls: Tls | null;
  /** Not started yet. */
  readonly resolver: Resolver | null;
}

/** Reads its files and composes the gateway; nothing listens yet. Rejects with a `StartError`. */
export async function prepare(around: Around, ports: ServePorts): Promise<Prepared> {
  const { settings, connections, ops } = around;
  if (settings.subscriptionBind !== null && !settings.home.keepsKeys)
    throw new StartError([
      '--subscription-bind: expected a configuration file, --upstream or --database: without them no key is there to serve',
    ]);
  for (const { note } of settings.revision) if (note !== null) ports.log.warn({}, note);
  const { tlsCert: cert, tlsKey: key } = settings;
  const tls = cert === null || key === null ? null : await openTls({ cert, key }, ports);
  const resolver = await resolverFor(settings, ports);
  const options: ComposeOptions = {
    ...gatewayOptions(settings),
    ownVersion: around.version,
    ...ports,
    resolvesForUpstream: resolver !== null,
    ...(resolver === null ? {} : { resolver }),
    ...(ops === null ? {} : { observer: ops.observer }),
  };
  try {
    const home = await openHome(options);
    const bind = settings.bind ?? home.bind() ?? DEFAULT_BIND;
    const refusesOpen: ComposeOptions['refusesOpen'] = (mount, context) =>
      !settings.allowOpen && refusal(mount, { ...context, ...reach(settings, bind) }) !== null;
    const createServer = connections.serverFor('api', tlsAt(bind, tls));
    const gateway = await assembleGateway({ ...options, refusesOpen, createServer }, home);
    gateway.app.addHook('onClose', async () => resolver?.close());
    return { ...around, gateway, bind, tls, resolver };
  } catch (error) {
    throw error instanceof Error && !('code' in error) ? new StartError([error.message]) : error;
  }
}

/**
 * Creates the embedded DNS server that the settings ask for; null with `--no-resolver`, and over a home that has its
 * own, unless `--resolver` asks for it. It opens nothing before its start, and then only if the DNS settings enable it.
 */
export async function resolverFor(
  settings: Settings,
  ports: Pick<ResolverOptions, 'clock' | 'log'>,
): Promise<Resolver | null> {
  const { dataFolder, resolverByDefault } = settings.home;
  if (!(settings.embeddedResolver ?? resolverByDefault)) return null;
  const copyFolder = dataFolder === null ? null : join(dataFolder, 'blocklists');
  const { createResolver } = await import('../dns/resolver.js');
  return createResolver({ ...settings, copyFolder, ...ports });
}

/** Describes who can reach the API. */
export function reach({ trustProxy }: Settings, bind: string) {
  return { bind, trustsProxy: trustProxy.length > 0 };
}
