import type { LogPort } from '../core/ports.js';
import type { Gateway } from '../gateway/compose.js';
import { tryWriting } from '../local/file/try-writing.js';
import { UNIX_PEER } from '../northbound/peers.js';
import { createFileSystem } from '../platform/file-system.js';
import type { Settings } from '../settings/table.js';
import { isLoopback } from './open-mounts.js';

/** Tries the way of writing without changing the file, and says in one sentence what will be in its way. */
export async function reportWriting(settings: Settings, log: LogPort): Promise<void> {
  if (settings.config === null) return;
  const trial = { path: settings.config, fileSystem: createFileSystem(), inPlace: settings.inPlace };
  for (const { kind, message } of await tryWriting(trial)) log.warn({ kind }, message);
}

/** Says at start what was read past in the file, and what clients are told when they cannot reach it. */
export function reportSurroundings(gateway: Gateway, log: LogPort): void {
  for (const warning of gateway.local?.configuration?.load().warnings ?? []) log.warn({}, warning);
  const { host } = gateway.announced();
  if (['', '0.0.0.0', '[::]', '::'].includes(host) || isLoopback(host)) {
    log.warn(
      { host },
      'share links name an address that clients cannot reach: give theirs with --server-host and --server-port',
    );
  }
}

/** On a Unix socket all callers are one to the login guard, until a proxy is believed who they are. */
export function reportCallers(settings: Settings, log: LogPort): void {
  const isSocket = settings.bind?.startsWith('unix:') === true;
  if (!isSocket || settings.loginGuard === 'off' || settings.trustProxy.includes(UNIX_PEER)) return;
  log.warn(
    {},
    'all callers of a Unix socket count as one for the login guard: where the proxy sets X-Forwarded-For, add --trust-proxy unix',
  );
}

/** A changed `bind` or `webpath` waits for a restart (design: "Command line"). */
export function watchForRestarts(
  gateway: Gateway,
  started: { readonly bind: string; readonly webpath: string } | null,
  log: LogPort,
): void {
  let last = { bind: started?.bind, webpath: started?.webpath };
  gateway.backend.onChange(() => {
    const { listener } = gateway.backend.settings();
    const next = { bind: listener?.bind, webpath: listener?.webpath };
    for (const member of ['bind', 'webpath'] as const) {
      if (next[member] !== last[member]) log.warn({ member }, `the file's ${member} changed: it waits for a restart`);
    }
    last = next;
  });
}
