import { basename } from 'node:path';
import { DomainError } from '../../../core/errors.js';
import { FILE_LIMITS } from '../../../core/file-limits.js';
import { stampRemoved } from '../../../core/keys/removed-keys.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort } from '../../../core/ports.js';
import { piecesOf } from '../../../files/file-pieces.js';
import { failureWords } from '../../../platform/failure-words.js';
import type { ConfigurationFile } from '../configuration/configuration-file.js';
import { LinesError, readState, type StoredState } from '../counters/lines.js';
import type { Counters } from '../counters/open-counters.js';
import {
  type FolderRequest,
  finishRequest,
  type RequestKind,
  refuseRequest,
  waitingRequests,
} from './folder-requests.js';
import { encodeWaiting, waitingChanges } from './waiting-changes.js';

interface RequestWorkerOptions {
  readonly fileSystem: FileSystemPort;
  readonly configuration: ConfigurationFile | null;
  readonly counters: Counters;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** The terminal that waits for the requests, where one does. */
  readonly progress?: ProgressPort;
}

/** Does the requests that commands put into the data folder of a Keyway. */
export type RequestWorker = ReturnType<typeof createRequestWorker>;

const LOOK_MS = 250;

/** The words of the log for a request that was done; null where nothing was changed. */
const DONE: Readonly<Record<RequestKind, string | null>> = {
  restore: 'a backup was restored',
  import: 'counters were imported',
  waiting: null,
  version: 'a kept version was restored, and the changes that waited for a write were dropped',
};

function reasonOf(error: unknown): string {
  if (error instanceof DomainError && error.code === 'configWriteFailed') {
    return `the configuration file could not be written: ${error.detail}`;
  }
  return error instanceof LinesError ? error.message : failureWords(error);
}

/** Nothing is ever asked where there is no data folder. */
export function createRequestWorker(options: RequestWorkerOptions) {
  const { fileSystem, configuration, counters, clock, log, progress } = options;
  const { keys, usage, renewals, sources, store, dataFolder } = counters;
  /** The work that is due as soon as a restored configuration is live. */
  let withConfiguration: (() => void) | null = null;
  let looking: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  /** The request's own name is remembered like a report's: after a crash it is known whether it was done. */
  async function restore(state: StoredState, name: string): Promise<void> {
    const apply = () => {
      keys.restore(state.counters);
      renewals.settleAll();
      if (state.reports !== null) usage.reports.restore(state.reports);
      if (state.sources !== null) sources.restore(state.sources.sources, state.sources.bases);
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
      renewals.settle(kept.accessKey);
      keys.takeOver(isRegistered ? kept : stampRemoved(kept, clock.now()));
    }
    usage.reports.add(name);
  }

  async function stateIn(path: string): Promise<StoredState> {
    const state = await readState(piecesOf(fileSystem, path, (share) => progress?.show('taking over', share)));
    progress?.show('writing');
    return state;
  }

  /** The work for each kind of request; resolves to the answer, where there is one. */
  const doing: Readonly<Record<RequestKind, (path: string, name: string) => Promise<Buffer | null>>> = {
    restore: async (path, name) => {
      await restore(await stateIn(path), name);
      return null;
    },
    import: async (path, name) => {
      takeIn(await stateIn(path), name);
      return null;
    },
    waiting: async () => encodeWaiting(waitingChanges(configuration?.waiting() ?? {})),
    version: async (path, name) => {
      if (configuration === null) throw new Error('there is no configuration file');
      const content = await fileSystem.read(path, FILE_LIMITS.configuration);
      const dropped = await configuration.restore(content, { dropWaiting: true });
      usage.reports.add(name);
      return encodeWaiting(waitingChanges(dropped));
    },
  };

  async function serve(folder: string, request: FolderRequest): Promise<void> {
    const { kind, path } = request;
    const name = basename(path);
    let answer: Buffer | null = null;
    if (!usage.reports.has(name)) {
      try {
        answer = await doing[kind](path, name);
      } catch (error) {
        const reason = reasonOf(error);
        log.error({ request: path, reason }, 'a request could not be served');
        await refuseRequest(fileSystem, folder, request, reason);
        return;
      }
    }
    const done = DONE[kind];
    if (done !== null) await store?.flush();
    await finishRequest(fileSystem, folder, request, answer);
    if (done !== null) log.info({ request: path }, done);
  }

  async function lookNow(): Promise<void> {
    if (dataFolder === null) return;
    for (const request of await waitingRequests(fileSystem, dataFolder)) await serve(dataFolder, request);
  }

  function look(): Promise<void> {
    looking ??= lookNow().finally(() => {
      looking = null;
    });
    return looking;
  }

  return {
    /** Does the requests that wait; rejects when one could not be made durable, which then waits on. */
    look,
    /** Looks by itself from now on, every quarter of a second. */
    follow(): void {
      timer ??= setInterval(() => {
        look().catch((error: unknown) => log.debug({ reason: failureWords(error) }, 'a request waits for the disk'));
      }, LOOK_MS).unref();
    },
    /** Makes live what was restored with a configuration, in the turn of the event loop in which that became live. */
    restored(): void {
      withConfiguration?.();
      withConfiguration = null;
    },
    async close(): Promise<void> {
      clearInterval(timer);
      await looking?.catch(() => undefined);
    },
  };
}
