import { REVISIONS } from '../../../revisions/all.js';
import { resolveRevision } from '../../../revisions/index.js';
import { lossesShown } from '../../client/losses.js';
import { createRunningServer } from '../../client/running-server.js';
import type { CallsObserverPort, UpstreamServer } from '../../client/server.js';
import { DEFAULT_BIND, type ListenerConfig } from '../../core/model.js';
import { sha256Hash } from '../../core/password.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../core/ports.js';
import { openUpstreamBackend } from '../../homes/upstream/backend.js';
import { UPSTREAM_PROBLEMS } from '../../homes/upstream/state.js';
import { upstreamFamilies } from '../../ops/upstream-metrics.js';
import { readTrusted } from '../../platform/trusted.js';
import { isLoopback } from '../../settings/bind-address.js';
import type { HomePlaceOf } from '../../settings/home.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { ComposeOptions } from '../options.js';
import { type Home, homeOver } from './home.js';

/** Opens the state of a running server. Rejects with an `Error` for the user. */
export async function openUpstreamHome(place: HomePlaceOf<'upstream'>, options: ComposeOptions): Promise<Home> {
  const { resolvesForUpstream: readsSettings = false, log, observer } = options;
  const server = await serverAt(place, options, observer?.calls);
  const listener = listenerOf(place);
  const backend = await openUpstreamBackend({ ...options, ...place, server, listener, readsSettings });
  return {
    ...homeOver(backend),
    problemKinds: UPSTREAM_PROBLEMS,
    metrics: () => upstreamFamilies(backend.status),
    report: async (served) => reportServer(server, served, log),
    parts: { upstream: { server, backend } },
  };
}

/**
 * Returns the client of the running server; nothing is sent before the first call. Rejects if its certificates cannot
 * be read.
 */
export async function serverAt(
  { ca, ...place }: HomePlaceOf<'upstream'>,
  { clock, log, fileSystem }: { readonly clock: ClockPort; readonly log: LogPort; readonly fileSystem: FileSystemPort },
  observer?: CallsObserverPort,
): Promise<UpstreamServer> {
  const trusted = typeof ca === 'string' ? await readTrusted('upstream-ca', ca, fileSystem) : ca;
  return createRunningServer({
    ...place,
    clock,
    log,
    ...(trusted === null ? {} : { ca: trusted }),
    lines: { all: REVISIONS, resolve: resolveRevision },
    ...(observer === undefined ? {} : { observer }),
  });
}

/**
 * Returns a listener with the server's path and credentials: users sign in as before, at the same path, and the
 * credentials that Keyway was given for the server protect its own API.
 */
function listenerOf({ webpath, credentials: { token, operator } }: HomePlaceOf<'upstream'>): ListenerConfig {
  return {
    enabled: true,
    bind: DEFAULT_BIND,
    webpath,
    token,
    username: operator?.username ?? '',
    passwordHash: operator === null ? '' : sha256Hash(operator.password),
  };
}

/**
 * Logs which server is behind this gateway, and what of it the mounts cannot show; again whenever it becomes a server
 * of another line.
 */
function reportServer(server: UpstreamServer, mounts: readonly Revision[], log: LogPort): void {
  const { protocol, hostname } = new URL(server.name);
  if (protocol === 'http:' && !isLoopback(hostname))
    log.warn(
      { upstream: server.name },
      'the server is called without TLS: anyone on the way can read its credential and every key',
    );
  let reported: Revision | null = null;
  const report = () => {
    const line = server.line();
    if (line === null || line === reported) return;
    reported = line;
    const sentences = new Set(lossesShown(line, mounts).map(({ sentence }) => sentence));
    for (const loss of sentences) log.warn({ upstream: server.name, line: line.id }, loss);
  };
  report();
  server.onChange(report);
}
