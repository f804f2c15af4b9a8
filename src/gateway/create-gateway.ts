import type { FastifyInstance } from 'fastify';
import { type ResolvedRevision, resolveRevision } from '../../revisions/index.js';
import type { LogPort } from '../core/ports.js';
import { isPanelBuilt } from '../northbound/embedded-panel.js';
import { createFileSystem } from '../platform/file-system.js';
import { systemClock, systemRandom } from '../platform/system-ports.js';
import { databaseHome, fileHome, type HomePlace, memoryHome, testHome, upstreamHome } from '../settings/home.js';
import { withFollowed } from '../sockets/followed-connections.js';
import { withoutOuterSlashes } from '../wire/text-ends.js';
import { checkOptions } from './check-options.js';
import { assembleGateway, composeGateway, type Gateway } from './compose.js';
import { homeOver } from './homes/home.js';
import { stateBytes } from './homes/test-state.js';
import {
  type GatewayMount,
  type GatewayOptions,
  type GatewayUpstream,
  type ResolvedMount,
  silent,
  type TestOptions,
} from './options.js';
import { faultNamed } from './test-controls.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The gateway behind a Keyway app; set by `createGateway`. */
    readonly keyway: Gateway;
  }
}

/**
 * Creates the gateway as a Fastify app, for embedding and for `inject` in tests. It opens no socket until `listen`,
 * starts no resolver, and follows the protocol on mounts that their own rule leaves open. Rejects with an `Error` for
 * the user if a revision is unknown, two mounts clash or the configuration file cannot be read.
 */
export async function createGateway(options: GatewayOptions): Promise<FastifyInstance> {
  const warnings = checkOptions(options);
  const { clock = systemClock, random = systemRandom, fileSystem = createFileSystem(), log = silent } = options;
  for (const warning of warnings) log.warn({}, warning);
  const { backend, createServer } = options;
  const followed = createServer === undefined ? {} : { createServer: withFollowed(createServer) };
  const shared = { ...options, ...followed, clock, random, fileSystem, log, mounts: options.mounts.map(resolveMount) };
  const gateway =
    backend === undefined || options.test !== undefined
      ? await composeGateway({ ...shared, home: homeOf(options) })
      : await assembleGateway(shared, homeOver(backend));
  gateway.app.decorate('keyway', gateway);
  reportAbsent(options, gateway, log);
  return gateway.app;
}

/** Logs what a gateway lacks and what is easily left out by mistake. */
function reportAbsent({ refusesOpen, ...given }: GatewayOptions, { mounts, credentials }: Gateway, log: LogPort): void {
  const hasHome = LASTING.some((name) => given[name] !== undefined) || given.test !== undefined;
  if (!hasHome) log.info({}, 'no configPath is given: the state lives in memory, and goes with the gateway');
  const open = mounts.filter(({ revision }) => revision.auth.isOpen(credentials()));
  if (open.length > 0 && refusesOpen === undefined)
    log.info(
      { mounts: open.map(({ label }) => label) },
      'no credential is given: these mounts answer everyone; listener.token, or listener.username and listener.passwordHash, close them',
    );
  if (!isPanelBuilt()) log.info({}, 'the panel is not built, and a plain page stands in its place: npm run build');
}

function resolveMount(wanted: GatewayMount): ResolvedMount {
  const { revision, version } = lineNamed(wanted.revision, 'revision');
  return { ...wanted, revision, version };
}

/** The options that must not be combined with a state for tests. */
const LASTING = ['configPath', 'upstream', 'database', 'backend', 'dataDir'] as const;

function testHomeOf({ state, fault = 'none' }: TestOptions, options: GatewayOptions): HomePlace {
  const lasting = LASTING.find((name) => options[name] !== undefined);
  if (lasting !== undefined)
    throw new Error(`test: expected no ${lasting} with it, so that nobody has faults by accident`);
  return testHome({ path: null, state: state === undefined ? null : stateBytes(state), fault: faultNamed(fault) });
}

function homeOf(options: GatewayOptions): HomePlace {
  if (options.test !== undefined) return testHomeOf(options.test, options);
  const { configPath = null, dataDir = null, inPlace, upstream, database, serveStale } = options;
  if (upstream !== undefined)
    return upstreamHome({
      ...serverOf(upstream),
      dataFolder: dataDir,
      ...(serveStale === undefined ? {} : { servesStale: serveStale }),
    });
  if (database !== undefined) return databaseHome(database);
  const { serverVersion: version } = options;
  const serverVersion = version === undefined ? null : lineNamed(version, 'server version');
  return configPath === null
    ? memoryHome({ dataDir, serverVersion })
    : fileHome(configPath, { dataDir, serverVersion, ...(inPlace === undefined ? {} : { inPlace }) });
}

/** Returns address and line of a running server. Throws an `Error` for the user. */
function serverOf(given: GatewayUpstream) {
  const { url, revision, token = null, username, password = '', ca } = given;
  if (!URL.canParse(url)) throw new Error('upstream: expected a URL as http(s)://host:port/webpath');
  const { origin, pathname } = new URL(url);
  return {
    ...(ca === undefined ? {} : { ca }),
    origin,
    webpath: withoutOuterSlashes(pathname),
    revision: revision === undefined ? null : lineNamed(revision, 'upstream revision').revision,
    credentials: { token, operator: username === undefined ? null : { username, password } },
  };
}

function lineNamed(text: string, what: string): ResolvedRevision {
  const answer = resolveRevision(text);
  if (!answer.ok) throw new Error(`${what} ${text}: ${answer.problem}`);
  return answer;
}
