import { createReadiness } from '../core/readiness.js';
import type { Mount } from '../northbound/mount.js';
import type { Settings } from '../settings/table.js';
import { isBesideServer } from './beside.js';
import { check, idleReason, isHostReached, openProblems, reportHost } from './check.js';
import { createConnections } from './connections.js';
import { openListeners, placeOf } from './listeners.js';
import { type Around, type Prepared, prepare, type ServePorts } from './prepare.js';

export interface RunningGateway {
  /** `http(s)://host:port`, without a trailing slash, or `unix:` and the socket's path. */
  readonly url: string;
  readonly mounts: readonly Mount[];
  /** Writes the address of a path for the log. */
  at(path: string): string;
  /** Logs which address clients are given if they cannot reach it. */
  reportHost(): void;
  /**
   * Stores another address for clients, and resolves to the path of the file that has it; null if they reach the
   * present one, or it cannot be stored.
   */
  readonly keepHost: ((host: string) => Promise<string>) | null;
  /** Reads the certificate again, which is not watched, and logs the result. */
  reload(): Promise<void>;
  /** Stops accepting requests, finishes those under way, and writes what is pending. */
  close(): Promise<void>;
}

/**
 * Starts the gateway that the settings describe. Resolves to null, with a line in the log, if the file's listener is
 * not enabled and no `--bind` overrides it. The version is Keyway's own. Rejects with a `StartError`.
 */
export async function startGateway(
  settings: Settings,
  ports: ServePorts,
  version: string,
): Promise<RunningGateway | null> {
  const { log } = ports;
  const readiness = createReadiness();
  const connections = createConnections({ ...settings, log });
  // Opened first and closed last, to report on a long start and on a stop. Its libraries are loaded on demand.
  const ops =
    settings.opsBind === null
      ? null
      : await (await import('./ops.js')).startOps(
          { ...settings, opsBind: settings.opsBind, version, readiness, connections },
          log,
        );
  try {
    const serving = await startServing({ version, settings, connections, ops }, ports);
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

/** Prepares, checks, and listens. */
async function startServing(around: Around, ports: ServePorts): Promise<RunningGateway | null> {
  const prepared = await prepare(around, ports);
  const { gateway, tls, resolver } = prepared;
  try {
    const idle = idleReason(prepared);
    if (idle !== null) {
      await gateway.app.close();
      ports.log.info({ config: around.settings.home.documents.join() }, `nothing is served: ${idle}`);
      return null;
    }
    await check(prepared, ports);
    const leavesDns = (await isBesideServer(prepared, ports.log)) && around.settings.embeddedResolver === null;
    followChanges(prepared, ports);
    const { url, close } = await openListeners(prepared, ports);
    if (!leavesDns) resolver?.start();
    return {
      url,
      mounts: gateway.mounts,
      at: (path) => placeOf(url, path),
      reportHost: () => reportHost(prepared, ports.log),
      keepHost: isHostReached(prepared) ? null : gateway.home.keepHost,
      reload: async () => {
        if (tls === null)
          ports.log.info({}, 'nothing is to be read again: the configuration file is followed by itself');
        else await tls.reload();
      },
      close,
    };
  } catch (error) {
    await gateway.app.close();
    throw error;
  }
}

/** Logs changes that need a restart (design: "Command line"), and mounts that a change leaves open. */
function followChanges(prepared: Prepared, { log }: ServePorts): void {
  const { backend, home } = prepared.gateway;
  const waiting = () => ({ bind: home.bind(), webpath: backend.settings().listener?.webpath });
  let last = waiting();
  backend.onChange((reason) => {
    const next = waiting();
    for (const member of ['bind', 'webpath'] as const) {
      if (next[member] !== last[member])
        log.warn({ member }, `the configuration's ${member} changed: it waits for a restart`);
    }
    last = next;
    if (reason === 'saved') return;
    for (const problem of openProblems(prepared)) log.error({}, `${problem}; until then it refuses everyone`);
  });
}
