import type { FastifyInstance } from 'fastify';
import { resolveRevision } from '../../revisions/index.js';
import type { Backend } from '../core/backend.js';
import type { ConfigurationObserverPort } from '../core/configuration-observer.js';
import { type Core, createCore } from '../core/core.js';
import type { AnnouncedServer, Credentials } from '../core/model.js';
import type { ClockPort, FileSystemPort, LogPort, RandomPort, ResolverPort } from '../core/ports.js';
import { createTokenGuard, NO_TOKEN_GUARD, type TokenGuard } from '../core/token-guard.js';
import { noResolver } from '../dns/no-resolver.js';
import { type LocalBackend, openLocalBackend } from '../local/backend.js';
import type { CreateServer } from '../northbound/api-server.js';
import { createApp } from '../northbound/app.js';
import type { AppOptions } from '../northbound/app-options.js';
import { type CallerOf, createCallerOf } from '../northbound/caller.js';
import { embeddedPanel } from '../northbound/embedded-panel.js';
import { DEFAULT_LOGIN_GUARD, type LoginGuardLimit } from '../northbound/login-guard.js';
import { createMount, type Mount, mountClashes, subscriptionsOf, webpathProblem } from '../northbound/mount.js';
import { panelFolder } from '../northbound/panel-files.js';
import type { RequestsObserver } from '../northbound/request-observer.js';
import { createFileSystem } from '../platform/file-system.js';
import { systemClock, systemRandom } from '../platform/system-ports.js';

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
  /** The server's configuration file; absent for the run-time-only mode (protocol: "Status and configuration"). */
  readonly configPath?: string;
  /** Where the state lives instead, open; what is said here of file and data folder then counts for nothing. */
  readonly backend?: Backend;
  /** Where kept versions live; default `<file name>.keyway/` beside the configuration file. */
  readonly dataDir?: string;
  /** How long counters of keys that left by the file wait for their return, in milliseconds; default 30 days. */
  readonly keepGone?: number;
  /** How often counters are written by themselves, in milliseconds, 0 for never; default 400. */
  readonly countersWriteMilliseconds?: number;
  /** Overrides what the file says of the listener, member by member. */
  readonly listener?: Partial<Credentials & { readonly webpath: string }>;
  /** Overrides what clients are told, member by member; host and port default to the file's `listen`. */
  readonly announced?: Partial<AnnouncedServer>;
  /** The version that the status reports, instead of the mount's own. */
  readonly reportVersion?: string;
  readonly panelDir?: string;
  /** API roots of further servers that the embedded panel may speak to, such as `https://host:9090/panel/api`. */
  readonly panelServers?: readonly string[];
  /** Asks for the mount's credential on the audit operations too; default false, as the protocol says. */
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
  readonly backend: Backend;
  /** The same where the state lives in a configuration file and a data folder here; null where it does not. */
  readonly local: LocalBackend | null;
  readonly credentials: () => Credentials;
  readonly announced: () => AnnouncedServer;
  /** Asked wherever a token is. */
  readonly tokens: TokenGuard;
  readonly callerOf: CallerOf;
  /** Another app over the same core that answers the subscriptions of every mount, and nothing else. */
  readonly subscriptions: (own: Pick<AppOptions, 'createServer'>) => FastifyInstance;
}

const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** Composes backend, core, mounts and app. Rejects with an `Error` whose message is for people. */
export async function composeGateway(options: GatewayOptions): Promise<Gateway> {
  const { clock = systemClock, random = systemRandom, log = silent } = options;
  const state = await openState(options, clock, log);
  try {
    return assemble(options, state, { clock, random, log });
  } catch (error) {
    await state.backend.close();
    throw error;
  }
}

async function openState(options: GatewayOptions, clock: ClockPort, log: LogPort): Promise<State> {
  if (options.backend !== undefined) return { backend: options.backend, local: null };
  const local = await openLocal(options, clock, log);
  return { backend: local, local };
}

