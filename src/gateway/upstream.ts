import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import { DEFAULT_BIND, type ListenerConfig } from '../core/model.js';
import { sha256Hash } from '../core/password.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { createFileSystem } from '../platform/file-system.js';
import { systemClock, systemRandom } from '../platform/system-ports.js';
import { openUpstreamBackend, type UpstreamBackend } from '../southbound/backend.js';
import { createRunningServer } from '../southbound/running-server.js';
import type { CallsObserverPort, UpstreamServer } from '../southbound/server.js';
import { type ComposeOptions, type GatewayUpstream, type ResolvedUpstream, silent } from './options.js';

/** A running server, and the state that it holds. */
export interface OpenUpstream {
  readonly server: UpstreamServer;
  readonly backend: UpstreamBackend;
}

/** Opens the state of a running server. Rejects with an `Error` whose message is for people. */
export async function openUpstream(upstream: ResolvedUpstream, options: ComposeOptions): Promise<OpenUpstream> {
  const { clock = systemClock, log = silent, observer, progress } = options;
  const server = serverAt(upstream, { clock, log }, observer?.calls);
  const backend = await openUpstreamBackend({
    server,
    listener: listenerOf(upstream),
    dataFolder: options.dataDir ?? null,
    guard: options.guardConfig ?? false,
    servesStale: options.serveStale ?? false,
    settle: options.settle ?? 'auto',
    readsSettings: options.resolvesForUpstream ?? false,
    fileSystem: options.fileSystem ?? createFileSystem(),
    clock,
    random: options.random ?? systemRandom,
    log,
    ...(progress === undefined ? {} : { progress }),
  });
  return { server, backend };
}

/** The running server itself; nothing is sent before the first call. */
export function serverAt(
  upstream: ResolvedUpstream,
  ports: { readonly clock: ClockPort; readonly log: LogPort },
  observer?: CallsObserverPort,
): UpstreamServer {
  return createRunningServer({
    ...upstream,
    ...ports,
    lines: { all: REVISIONS, resolve: resolveRevision },
    ...(observer === undefined ? {} : { observer }),
  });
}

/** People sign in as ever, and where they did: what Keyway was given for the server counts for its own callers. */
function listenerOf({ webpath, credentials: { token, operator } }: ResolvedUpstream): ListenerConfig {
  return {
    enabled: true,
    bind: DEFAULT_BIND,
    webpath,
    token,
    username: operator?.username ?? '',
    passwordHash: operator === null ? '' : sha256Hash(operator.password),
  };
}

/** Finds address and line of a running server. Throws an `Error` whose message is for people. */
export function resolveUpstream(given: GatewayUpstream): ResolvedUpstream {
  const { token = null, username, password = '', ca, mostKeys } = given;
  if (!URL.canParse(given.url)) throw new Error('upstream: expected a URL as http(s)://host:port/webpath');
  const { origin, pathname } = new URL(given.url);
  const operator = username === undefined ? null : { username, password };
  return {
    origin,
    webpath: pathname.replace(/^\/+|\/+$/g, ''),
    revision: given.revision === undefined ? null : lineNamed(given.revision),
    credentials: { token, operator },
    ...(ca === undefined ? {} : { ca }),
    ...(mostKeys === undefined ? {} : { mostKeys }),
  };
}

function lineNamed(text: string) {
  const answer = resolveRevision(text);
  if (!answer.ok) throw new Error(`upstream revision ${text}: ${answer.problem}`);
  return answer.revision;
}
