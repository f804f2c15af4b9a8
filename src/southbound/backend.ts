import type { Backend, ChangeReason } from '../core/backend.js';
import { DomainError } from '../core/errors.js';
import { createKeyRegistry } from '../core/keys/registry.js';
import type { KeySnapshot, ListenerConfig } from '../core/model.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort, RandomPort } from '../core/ports.js';
import { holdForServing } from '../local/file/hold.js';
import { createKeptVersions } from '../local/file/kept-versions.js';
import { lockPorts } from '../local/file/lock.js';
import type { UpstreamServer } from './server.js';
import { createAnnouncement } from './state/announcement.js';
import { createServerAudit } from './state/audit.js';
import { createConfigurationDoor } from './state/configuration.js';
import { createInboundsKeeper } from './state/inbounds-keeper.js';
import { createKeyFacts } from './state/key-facts.js';
import { createKeyWrites } from './state/key-writes.js';
import { createKnownListener } from './state/listener.js';
import { createStatusKeeper } from './state/live-status.js';
import { createNames } from './state/names.js';
import { NO_NOTES, openNotes } from './state/notes.js';
import { problemsOf } from './state/problems.js';
import { createRenewals, type RenewalStatus } from './state/renewals.js';
import { createKeyReplica } from './state/replica.js';
import { createSections } from './state/sections.js';
import { createSettling } from './state/settling.js';
import { createSubscribers } from './state/subscribers.js';
import { systemTimers, type TimersPort } from './state/timers.js';
import { createUndoneKeys } from './state/undone-keys.js';
import { createWriteQueue } from './state/write-queue.js';
import { UpstreamError } from './upstream-error.js';

export interface UpstreamBackendOptions {
  readonly server: UpstreamServer;
  /** What is kept of the server beyond this process; it belongs to that server. Null for nothing. */
  readonly dataFolder: string | null;
  /** What is given of the server's listener; credentials that are not are read from its configuration. Default null. */
  readonly listener?: ListenerConfig;
  /** Refuses a replacement of the configuration that would take its inbounds with keys away; default false. */
  readonly guard?: boolean;
  /** Whether DNS and outbound settings are read at the start, for a resolver here; default false. */
  readonly readsSettings?: boolean;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
  readonly timers?: TimersPort;
}

/** The state of a running server, through its own management API (design: "In front of a running server"). */
export interface UpstreamBackend extends Backend {
  status(): UpstreamBackendStatus;
}

export interface UpstreamBackendStatus extends RenewalStatus {
  /** Writes that wait to be settled. */
  readonly unsettled: number;
  /** Writes that were made again, ever. */
  readonly madeAgain: number;
  /** Writes that wait for their turn, the one under way included. */
  readonly writesWaiting: number;
}

/** How often it is looked whether a server is back, ms. */
const PROBES = 5_000;
/** How often it is looked whether the data folder is still held, ms. */
const HOLD_LOOKS = 1_000;

/**
 * Opens the data folder, and loads what the server has; one that is away is waited for while serving. Rejects with an `Error`
 * whose message is for people where the folder cannot be had, or the server lets nobody in with these credentials.
 */
export async function openUpstreamBackend(options: UpstreamBackendOptions): Promise<UpstreamBackend> {
  const { server, dataFolder, fileSystem, clock, log } = options;
  const hold =
    dataFolder === null
      ? null
      : await holdForServing({
          ...lockPorts(fileSystem),
          log,
          dataFolder,
          configurationPath: null,
          owner: server.name,
          lookMilliseconds: HOLD_LOOKS,
        });
  try {
    const notes = hold === null ? NO_NOTES : await openNotes({ fileSystem, folder: hold.folder.path, log });
    const versions = hold === null ? null : createKeptVersions({ fileSystem, folder: hold.folder.versions, clock });
    const onClosed = async () => {
      await notes.close();
      await versions?.idle();
      await hold?.release();
    };
    const backend = createUpstreamBackend({ ...options, notes, versions, onClosed });
    await backend.load();
    return backend;
  } catch (error) {
    server.close();
    await hold?.release();
    throw error;
  }
}

interface Parts extends UpstreamBackendOptions {
  readonly notes: Awaited<ReturnType<typeof openNotes>>;
  readonly versions: ReturnType<typeof createKeptVersions> | null;
  readonly onClosed: () => Promise<void>;
}

