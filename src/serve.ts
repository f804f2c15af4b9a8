import { resolveRevision } from '../revisions/index.js';
import { hostAndPort } from './bind-address.js';
import { composeGateway, type Gateway, type GatewayMount, type GatewayOptions } from './compose.js';
import { DEFAULT_BIND } from './core/model.js';
import type { LogPort } from './core/ports.js';
import { createFileSystem } from './local/file-system.js';
import { tryWriting } from './local/try-writing.js';
import type { Mount } from './northbound/mount.js';
import { isLoopback, openMountProblems, refusal } from './open-mounts.js';
import { startFeed } from './serve-feed.js';
import { resolverFor } from './serve-resolver.js';
import { dataFolderOf, type Settings } from './settings.js';
import { StartError } from './start-error.js';

/** A gateway that listens. */
export interface RunningGateway {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string;
  readonly mounts: readonly Mount[];
  /** Stops taking requests, finishes what was accepted, writes what waits. */
  close(): Promise<void>;
}

const DAY = 86_400_000;

/**
 * Starts the gateway that the settings describe. Null when the file's listener is not enabled and no `--bind` overrides
 * it. Rejects with a `StartError`.
 */
export async function startGateway(settings: Settings, log: LogPort): Promise<RunningGateway | null> {
  const listening: { bind: string } = { bind: settings.bind ?? DEFAULT_BIND };
  const refusesOpen: RefusesOpen = (mount, context) =>
    !settings.allowOpen && refusal(mount, { ...context, ...listening }) !== null;
  const resolver = resolverFor(settings, log);
  const gateway = await compose(settings, { refusesOpen, ...(resolver === null ? {} : { resolver }), log });
  gateway.app.addHook('onClose', async () => resolver?.close());
  try {
    const listener = gateway.configuration?.load().listener ?? null;
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
    await reportWriting(settings, log);
    reportSurroundings(gateway, log);
    const { feedBind } = settings;
    if (feedBind !== null) await startFeed(gateway, { bind: feedBind, token: settings.feedToken }, log);
    const url = await listen(gateway, listening.bind);
    resolver?.start();
    watchForRestarts(gateway, listener, log);
    gateway.configuration?.onReload(() => {
      for (const problem of openProblems()) log.error({}, `${problem}; until then it refuses everyone`);
    });
    return { url, mounts: gateway.mounts, close: () => closeInTime(gateway) };
  } catch (error) {
    await gateway.app.close();
    throw error;
  }
}

type RefusesOpen = NonNullable<GatewayOptions['refusesOpen']>;

/** What a running gateway has besides what its settings say. */
interface Surroundings extends Pick<GatewayOptions, 'resolver'> {
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

function gatewayOptions(settings: Settings): GatewayOptions {
  const dataDir = dataFolderOf(settings);
  return {
    mounts: settings.revision.map((mount): GatewayMount => {
      const own = settings.panelDir.findLast((panel) => panel.mount === mount.text || panel.mount === mount.revision);
      const folder = own ?? settings.panelDir.findLast((panel) => panel.mount === null);
      return {
        revision: mount.revision,
        ...(mount.webpath === null ? {} : { webpath: mount.webpath }),
        ...(folder === undefined ? {} : { panelDir: folder.folder }),
      };
    }),
    ...(settings.config === null ? {} : { configPath: settings.config }),
    ...(dataDir === null ? {} : { dataDir }),
    keepGone: settings.keepGone * DAY,
    listener: withoutNulls({
      token: settings.token,
      username: settings.username,
      passwordHash: settings.passwordHash,
      webpath: settings.webpath,
    }),
    announced: withoutNulls({
      host: settings.serverHost,
      port: settings.serverPort,
      shareScheme: settings.shareScheme,
      shareQuery: settings.shareQuery,
    }),
    ...(settings.reportVersion === null ? {} : { reportVersion: settings.reportVersion }),
    panelServers: settings.panelServer,
    protectAudit: settings.protectAudit,
    inPlace: settings.inPlace,
    guardConfig: settings.guardConfig,
    loginGuard:
      settings.loginGuard === 'off'
        ? 'off'
        : { failures: settings.loginGuard.failures, window: settings.loginGuard.minutes * 60_000 },
    trustProxy: settings.trustProxy,
    requestLog: settings.logLevel === 'info' || settings.logLevel === 'debug',
  };
}

function withoutNulls<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], null> } {
  const given = Object.entries(values).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], null> }; // Only the nulls were left out.
}

async function listen(gateway: Gateway, bind: string): Promise<string> {
  try {
    return (await gateway.app.listen(hostAndPort(bind))).replace(/\/$/, '');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new StartError([
      `cannot listen on ${bind} (${error.code}): if the server whose file this is serves its own API there, give Keyway another address with --bind`,
    ]);
  }
}

/** Milliseconds that clients are given to take the answers that were accepted before a stop. */
const CLOSING_TIME = 10_000;

/** Finishes what was accepted; a client that does not take its answer in time is cut off, so that every write is carried. */
async function closeInTime(gateway: Gateway): Promise<void> {
  const late = setTimeout(() => gateway.app.server.closeAllConnections(), CLOSING_TIME);
  await gateway.app.close();
  clearTimeout(late);
}

/** Tries the way of writing without changing the file, and says in one sentence what will be in its way. */
async function reportWriting(settings: Settings, log: LogPort): Promise<void> {
  if (settings.config === null) return;
  const trial = { path: settings.config, fileSystem: createFileSystem(), inPlace: settings.inPlace };
  for (const { kind, message } of await tryWriting(trial)) log.warn({ kind }, message);
}

/** Says at start what was read past in the file, and what clients are told when they cannot reach it. */
function reportSurroundings(gateway: Gateway, log: LogPort): void {
  for (const warning of gateway.configuration?.load().warnings ?? []) log.warn({}, warning);
  const { host } = gateway.announced();
  if (['', '0.0.0.0', '[::]', '::'].includes(host) || isLoopback(host)) {
    log.warn(
      { host },
      'share links name an address that clients cannot reach: give theirs with --server-host and --server-port',
    );
  }
}

/** A changed `bind` or `webpath` waits for a restart (design: "Command line"). */
function watchForRestarts(
  gateway: Gateway,
  started: { readonly bind: string; readonly webpath: string } | null,
  log: LogPort,
): void {
  let last = { bind: started?.bind, webpath: started?.webpath };
  gateway.configuration?.onReload(({ listener }) => {
    const next = { bind: listener?.bind, webpath: listener?.webpath };
    for (const member of ['bind', 'webpath'] as const) {
      if (next[member] !== last[member]) log.warn({ member }, `the file's ${member} changed: it waits for a restart`);
    }
    last = next;
  });
}
