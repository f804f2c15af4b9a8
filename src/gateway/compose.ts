import type { FastifyInstance } from 'fastify';
import { SERVER_FILES } from '../../revisions/all.js';
import { commandRevision } from '../../revisions/index.js';
import { Actors } from '../core/actors.js';
import type { Backend } from '../core/backend.js';
import { type Core, createCore } from '../core/core.js';
import { KeyMakers } from '../core/keys/key-makers.js';
import { KeyNotes } from '../core/keys/key-notes.js';
import { createKeyOperations } from '../core/keys/operations.js';
import type { KeyReader } from '../core/keys/types.js';
import type { AnnouncedServer, Credentials, Published } from '../core/model.js';
import { NamedTokens } from '../core/named-tokens.js';
import { OperationUse } from '../core/operation-use.js';
import { createTokenGuard, NO_TOKEN_GUARD, type TokenGuard } from '../core/token-guard.js';
import { createNoResolver } from '../dns/no-resolver.js';
import { createApp } from '../northbound/app.js';
import { type AppOptions, DEFAULT_APP_SETTINGS } from '../northbound/app-options.js';
import { type CallerOf, createCallerOf } from '../northbound/caller.js';
import { embeddedPanel } from '../northbound/embedded-panel.js';
import {
  createMount,
  leavingHeaders,
  type Mount,
  mountClashes,
  subscriptionsOf,
  webpathProblem,
} from '../northbound/mount.js';
import { panelFolder } from '../northbound/panel-files.js';
import { createOwnContext } from '../own-api/call.js';
import { type EventServer, Events } from '../own-api/events.js';
import { Jobs } from '../own-api/jobs.js';
import { KeptAddresses } from '../own-api/kept-addresses.js';
import { Rotations } from '../own-api/rotations.js';
import { createOwnApi } from '../own-api/server.js';
import { secretBytes, Webhook, type WebhookOptions } from '../own-api/webhook.js';
import { SubscriptionDoor } from '../subscription/door.js';
import type { OfferFacts } from '../subscription/offer.js';
import { Announced } from './announced.js';
import type { Home, HomeParts } from './homes/home.js';
import { openHome } from './homes/open.js';
import type { ComposeOptions, TestControls, WatchedWebhook } from './options.js';
import { serveReplacements } from './replacement-calls.js';
import { createTestControls } from './test-controls.js';

/** A composed gateway: the app and the parts behind it. `app.close()` closes all of it. */
export interface Gateway extends HomeParts {
  readonly app: FastifyInstance;
  /** The open home of the state. */
  readonly home: Home;
  readonly backend: Backend;
  readonly core: Core;
  readonly mounts: readonly Mount[];
  readonly credentials: () => Credentials;
  readonly announced: () => AnnouncedServer;
  readonly use: OperationUse;
  /** Null without a webhook. */
  readonly webhook: WatchedWebhook | null;
  /** The faults and the state of a gateway for tests; null in any other gateway. */
  readonly test: TestControls | null;
  /** Consulted wherever a token is checked. */
  readonly tokens: TokenGuard;
  readonly callerOf: CallerOf;
  /** Makes another app over the same core that answers the subscriptions of every mount, and nothing else. */
  readonly subscriptions: (own: Pick<AppOptions, 'createServer'>) => FastifyInstance;
  /**
   * Makes another app over the same core for a socket whose file mode is its access check: the newest revision, without
   * a credential.
   */
  readonly control: () => FastifyInstance;
}

/** Opens the state that the options name and assembles the gateway over it. Rejects with an `Error` for the user. */
export async function composeGateway(options: ComposeOptions): Promise<Gateway> {
  return assembleGateway(options, await openHome(options));
}

/** The options for a gateway over a home that is open. */
type AssembleOptions = Omit<ComposeOptions, 'home'>;

