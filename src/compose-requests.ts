import { basename } from 'node:path';
import type { Counters } from './compose-counters.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort } from './core/ports.js';
import type { ConfigurationFile } from './local/configuration-file.js';
import { LinesError, readState, type StoredState } from './local/counters/lines.js';
import { failureWords } from './local/failure-words.js';
import { piecesOf } from './local/file-pieces.js';
import { type FolderRequest, finishRequest, refuseRequest, waitingRequests } from './local/requests.js';

export interface RequestsOptions {
  readonly dataFolder: string;
  readonly fileSystem: FileSystemPort;
  readonly configuration: ConfigurationFile | null;
  readonly counters: Counters;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** Whoever waits for the requests, where somebody does. */
  readonly progress?: ProgressPort;
}

/** What commands put into the data folder of a Keyway, and its doing of it. */
export interface Requests {
  /** Does what waits; rejects when it could not be made durable, the request then waiting on. */
  look(): Promise<void>;
  close(): Promise<void>;
}

const LOOK_MS = 250;

/** To be made after the core has taken the configuration over: what is restored of counters comes behind that. */
export function createRequests(options: RequestsOptions): Requests {
  const { dataFolder, fileSystem, configuration, counters, clock, log, progress } = options;
  const { keys, usage, replacements, store } = counters;
  /** What is to be done as soon as a restored configuration is live. */
  let withConfiguration: (() => void) | null = null;
  let looking: Promise<void> | null = null;

  // In the same turn of the event loop as the keys: no answer shows the one without the other.
  configuration?.onReload((_configuration, reason) => {
    if (reason !== 'restored') return;
    withConfiguration?.();
    withConfiguration = null;
  });

  /** The request's own name is remembered like a report's: after a crash it is known whether it was done. */
  async function restore(state: StoredState, name: string): Promise<void> {
    const apply = () => {
      keys.restore(state.counters);
      replacements.settleAll();
      if (state.reports !== null) usage.reports.restore(state.reports);
      usage.reports.add(name);
    };
    if (state.configuration !== null && configuration !== null) {
      withConfiguration = apply;
      try {
        await configuration.restore(state.configuration);
        // A configuration that is not applied live has told nobody.
        if (withConfiguration !== null) apply();
      } finally {
        withConfiguration = null;
      }
    } else apply();
  }

  function takeIn(state: StoredState, name: string): void {
    for (const kept of state.counters) {
      const isRegistered = keys.get(kept.accessKey) !== undefined;
      replacements.settle(kept.accessKey);
      keys.takeOver(isRegistered ? kept : { ...kept, leftAt: kept.leftAt ?? clock.now() });
    }
    usage.reports.add(name);
  }

  async function serve(request: FolderRequest): Promise<void> {
    const { kind, path } = request;
    const name = basename(path);
    if (!usage.reports.has(name)) {
      try {
        const state = await readState(piecesOf(fileSystem, path, (share) => progress?.show('taking over', share)));
        progress?.show('writing');
        if (kind === 'restore') await restore(state, name);
        else takeIn(state, name);
      } catch (error) {
        const reason = error instanceof LinesError ? error.message : failureWords(error);
        log.error({ request: path, reason }, `a request to ${kind} could not be served`);
        await refuseRequest(fileSystem, dataFolder, request, reason);
        return;
      }
    }
    await store?.flush();
    await finishRequest(fileSystem, dataFolder, request);
    log.info({ request: path }, kind === 'restore' ? 'a backup was restored' : 'counters were imported');
  }

  async function lookNow(): Promise<void> {
    for (const request of await waitingRequests(fileSystem, dataFolder)) await serve(request);
  }

  function look(): Promise<void> {
    looking ??= lookNow().finally(() => {
      looking = null;
    });
    return looking;
  }

  const timer = setInterval(() => {
    look().catch((error: unknown) => log.debug({ reason: failureWords(error) }, 'a request waits for the disk'));
  }, LOOK_MS).unref();

  return {
    look,
    async close() {
      clearInterval(timer);
      await looking?.catch(() => undefined);
    },
  };
}