async function openLocal(options: GatewayOptions, clock: ClockPort, log: LogPort): Promise<LocalBackend> {
  const { configPath = null, dataDir, keepGone, inPlace, guardConfig, pollMilliseconds, observer } = options;
  const { countersWriteMilliseconds } = options;
  const backend = await openLocalBackend({
    configPath,
    fileSystem: options.fileSystem ?? createFileSystem(),
    clock,
    log,
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(keepGone === undefined ? {} : { keepGone }),
    ...(countersWriteMilliseconds === undefined ? {} : { countersWriteMilliseconds }),
    ...(inPlace === undefined ? {} : { inPlace }),
    ...(guardConfig === undefined ? {} : { guard: guardConfig }),
    ...(pollMilliseconds === undefined ? {} : { pollMilliseconds }),
    ...(observer === undefined ? {} : { observer: observer.configuration }),
  });
  // What the disk does not take now is tried again while serving.
  await backend.jobs.look().catch((error: unknown) => log.warn({ err: error }, 'a restore or import is not done yet'));
  backend.jobs.follow();
  return backend;
}

type State = Pick<Gateway, 'backend' | 'local'>;

type Ports = Required<Pick<GatewayOptions, 'clock' | 'random' | 'log'>>;

function assemble(options: GatewayOptions, state: State, { clock, random, log }: Ports): Gateway {
  const { backend } = state;
  const listener = listenerOf(options, backend);
  const mounts = createMounts(options, backend, listener);
  const core = createCore({ backend, clock, random, resolver: options.resolver ?? noResolver });
  const endSessions = whenCredentialsChange(listener.credentials, () => {
    const ended = mounts.map(async (mount) => mount.session.end());
    Promise.all(ended).then(
      () => log.info({}, 'the credentials changed: every session has ended'),
      (error: unknown) => log.error({ err: error }, 'the credentials changed, and not every session could be ended'),
    );
  });
  backend.onChange(endSessions);
  const announced = () => announcedBy(options, backend.settings().announced);
  const tokens = options.loginGuard === 'off' ? NO_TOKEN_GUARD : createTokenGuard(clock, random);
  const callerOf = createCallerOf(options.trustProxy ?? []);
  const appOptions: AppOptions = {
    core,
    mounts,
    credentials: listener.credentials,
    announced,
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
    refusesOpen: (mount) => options.refusesOpen?.(mount, { mounts, credentials: listener.credentials() }) ?? false,
  };
  const { createServer } = options;
  const app = createApp({ ...appOptions, ...(createServer === undefined ? {} : { createServer }) });
  app.addHook('onClose', backend.close);
  return {
    app,
    core,
    mounts,
    ...state,
    credentials: listener.credentials,
    announced,
    tokens,
    callerOf,
    subscriptions: (own) => createApp({ ...appOptions, ...own, mounts: mounts.map(subscriptionsOf) }),
  };
}

/** What the state says of the listener now, under what the options override. */
function listenerOf({ listener: overrides = {} }: GatewayOptions, backend: Backend) {
  const described = () => backend.settings().listener;
  return {
    credentials: (): Credentials => ({
      token: overrides.token ?? described()?.token ?? null,
      username: overrides.username ?? described()?.username ?? '',
      passwordHash: overrides.passwordHash ?? described()?.passwordHash ?? '',
    }),
    /** Of the start: paths stay while Keyway runs. */
    webpath: overrides.webpath ?? described()?.webpath ?? '',
  };
}

/** What is to be called at every change; it calls back where the credentials are others than at the call before. */
function whenCredentialsChange(credentials: () => Credentials, changed: () => void): () => void {
  let before = JSON.stringify(credentials());
  return () => {
    const now = JSON.stringify(credentials());
    if (now === before) return;
    before = now;
    changed();
  };
}

const ANNOUNCED_BY_DEFAULT: AnnouncedServer = { host: '127.0.0.1', port: 50000, shareScheme: 'ostp', shareQuery: '' };

function announcedBy(options: GatewayOptions, stated: Partial<AnnouncedServer>): AnnouncedServer {
  return { ...ANNOUNCED_BY_DEFAULT, ...stated, ...options.announced };
}

function createMounts(
  options: GatewayOptions,
  backend: Backend,
  { webpath, credentials }: ReturnType<typeof listenerOf>,
): readonly Mount[] {
  const fileSystem = options.fileSystem ?? createFileSystem();
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
        : panelFolder(folder, fileSystem, options.log ?? silent);
    return createMount({ revision, version, webpath: wanted.webpath ?? webpath, panel }, backend.sessions);
  });
  if (mounts.length === 0) throw new Error('at least one revision is needed');
  const clashes = mountClashes(mounts);
  if (clashes.length > 0) throw new Error(clashes.join('; '));
  return mounts;
}