/** Assembles the gateway over an open home. If it rejects, with an `Error` for the user, it has closed the home. */
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
  const readsDnsAsEngine = mounts.some(({ revision }) => revision.capabilities.dnsEngine !== undefined);
  const resolver = options.resolver ?? createNoResolver();
  const core = createCore({ backend, clock, random, resolver, readsDnsAsEngine });
  const endSessions = whenCredentialsChange(listener.credentials, () => {
    holdSessions();
    const ended = mounts.map(async (mount) => mount.session.end());
    Promise.all(ended).then(
      () => log.info({}, 'the credentials changed: every session has ended'),
      (error: unknown) => log.error({ err: error }, 'the credentials changed, and not every session could be ended'),
    );
  });
  backend.onChange(endSessions);
  const { keepHost } = home;
  const told = new Announced({ given: options.announced, backend, keepHost });
  const announced = told.now;
  const tokens = options.loginGuard === 'off' ? NO_TOKEN_GUARD : createTokenGuard(clock, random);
  const callerOf = createCallerOf(options.trustProxy ?? [], (address) =>
    log.warn(
      { address },
      'X-Forwarded-For comes from an address that is not trusted, and is passed over: where that is your proxy, add --trust-proxy with it',
    ),
  );
  const test = home.test === null ? null : createTestControls(home.test, mounts);
  const factsOf = (published: Published): OfferFacts => ({
    published,
    announced: announced(),
    toldHost: backend.settings().told?.host ?? null,
    ownDns: core.hasOwnDns(),
  });
  const offerFacts = async () => factsOf(await core.published());
  const { records } = home.backend;
  const addresses = new KeptAddresses(records, clock, random);
  const door = new SubscriptionDoor({ core, offerFacts: factsOf, clock, keptKey: addresses.keyOf });
  const named = new NamedTokens({ records, clock, random });
  const makers = new KeyMakers(records, clock, backend.keys);
  const notes = new KeyNotes(records, backend.keys);
  const actors = new Actors(clock);
  const use = new OperationUse({ records, clock });
  const server = serverOf(home);
  const isFollowing = options.webhook != null;
  const rotating = () => jobs.rotating();
  const events = new Events({ backend, records, server, actors, rotating, isFollowing, clock, random, log });
  const rotations = new Rotations({
    ...{ core, backend, records, makers, notes, addresses, clock, random, log },
    // A failure to record the event has already been logged.
    onRotated: (rotated) => void events.emitRotated([rotated]).catch(() => undefined),
    isInCharge: () => jobs.isInCharge(),
  });
  const jobs = new Jobs({
    ...{ core, backend, records, makers, notes, actors, named, rotations, clock, random, log },
    onEnded: ({ id, owner, state, total }, { done, failed, rotated }, told) => {
      const data = { job: id, by: owner, state, total, done, failed };
      return events.emitOnce([...events.ofRotated(rotated, owner), { type: 'job.ended', data }], told);
    },
  });
  const sunsets = sunsetsOf(options.mounts);
  const servesTokens = options.subscriptionTokens ?? options.subscriptions != null;
  const own = createOwnContext({
    ...{ core, backend, named, makers, notes, actors, addresses, offerFacts, use, sunsets, servesTokens },
    keepAddress: (host, port) => told.keep(host, port),
    ...{ serverFiles: SERVER_FILES, clock, random, log, jobs, rotations, events },
  });
  const webhook = webhookOf(options, { events, records, clock, log });
  const access = { mounts, credentials: listener.credentials, named, tokens, callerOf, isTerminal: false };
  const appOptions: AppOptions = {
    ...DEFAULT_APP_SETTINGS,
    ...given,
    core,
    mounts,
    credentials: listener.credentials,
    announced,
    offerFacts,
    named,
    makers,
    notes,
    actors,
    use,
    tokens,
    callerOf,
    ownApi: options.ownApi === false ? null : createOwnApi(own, access),
    subscriptions: given.subscriptionTokens === true ? { door, hidesRest: false } : null,
    faulty: test === null ? null : { ...test.faulty, credentials: listener.credentials },
    ...(observer === undefined ? {} : { observer: observer.requests }),
    refusesOpen: (mount) => refusesOpen?.(mount, { mounts, credentials: listener.credentials() }) ?? false,
  };
  const app = createApp({ ...appOptions, ...(createServer === undefined ? {} : { createServer }) });
  app.addHook('onClose', backend.close);
  // Hooks of this kind run in reverse order.
  app.addHook('onClose', () => events.close());
  app.addHook('onClose', () => webhook?.close());
  app.addHook('onClose', async () => {
    await rotations.close();
    await jobs.close();
  });
  if (options.ownApi !== false || webhook !== null) events.start({ mayHold: home.hasAllKeys });
  webhook?.start();
  if (home.hasAllKeys) {
    jobs.start();
    rotations.start();
  }
  app.addHook('onClose', keepWriting(use));
  const swept = home.hasAllKeys ? [makers, addresses, notes] : [];
  const sweeping = setInterval(() => void sweep(swept, home, log), SWEEP).unref();
  app.addHook('onClose', async () => clearInterval(sweeping));
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
    test: test?.controls ?? null,
    credentials: listener.credentials,
    announced,
    use,
    webhook,
    tokens,
    callerOf,
    subscriptions: (own) =>
      createApp({
        ...appOptions,
        ...own,
        mounts: mounts.map(subscriptionsOf),
        ownApi: null,
        subscriptions: options.subscriptionTokens === false ? null : { door, hidesRest: true },
      }),
    control: () => {
      const controlled = [controlMount()];
      const coreForCommands = { ...core, ...createKeyOperations(backend, random, { refuses: true }) };
      const app = createApp({
        ...appOptions,
        ...DEFAULT_APP_SETTINGS,
        core: coreForCommands,
        mounts: controlled,
        ownApi: createOwnApi(own, { ...access, mounts: controlled, isTerminal: true }),
        credentials: () => NO_CREDENTIALS,
        use: null,
        tokens: NO_TOKEN_GUARD,
        loginGuard: 'off',
        subscriptions: null,
        faulty: null,
        refusesOpen: () => false,
      });
      const replacements = home.parts.local?.replacements;
      if (replacements !== undefined) serveReplacements(app, replacements);
      return app;
    },
  };
}

