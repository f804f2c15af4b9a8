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
  /** Writes the place of one of its paths, for people. */
  at(path: string): string;
  /** Says in the log which address clients are told when they cannot reach it. */
  reportHost(): void;
  /** Keeps another address for them, and resolves to the path of what has it; null where they reach the present one, or it cannot be kept. */
  readonly keepHost: ((host: string) => Promise<string>) | null;
  /** Reads again what is not followed by itself: the certificate. Says in the log what came of it. */
  reload(): Promise<void>;
  /** Stops taking requests, finishes what was accepted, writes what waits. */
  close(): Promise<void>;
}

/**
 * Starts the gateway that the settings describe. Null, with a line in the log, when the file's listener is not enabled and no
 * `--bind` overrides it. The version is Keyway's own. Rejects with a `StartError`.
 */
export async function startGateway(
  settings: Settings,
  ports: ServePorts,
  version: string,
): Promise<RunningGateway | null> {
  const { log } = ports;
  const readiness = createReadiness();
  const connections = createConnections({ ...settings, log });
  // First of all and last: it tells of a start that takes long, and of a stop. Its libraries are loaded where it is wanted.
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

/** Prepare, check, listen. */
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

/** Says of changes what waits for a restart (design: "Command line"), and which mounts they leave open. */
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