function createUpstreamBackend(parts: Parts): UpstreamBackend & { load(): Promise<void> } {
  const { server, notes, versions, clock, random, log, progress, onClosed } = parts;
  const { guard = false, readsSettings = false, timers = systemTimers } = parts;
  const listeners: ((reason: ChangeReason) => void)[] = [];
  const keys = createKeyRegistry(clock.now);
  const facts = createKeyFacts();
  const queue = createWriteQueue();
  const counts = { madeAgain: 0 };

  const tellsNames = () => server.line()?.snapshot.members.some(({ name }) => name === 'name') ?? true;
  const changed = (reason: ChangeReason): void => {
    for (const listener of listeners) listener(reason);
  };

  const undone = createUndoneKeys((accessKey) => writes.again(accessKey).finally(() => renewals.look()), log);
  const settling = createSettling({
    notes,
    clock,
    log,
    tellsNames,
    startsWithKeys: () => server.line()?.storing.startsWithKeys ?? false,
    onUndone: undone.found,
  });
  const replica = createKeyReplica({
    keys,
    facts,
    witness: settling,
    timers,
    tellsNames,
    onGone: (accessKey) => keeper.gone(accessKey),
  });
  const renewals = createRenewals({
    server,
    keys,
    facts,
    replica,
    clock,
    timers,
    neededAt: settling.neededAt,
    onTaken: () => names.follow(clock.monotonic()),
    ...(progress === undefined ? {} : { onProgress: (bytes) => showList(progress, bytes) }),
  });
  const configuration = createConfigurationDoor({
    server,
    keys,
    queue,
    renewals,
    settling,
    versions,
    guard,
    clock,
    timers,
    log,
    isClosing: () => isClosed,
    onReplaced: (next) => {
      sections.take(next);
      listener.take(next);
      names.replaced(next.keys, clock.monotonic());
      changed('replaced');
    },
  });
  const listener = createKnownListener({
    given: parts.listener ?? null,
    server,
    configuration,
    onChange: () => changed('edited'),
    log,
  });
  const names = createNames({
    configuration,
    replica,
    areWanted: () => !tellsNames() && server.line()?.capabilities.config === true,
    log,
  });
  const keeper = createInboundsKeeper({ server, keys, queue, renewals, configuration, settling, clock, timers, log });
  const sections = createSections({
    server,
    queue,
    configuration,
    onChange: () => changed('saved'),
    onRules: keeper.ruled,
  });
  const announcement = createAnnouncement(server, clock, () => {
    const ownDns = announcement.known()?.ownDns ?? null;
    if (ownDns !== null) sections.learn({ enabled: ownDns });
    changed('edited');
  });
  const status = createStatusKeeper({ server, keys, replica, clock, onRestart });
  const find = createSubscribers({ server, keys, replica, renewals, announcement, clock });
  const writes = createKeyWrites({
    server,
    keys,
    facts,
    replica,
    settling,
    queue,
    clock,
    log,
    tellsNames,
    onMadeAgain() {
      counts.madeAgain += 1;
    },
    onWritten() {
      renewals.look();
      keeper.written();
    },
    ...(progress === undefined ? {} : { progress }),
  });

  function onRestart(): void {
    log.info({ upstream: server.name, unsettled: settling.watched().size }, 'the server was started anew');
    sections.forget();
    announcement.forget();
    void listener.learn();
    keeper.written();
    renewals.fresh('poll').catch(() => undefined);
  }

  let line = server.line()?.id;
  let isClosed = false;
  let stopProbing: (() => void) | null = null;

  function probe(): void {
    if (isClosed) return;
    stopProbing = timers.after(PROBES, () => {
      stopProbing = null;
      status
        .look()
        .then(
          () => renewals.look(),
          () => undefined,
        )
        .finally(() => {
          if (server.trouble()?.kind === 'away' && stopProbing === null) probe();
        });
    });
  }

  server.onChange(() => {
    if (server.trouble()?.kind === 'away' && stopProbing === null) probe();
    if (server.line()?.id === line) return;
    line = server.line()?.id;
    sections.forget();
    announcement.forget();
    void listener.learn();
  });

  /** Everything there is; of a server that is away, later. */
  async function load(): Promise<void> {
    try {
      await server.find('caller');
      await renewals.fresh('caller');
      progress?.clear();
      await status.read('caller');
      for (const { accessKey } of keys.entries()) {
        await announcement.learn(accessKey);
        break;
      }
      if (readsSettings) await sections.load();
      await listener.learn();
      if (settling.watched().size > 0) keeper.written();
    } catch (error) {
      progress?.clear();
      if (!(error instanceof UpstreamError)) throw error;
      if (error.code === 'upstreamRefused') throw new Error(error.detail, { cause: error });
      log.warn(
        { upstream: server.name, reason: error.detail },
        'nothing is known of the server yet: it is asked again',
      );
      if (stopProbing === null) probe();
    }
  }

  async function key(accessKey: string): Promise<KeySnapshot | undefined> {
    const read = await server.getUser(accessKey).catch((error: unknown) => {
      if (error instanceof UpstreamError && error.code === 'upstreamRefused') return null;
      throw error;
    });
    // Somebody else has the one session, or the server has lost what is being made again.
    if (read === null || !replica.takeRead(accessKey, read)) {
      await renewals.lastKnown();
      return keys.get(accessKey);
    }
    if (read.value === undefined || tellsNames()) return read.value;
    return { ...read.value, name: keys.get(accessKey)?.name ?? null };
  }

  return {
    ...writes,
    keys,
    settings: () => ({
      outbound: sections.knownOutbound(),
      dns: sections.knownDns(),
      listener: listener.now(),
      announced: announcement.known() ?? {},
    }),
    onChange: (listener) => {
      listeners.push(listener);
    },
    replaceRules: sections.replaceRules,
    changeDns: sections.changeDns,
    count: async () => {
      throw new DomainError('countedElsewhere', COUNTS);
    },
    get document() {
      return server.line()?.capabilities.config === undefined && server.line() !== null ? null : configuration.document;
    },
    audit: createServerAudit(server, clock, random),
    sessions: null,
    countPosted: null,
    live: {
      key,
      status: () => status.read('caller'),
      rules: sections.rules,
      dns: sections.dns,
      queries: sections.queries,
    },
    replica: { freshen: renewals.freshen, lastKnown: renewals.lastKnown, find },
    refreshBlocklists: sections.refreshBlocklists,
    problems: async () => problemsOf(server, notes),
    status: () => ({
      ...renewals.status(),
      ...counts,
      unsettled: settling.watched().size,
      writesWaiting: queue.length,
    }),
    load,
    async close() {
      isClosed = true;
      stopProbing?.();
      keeper.close();
      await undone.idle();
      await queue.idle();
      // Whatever is still asked for ends here.
      server.close();
      await renewals.close();
      await onClosed();
    },
  };
}

const COUNTS = 'this Keyway stands in front of a running server, which counts by itself: reports would count twice';
const MEBIBYTE = 1024 * 1024;

function showList(progress: ProgressPort, bytes: number): void {
  progress.show(`reading the list of keys from the server: ${(bytes / MEBIBYTE).toFixed(1)} MiB`);
}