/** Milliseconds between two sweeps for keys that disappeared without a call to this Keyway. */
const SWEEP = 3_600_000;

/** Removes records about keys that no longer exist, if it is known which keys do. Never rejects. */
async function sweep(
  followers: readonly { sweep(keys: KeyReader): Promise<void> }[],
  { backend }: Home,
  log: ComposeOptions['log'],
): Promise<void> {
  try {
    await backend.replica?.lastKnown();
    for (const each of followers) await each.sweep(backend.keys);
  } catch (error) {
    log.debug({ err: error }, 'records about keys are looked at later');
  }
}

/** Returns the announced end of each revision. */
function sunsetsOf(mounts: AssembleOptions['mounts']): ReadonlyMap<string, number> {
  return new Map(mounts.flatMap(({ revision, sunset }) => (sunset === undefined ? [] : [[revision.id, sunset]])));
}

/** Milliseconds. */
const USE_WRITTEN_EVERY = 60_000;

/** Writes the counted use from now on; returns a function that stops that after writing the rest. */
function keepWriting(use: OperationUse): () => Promise<void> {
  const timer = setInterval(() => void use.write(), USE_WRITTEN_EVERY).unref();
  return () => {
    clearInterval(timer);
    return use.write();
  };
}

/** Returns the server behind this gateway in the form that events need; null without a server. */
function serverOf({ backend, parts }: Home): EventServer | null {
  const server = parts.upstream?.server;
  if (server === undefined) return null;
  return {
    isAway: async () => (await backend.problems()).some(({ problem }) => problem === 'upstream_away'),
    version: () => server.version(),
  };
}

function webhookOf(
  { webhook: url = null, webhookSecret: secret = null }: Pick<AssembleOptions, 'webhook' | 'webhookSecret'>,
  parts: Omit<WebhookOptions, 'url' | 'secret'>,
): Webhook | null {
  return url === null || secret === null ? null : new Webhook({ ...parts, url, secret: secretBytes(secret) });
}

const NO_CREDENTIALS: Credentials = { token: null, username: '', passwordHash: '' };

/** The newest revision that may be open, without its panel. */
function controlMount(): Mount {
  const panel = { file: async () => null };
  const revision = commandRevision();
  return { ...createMount({ revision, version: revision.reportedVersion, webpath: '', panel }), hidesRest: true };
}

/** Returns the listener that the state describes at present, with the options' overrides. */
function listenerOf({ listener: overrides = {} }: AssembleOptions, backend: Backend) {
  const described = () => backend.settings().listener;
  return {
    credentials: (): Credentials => ({
      token: overrides.token ?? described()?.token ?? null,
      username: overrides.username ?? described()?.username ?? '',
      passwordHash: overrides.passwordHash ?? described()?.passwordHash ?? '',
    }),
    /** The web path at the start; paths stay the same while Keyway runs. */
    webpath: overrides.webpath ?? described()?.webpath ?? '',
  };
}

/** Returns a function to call after every change, which calls back if the credentials differ from before. */
function whenCredentialsChange(credentials: () => Credentials, changed: () => void): () => void {
  let before = JSON.stringify(credentials());
  return () => {
    const now = JSON.stringify(credentials());
    if (now === before) return;
    before = now;
    changed();
  };
}

function createMounts(
  options: AssembleOptions,
  backend: Backend,
  { webpath, credentials }: ReturnType<typeof listenerOf>,
): readonly Mount[] {
  const mounts = options.mounts.map((wanted) => {
    const problem = webpathProblem(wanted.webpath ?? webpath);
    if (problem !== null) throw new Error(`webpath: ${problem}`);
    const { revision, version } = wanted;
    const folder = wanted.panelDir ?? options.panelDir;
    const { panelServers: servers = [], ownVersion: keyway = null, subscriptions = null } = options;
    const isOpen = () => revision.auth.isOpen(credentials());
    const ownApi = options.ownApi !== false;
    const panel =
      folder === undefined
        ? embeddedPanel({ revision, version, servers, keyway, subscriptions, ownApi, isOpen })
        : panelFolder(folder, options.fileSystem, options.log);
    const headers = wanted.sunset === undefined ? {} : leavingHeaders(wanted.sunset, options.clock.now());
    return createMount({ revision, version, webpath: wanted.webpath ?? webpath, panel, headers }, backend.sessions);
  });
  if (mounts.length === 0) throw new Error('at least one revision is needed');
  const clashes = mountClashes(mounts);
  if (clashes.length > 0) throw new Error(clashes.join('; '));
  return mounts;
}
