import { basename, dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { resolveRevision } from '../revisions/index.js';
import { type Counters, openCounters } from './compose-counters.js';
import { createRequests } from './compose-requests.js';
import type { ConfigurationObserverPort } from './core/configuration-observer.js';
import { type Core, createCore } from './core/core.js';
import type { AnnouncedServer, Credentials, ServerConfiguration } from './core/model.js';
import type { ClockPort, FileSystemPort, LogPort, RandomPort, ResolverPort } from './core/ports.js';
import { createTokenGuard, NO_TOKEN_GUARD, type TokenGuard } from './core/token-guard.js';
import { noResolver } from './dns/no-resolver.js';
import { type ConfigurationFile, createConfigurationFile } from './local/configuration-file.js';
import { createFileSystem } from './local/file-system.js';
import { systemClock, systemRandom } from './local/system-ports.js';
import type { CreateServer } from './northbound/api-server.js';
import { createApp } from './northbound/app.js';
import type { AppOptions } from './northbound/app-options.js';
import { type CallerOf, createCallerOf } from './northbound/caller.js';
import { embeddedPanel } from './northbound/embedded-panel.js';
import { DEFAULT_LOGIN_GUARD, type LoginGuardLimit } from './northbound/login-guard.js';
import { createMount, type Mount, mountClashes, subscriptionsOf, webpathProblem } from './northbound/mount.js';
import { panelFolder } from './northbound/panel-files.js';
import type { RequestsObserver } from './northbound/request-observer.js';

/** One revision to serve. */
export interface GatewayMount {
  /** `earliest`, `dns`, `current`, or a server package version such as `0.2.31`. */
  readonly revision: string;
  /** Default: the listener's. */
  readonly webpath?: string;
  /** A panel build to serve instead of the embedded one. */
  readonly panelDir?: string;
}

/** What `createGateway` takes. Everything but the mounts has a default. */
export interface GatewayOptions {
  /** At least one. Two that would answer the same paths are an error that names both. */
  readonly mounts: readonly GatewayMount[];
  /** The server's configuration file; absent for the spec's run-time-only mode. */
  readonly configPath?: string;
  /** Where kept versions live; default `<file name>.keyway/` beside the configuration file. */
  readonly dataDir?: string;
  /** How long counters of keys that left by the file wait for their return, in milliseconds; default 30 days. */
  readonly keepGone?: number;
  /** Overrides what the file says of the listener, member by member. */
  readonly listener?: Partial<Credentials & { readonly webpath: string }>;
  /** Overrides what clients are told, member by member; host and port default to the file's `listen`. */
  readonly announced?: Partial<AnnouncedServer>;
  /** The version that the status reports, instead of the mount's own. */
  readonly reportVersion?: string;
  readonly panelDir?: string;
  /** API roots of further servers that the embedded panel may speak to, such as `https://host:9090/panel/api`. */
  readonly panelServers?: readonly string[];
  /** Asks for the mount's credential on the audit operations too; default false, as the spec says. */
  readonly protectAudit?: boolean;
  readonly inPlace?: boolean;
  /** Refuses a replacement of the file that would take its inbounds with keys away; default false: it is only logged. */
  readonly guardConfig?: boolean;
  /** How the guessing of passwords is slowed; `off` slows that of tokens neither. */
  readonly loginGuard?: LoginGuardLimit | 'off';
  /** Addresses or networks of proxies whose `X-Forwarded-For` names the caller; `unix` for those on a Unix socket. */
  readonly trustProxy?: readonly string[];
  /** The host names that requests may be sent to, besides addresses and `localhost`; default any. */
  readonly allowHosts?: readonly string[];
  /** Makes the HTTP server that listens, such as one with TLS; default a plain one. */
  readonly createServer?: CreateServer;
  /** One log line per request; default false. */
  readonly requestLog?: boolean;
  /** How often the file is looked at for edits, besides being watched. Milliseconds, default 500. */
  readonly pollMilliseconds?: number;
  /** Whether a mount that its own rule leaves open refuses everyone all the same; default never. */
  readonly refusesOpen?: (
    mount: Mount,
    gateway: { readonly mounts: readonly Mount[]; readonly credentials: Credentials },
  ) => boolean;
  readonly resolver?: ResolverPort;
  /** Told of answers, logins and what happens to the file; for metrics. */
  readonly observer?: GatewayObserver;
  readonly clock?: ClockPort;
  readonly random?: RandomPort;
  readonly fileSystem?: FileSystemPort;
  readonly log?: LogPort;
}

/** What may be told of a gateway's doings, while they happen. */
export interface GatewayObserver {
  readonly requests: RequestsObserver;
  readonly configuration: ConfigurationObserverPort;
}

/** A composed gateway: the app, and what stands behind it. `app.close()` closes all of it. */
export interface Gateway {
  readonly app: FastifyInstance;
  readonly core: Core;
  readonly mounts: readonly Mount[];
  readonly configuration: ConfigurationFile | null;
  readonly counters: Counters;
  readonly credentials: () => Credentials;
  readonly announced: () => AnnouncedServer;
  /** Asked wherever a token is. */
  readonly tokens: TokenGuard;
  readonly callerOf: CallerOf;
  /** Another app over the same core that answers the subscriptions of every mount, and nothing else. */
  readonly subscriptions: (own: Pick<AppOptions, 'createServer'>) => FastifyInstance;
}

const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** The default data folder of a configuration file (design: `--data-dir`). */
export function dataFolderBeside(configPath: string): string {
  return join(dirname(configPath), `${basename(configPath)}.keyway`);
}

/** Composes core, configuration file, mounts and app. Rejects with an `Error` whose message is for people. */
export async function composeGateway(options: GatewayOptions): Promise<Gateway> {
  const { clock = systemClock, random = systemRandom, log = silent } = options;
  const fileSystem = options.fileSystem ?? createFileSystem();
  const configuration = await openConfiguration(options, fileSystem, clock, log);
  try {
    return await assemble(options, configuration, { fileSystem, clock, random, log });
  } catch (error) {
    await configuration?.close();
    throw error;
  }
}

type Ports = Required<Pick<GatewayOptions, 'fileSystem' | 'clock' | 'random' | 'log'>>;

async function assemble(
  options: GatewayOptions,
  configuration: ConfigurationFile | null,
  ports: Ports,
): Promise<Gateway> {
  const { fileSystem, clock, random, log } = ports;
  const state = liveState(options, configuration);
  const mounts = createMounts(options, state.webpath, state.credentials, { fileSystem, log });
  const counters = await openCountersBeside(options, configuration, ports);
  const core = createCore({
    configuration,
    initial: configuration?.load() ?? null,
    clock,
    random,
    resolver: options.resolver ?? noResolver,
    keys: counters.keys,
    counters: counters.store,
    replacements: counters.replacements,
  });
  configuration?.onReload(() => {
    if (!state.credentialsChanged()) return;
    for (const mount of mounts) mount.session.end();
    log.info({}, 'the credentials changed: every session has ended');
  });
  const tokens = options.loginGuard === 'off' ? NO_TOKEN_GUARD : createTokenGuard(clock, random);
  const callerOf = createCallerOf(options.trustProxy ?? []);
  const appOptions: AppOptions = {
    core,
    mounts,
    credentials: state.credentials,
    announced: state.announced,
    clock,
    random,
    log,
    loginGuard: options.loginGuard === 'off' ? null : (options.loginGuard ?? DEFAULT_LOGIN_GUARD),
    tokens,
    callerOf,
    allowHosts: options.allowHosts ?? [],
    requestLog: options.requestLog ?? false,
    protectAudit: options.protectAudit ?? false,
    ...(options.observer === undefined ? {} : { observer: options.observer.requests }),
    refusesOpen: (mount) => options.refusesOpen?.(mount, { mounts, credentials: state.credentials() }) ?? false,
  };
  const { createServer } = options;
  const app = createApp({ ...appOptions, ...(createServer === undefined ? {} : { createServer }) });
  const requests =
    counters.dataFolder === null
      ? null
      : createRequests({ dataFolder: counters.dataFolder, configuration, counters, ...ports });
  // What the disk does not take now is tried again while serving.
  await requests?.look().catch((error: unknown) => log.warn({ err: error }, 'a restore or import is not done yet'));
  app.addHook('onClose', async () => {
    await requests?.close();
    await counters.close();
    await configuration?.close();
  });
  return {
    app,
    core,
    mounts,
    configuration,
    counters,
    credentials: state.credentials,
    announced: state.announced,
    tokens,
    callerOf,
    subscriptions: (own) => createApp({ ...appOptions, ...own, mounts: mounts.map(subscriptionsOf) }),
  };
}

async function openConfiguration(
  options: GatewayOptions,
  fileSystem: FileSystemPort,
  clock: ClockPort,
  log: LogPort,
): Promise<ConfigurationFile | null> {
  if (options.configPath === undefined) return null;
  return createConfigurationFile({
    path: options.configPath,
    dataFolder: options.dataDir ?? dataFolderBeside(options.configPath),
    fileSystem,
    clock,
    log,
    inPlace: options.inPlace ?? false,
    guard: options.guardConfig ?? false,
    ...(options.observer === undefined ? {} : { observer: options.observer.configuration }),
    pollMilliseconds: options.pollMilliseconds ?? 500,
    watch: true,
  });
}

/** The counters are loaded before the first answer. */
async function openCountersBeside(
  { configPath, dataDir, keepGone }: GatewayOptions,
  configuration: ConfigurationFile | null,
  { fileSystem, clock, log }: Ports,
): Promise<Counters> {
  const beside = configPath === undefined ? null : dataFolderBeside(configPath);
  return openCounters({
    fileSystem,
    clock,
    log,
    dataFolder: dataDir ?? beside,
    configuration:
      configPath === undefined || configuration === null
        ? null
        : { path: configPath, keys: configuration.load().keys, hold: configuration.hold },
    ...(keepGone === undefined ? {} : { keepGone }),
  });
}

/** What the file says now, under what the options override. */
function liveState(options: GatewayOptions, configuration: ConfigurationFile | null) {
  const overrides = options.listener ?? {};
  let current: ServerConfiguration | null = configuration?.load() ?? null;
  let ended = '';
  configuration?.onReload((next) => {
    current = next;
  });
  const credentials = (): Credentials => ({
    token: overrides.token ?? current?.listener?.token ?? null,
    username: overrides.username ?? current?.listener?.username ?? '',
    passwordHash: overrides.passwordHash ?? current?.listener?.passwordHash ?? '',
  });
  const fingerprint = () => JSON.stringify(credentials());
  ended = fingerprint();
  return {
    credentials,
    webpath: overrides.webpath ?? current?.listener?.webpath ?? '',
    announced: (): AnnouncedServer => announcedBy(options, current),
    /** Whether they differ from what they were at the last call. */
    credentialsChanged(): boolean {
      const before = ended;
      ended = fingerprint();
      return ended !== before;
    },
  };
}

function announcedBy(options: GatewayOptions, current: ServerConfiguration | null): AnnouncedServer {
  const [, host = '127.0.0.1', port = '50000'] = /^(.*):(\d+)$/.exec(current?.listen ?? '') ?? [];
  return { host, port: Number(port), shareScheme: 'ostp', shareQuery: '', ...options.announced };
}

function createMounts(
  options: GatewayOptions,
  webpath: string,
  credentials: () => Credentials,
  { fileSystem, log }: Pick<Ports, 'fileSystem' | 'log'>,
): readonly Mount[] {
  const mounts = options.mounts.map((wanted) => {
    const problem = webpathProblem(wanted.webpath ?? webpath);
    if (problem !== null) throw new Error(`webpath: ${problem}`);
    const resolved = resolveRevision(wanted.revision);
    if (!resolved.ok) throw new Error(`revision ${wanted.revision}: ${resolved.problem}`);
    const { revision } = resolved;
    const version = options.reportVersion ?? resolved.version;
    const folder = wanted.panelDir ?? options.panelDir;
    const servers = options.panelServers ?? [];
    const isOpen = () => revision.auth.isOpen(credentials());
    const panel =
      folder === undefined
        ? embeddedPanel({ revision, version, servers, isOpen })
        : panelFolder(folder, fileSystem, log);
    return createMount({ revision, version, webpath: wanted.webpath ?? webpath, panel });
  });
  if (mounts.length === 0) throw new Error('at least one revision is needed');
  const clashes = mountClashes(mounts);
  if (clashes.length > 0) throw new Error(clashes.join('; '));
  return mounts;
}
