import type { FastifyInstance } from 'fastify';
import { newestRevision } from '../../revisions/index.js';
import type { Backend } from '../core/backend.js';
import { type Core, createCore } from '../core/core.js';
import { type AnnouncedServer, type Credentials, DEFAULT_ANNOUNCED } from '../core/model.js';
import { createTokenGuard, NO_TOKEN_GUARD, type TokenGuard } from '../core/token-guard.js';
import { noResolver } from '../dns/no-resolver.js';
import { createApp } from '../northbound/app.js';
import { type AppOptions, DEFAULT_APP_SETTINGS } from '../northbound/app-options.js';
import { type CallerOf, createCallerOf } from '../northbound/caller.js';
import { embeddedPanel } from '../northbound/embedded-panel.js';
import { createMount, type Mount, mountClashes, subscriptionsOf, webpathProblem } from '../northbound/mount.js';
import { panelFolder } from '../northbound/panel-files.js';
import { SubscriptionDoor } from '../subscription/door.js';
import type { Home, HomeParts } from './homes/home.js';
import { openHome } from './homes/open.js';
import type { ComposeOptions } from './options.js';

/** A composed gateway: the app, and what stands behind it. `app.close()` closes all of it. */
export interface Gateway extends HomeParts {
  readonly app: FastifyInstance;
  /** The open home of the state. */
  readonly home: Home;
  readonly backend: Backend;
  readonly core: Core;
  readonly mounts: readonly Mount[];
  readonly credentials: () => Credentials;
  readonly announced: () => AnnouncedServer;
  /** Asked wherever a token is. */
  readonly tokens: TokenGuard;
  readonly callerOf: CallerOf;
  /** Another app over the same core that answers the subscriptions of every mount, and nothing else. */
  readonly subscriptions: (own: Pick<AppOptions, 'createServer'>) => FastifyInstance;
  /** Another app over the same core, for whoever may open the socket that it listens on: the newest revision, without a credential. */
  readonly control: () => FastifyInstance;
}

/** Opens the state that the options name and assembles the gateway over it. Rejects with an `Error` whose message is for people. */
export async function composeGateway(options: ComposeOptions): Promise<Gateway> {
  return assembleGateway(options, await openHome(options));
}

/** The options for a gateway over a home that is open. */
type AssembleOptions = Omit<ComposeOptions, 'home'>;

/** The gateway over a home that is open; where it rejects, with an `Error` whose message is for people, it has closed it. */
export async function assembleGateway(options: AssembleOptions, home: Home): Promise<Gateway> {
  try {
    return assemble(options, home);
  } catch (error) {
    await home.backend.close();
    throw error;
  }
}

function assemble(options: AssembleOptions, home: Home): Gateway {
  const { createServer, observer, refusesOpen, ...given } = options;
  const { clock, random, log } = given;
  const { backend } = home;
  const listener = listenerOf(options, backend);
  const holdSessions = () => home.holdSessions(JSON.stringify(listener.credentials()));
  holdSessions();
  const mounts = createMounts(options, backend, listener);
  const core = createCore({ backend, clock, random, resolver: options.resolver ?? noResolver });
  const endSessions = whenCredentialsChange(listener.credentials, () => {
    holdSessions();
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
  const door = new SubscriptionDoor({ core, announced, givenHost: options.announced?.host ?? null, clock });
  const appOptions: AppOptions = {
    ...DEFAULT_APP_SETTINGS,
    ...given,
    core,
    mounts,
    credentials: listener.credentials,
    announced,
    tokens,
    callerOf,
    subscriptions: given.subscriptionTokens === true ? { door, hidesRest: false } : null,
    ...(observer === undefined ? {} : { observer: observer.requests }),
    refusesOpen: (mount) => refusesOpen?.(mount, { mounts, credentials: listener.credentials() }) ?? false,
  };
  const app = createApp({ ...appOptions, ...(createServer === undefined ? {} : { createServer }) });
  app.addHook('onClose', backend.close);
  return {
    app,
    core,
    mounts,
    home,
    backend,
    local: null,
    upstream: null,
    database: null,
    ...home.parts,
    credentials: listener.credentials,
    announced,
    tokens,
    callerOf,
    subscriptions: (own) =>
      createApp({
        ...appOptions,
        ...own,
        mounts: mounts.map(subscriptionsOf),
        subscriptions: options.subscriptionTokens === false ? null : { door, hidesRest: true },
      }),
    control: () =>
      createApp({
        ...appOptions,
        ...DEFAULT_APP_SETTINGS,
        mounts: [controlMount()],
        credentials: () => NO_CREDENTIALS,
        tokens: NO_TOKEN_GUARD,
        loginGuard: 'off',
        subscriptions: null,
        refusesOpen: () => false,
      }),
  };
}

const NO_CREDENTIALS: Credentials = { token: null, username: '', passwordHash: '' };

/** The newest revision without its panel. */
function controlMount(): Mount {
  const panel = { file: async () => null };
  const revision = newestRevision();
  return { ...createMount({ revision, version: revision.reportedVersion, webpath: '', panel }), hidesRest: true };
}

/** The listener that the state describes now, under the options' overrides. */
function listenerOf({ listener: overrides = {} }: AssembleOptions, backend: Backend) {
  const described = () => backend.settings().listener;
  return {
    credentials: (): Credentials => ({
      token: overrides.token ?? described()?.token ?? null,
      username: overrides.username ?? described()?.username ?? '',
      passwordHash: overrides.passwordHash ?? described()?.passwordHash ?? '',
    }),
    /** The web path at the start: paths stay while Keyway runs. */
    webpath: overrides.webpath ?? described()?.webpath ?? '',
  };
}

/** Returns a check for every change; it calls back when the credentials differ from those at the call before. */
function whenCredentialsChange(credentials: () => Credentials, changed: () => void): () => void {
  let before = JSON.stringify(credentials());
  return () => {
    const now = JSON.stringify(credentials());
    if (now === before) return;
    before = now;
    changed();
  };
}

function announcedBy(options: AssembleOptions, stated: Partial<AnnouncedServer>): AnnouncedServer {
  const own = Object.entries(options.announced ?? {}).filter(([, value]) => value !== null);
  return { ...DEFAULT_ANNOUNCED, ...stated, ...Object.fromEntries(own) };
}

function createMounts(
  options: AssembleOptions,
  backend: Backend,
  { webpath, credentials }: ReturnType<typeof listenerOf>,
): readonly Mount[] {
  const mounts = options.mounts.map((wanted) => {
    const problem = webpathProblem(wanted.webpath ?? webpath);
    if (problem !== null) throw new Error(`webpath: ${problem}`);
    const { revision } = wanted;
    const version = options.reportVersion ?? wanted.version;
    const folder = wanted.panelDir ?? options.panelDir;
    const { panelServers: servers = [], ownVersion: keyway = null, subscriptions = null } = options;
    const isOpen = () => revision.auth.isOpen(credentials());
    const panel =
      folder === undefined
        ? embeddedPanel({ revision, version, servers, keyway, subscriptions, isOpen })
        : panelFolder(folder, options.fileSystem, options.log);
    return createMount({ revision, version, webpath: wanted.webpath ?? webpath, panel }, backend.sessions);
  });
  if (mounts.length === 0) throw new Error('at least one revision is needed');
  const clashes = mountClashes(mounts);
  if (clashes.length > 0) throw new Error(clashes.join('; '));
  return mounts;
}
