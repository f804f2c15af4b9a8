import { resolveRevision } from '../../revisions/index.js';
import { DEFAULT_BIND } from '../core/model.js';
import type { LogPort } from '../core/ports.js';
import { createReadiness, type Readiness } from '../core/readiness.js';
import { composeGateway, type Gateway, type GatewayOptions } from '../gateway/compose.js';
import type { Mount } from '../northbound/mount.js';
import { createFileSystem } from '../platform/file-system.js';
import type { CountedLog } from '../platform/log.js';
import { StartError } from '../platform/start-error.js';
import { systemClock } from '../platform/system-ports.js';
import type { Settings } from '../settings/table.js';
import { closeInTime, listenForApi, placeOf, refuseClashes, startSubscriptions, tlsAt } from './addresses.js';
import { type Connections, createConnections } from './connections.js';
import { startFeed } from './feed.js';
import { openMountProblems, refusal } from './open-mounts.js';
import type { RunningOps } from './ops.js';
import { gatewayOptions } from './options.js';
import { reportCallers, reportSurroundings, reportWriting, watchForRestarts } from './report.js';
import { resolverFor } from './resolver.js';
import { openTls, type Tls } from './tls.js';

/** A gateway that listens. */
export interface RunningGateway {
  /** `http(s)://host:port`, without a trailing slash, or `unix:` and the socket's path. */
  readonly url: string;
  readonly mounts: readonly Mount[];
  /** Where a path of it is, for people. */
  at(path: string): string;
  /** Reads again what is not followed by itself: the certificate. Says in the log what came of it. */
  reload(): Promise<void>;
  /** Stops taking requests, finishes what was accepted, writes what waits. */
  close(): Promise<void>;
}

/**
 * Starts the gateway that the settings describe. Null when the file's listener is not enabled and no `--bind` overrides
 * it. The version is Keyway's own. Rejects with a `StartError`.
 */
export async function startGateway(
  settings: Settings,
  log: CountedLog,
  version: string,
): Promise<RunningGateway | null> {
  const readiness = createReadiness();
  const connections = createConnections({ most: settings.maxConnections, trustProxy: settings.trustProxy, log });
  const ops = await opsFor(settings, { version, readiness, connections }, log);
  try {
    const serving = await startServing(settings, connections, ops, log);
    if (serving === null) {
      await ops?.close();
      return null;
    }
    readiness.becomes('ready');
    return {
      ...serving,
      async close() {
        readiness.becomes('stopping');
        await serving.close().finally(() => ops?.close());
      },
    };
  } catch (error) {
    await ops?.close();
    throw error;
  }
}

/** First of all and last: it tells of a start that takes long, and of a stop. Its libraries are loaded where it is wanted. */
async function opsFor(
  { opsBind, allowHost }: Settings,
  watched: { readonly version: string; readonly readiness: Readiness; readonly connections: Connections },
  log: CountedLog,
): Promise<RunningOps | null> {
  if (opsBind === null) return null;
  const { startOps } = await import('./ops.js');
  return startOps({ bind: opsBind, allowHosts: allowHost, ...watched }, log);
}

async function startServing(
  settings: Settings,
  connections: Connections,
  ops: RunningOps | null,
  log: LogPort,
): Promise<RunningGateway | null> {
  if (settings.subscriptionBind !== null && settings.config === null)
    throw new StartError(['--subscription-bind: expected a configuration file: without one no key is there to serve']);
  const tls = await tlsOf(settings, log);
  const listening = { bind: settings.bind ?? DEFAULT_BIND, trustsProxy: settings.trustProxy.length > 0 };
  const refusesOpen: RefusesOpen = (mount, context) =>
    !settings.allowOpen && refusal(mount, { ...context, ...listening }) !== null;
  const resolver = resolverFor(settings, log);
  const gateway = await compose(settings, {
    refusesOpen,
    ...(resolver === null ? {} : { resolver }),
    createServer: connections.serverFor('api', tlsAt(settings.bind, tls)),
    ...(ops === null ? {} : { observer: ops.observer }),
    log,
  });
  gateway.app.addHook('onClose', async () => resolver?.close());
  try {
    const listener = gateway.backend.settings().listener;
    if (settings.bind === null && settings.config !== null && listener?.enabled !== true) {
      await gateway.app.close();
      return null;
    }
    listening.bind = settings.bind ?? listener?.bind ?? DEFAULT_BIND;
    const openProblems = () =>
      settings.allowOpen
        ? []
        : openMountProblems({ mounts: gateway.mounts, credentials: gateway.credentials(), ...listening });
    if (openProblems().length > 0) throw new StartError(openProblems());
    refuseClashes(settings, listening.bind);
    await reportWriting(settings, log);
    reportSurroundings(gateway, log);
    reportCallers(settings, log);
    const { feedBind, subscriptionBind } = settings;
    const feed =
      feedBind === null
        ? null
        : await startFeed(
            gateway,
            { bind: feedBind, token: settings.feedToken, createServer: connections.serverFor('feed') },
            log,
          );
    ops?.watch(gateway, { feed: feed?.feed ?? null, resolver });
    const subscriptions =
      subscriptionBind === null
        ? []
        : [await startSubscriptions(gateway, { bind: subscriptionBind, tls }, connections, log)];
    const url = await listenForApi(gateway, { bind: listening.bind, tls }, log);
    resolver?.start();
    watchForRestarts(gateway, listener, log);
    gateway.backend.onChange((reason) => {
      if (reason === 'saved') return;
      for (const problem of openProblems()) log.error({}, `${problem}; until then it refuses everyone`);
    });
    return {
      url,
      mounts: gateway.mounts,
      at: (path) => placeOf(url, path),
      reload: async () => {
        if (tls === null) log.info({}, 'nothing is to be read again: the configuration file is followed by itself');
        else await tls.reload();
      },
      close: () => closeInTime(gateway, [...subscriptions, ...(feed === null ? [] : [feed.feed.app])]),
    };
  } catch (error) {
    await gateway.app.close();
    throw error;
  }
}

type RefusesOpen = NonNullable<GatewayOptions['refusesOpen']>;

/** What a running gateway has besides what its settings say. */
interface Surroundings extends Pick<GatewayOptions, 'resolver' | 'createServer' | 'observer'> {
  readonly refusesOpen: RefusesOpen;
  readonly log: LogPort;
}

async function compose(settings: Settings, surroundings: Surroundings): Promise<Gateway> {
  const resolved = settings.revision.map(({ text, revision }) => ({ text, ...resolveAnswer(revision) }));
  const unknown = resolved.flatMap(({ text, problem }) => (problem === null ? [] : [`revision ${text}: ${problem}`]));
  if (unknown.length > 0) throw new StartError(unknown);
  for (const { note } of resolved) if (note !== null) surroundings.log.warn({}, note);
  try {
    return await composeGateway({ ...gatewayOptions(settings), ...surroundings });
  } catch (error) {
    throw error instanceof Error && !('code' in error) ? new StartError([error.message]) : error;
  }
}

function resolveAnswer(text: string): { readonly problem: string | null; readonly note: string | null } {
  const answer = resolveRevision(text);
  return answer.ok ? { problem: null, note: answer.note } : { problem: answer.problem, note: null };
}

async function tlsOf({ tlsCert, tlsKey }: Settings, log: LogPort): Promise<Tls | null> {
  if (tlsCert === null || tlsKey === null) return null;
  return openTls({ cert: tlsCert, key: tlsKey }, { fileSystem: createFileSystem(), clock: systemClock, log });
}
