import type { UpstreamServer } from '../../client/server.js';
import { KeyRegistry } from '../../core/keys/registry.js';
import type { ClockPort, LogPort, ProgressPort } from '../../core/ports.js';
import { createKeyFreshness } from './freshness.js';
import type { Tells } from './key-state.js';
import { createKeyWriteKinds } from './key-write.js';
import { createKeyWrites } from './key-writes.js';
import { createListRefresh } from './list-refresh.js';
import { createLostCreates, type SettleRule } from './lost-creates.js';
import { createKeyReplica } from './replica.js';
import { createRevertedReport } from './reverted-report.js';
import { createSentWrites } from './sent-writes.js';
import type { TimersPort } from './timers.js';
import { createWriteRetries, UnconfirmedWrites } from './unconfirmed-writes.js';
import type { WriteJournal } from './write-journal.js';
import { createWriteQueue } from './write-queue.js';

interface ServerKeysOptions {
  readonly server: UpstreamServer;
  readonly journal: WriteJournal;
  readonly settle: SettleRule;
  /** Gives out what is known while the server is away. */
  readonly servesStale: boolean;
  readonly clock: ClockPort;
  readonly timers: TimersPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
  readonly tells: Tells;
  /** Tells whether names are read from the configuration. */
  readonly readsNames: () => boolean;
  /** Called with every list; it does not reject. */
  readonly onTaken: () => Promise<void>;
  /** Called for a key that the server no longer has. */
  readonly onGone: (accessKey: string) => void;
  /** Called after every write that the server has taken. */
  readonly onWritten: () => void;
}

/** The keys of a server: as last known, their refresh, and the writes to them. */
export function createServerKeys(options: ServerKeysOptions) {
  const { server, journal, clock, timers, log, progress, tells, readsNames, onTaken, onGone, onWritten } = options;
  const lostCreates = createLostCreates({ server, rule: options.settle, clock });
  const report = createRevertedReport(log);
  const keys = new KeyRegistry(clock.now);
  const freshness = createKeyFreshness();
  const queue = createWriteQueue();
  const kinds = createKeyWriteKinds(server);

  const reverted = createWriteRetries(
    (accessKey) => writes.retry(accessKey).finally(() => listRefresh.look()),
    report.say,
    log,
  );
  const unconfirmed = new UnconfirmedWrites({
    journal,
    clock,
    log,
    tells,
    readsNames,
    // Nobody knows it of a later version, and nothing would ever confirm what waited for a start.
    startsWithKeys: () => server.isLater() || (server.line()?.storing.startsWithKeys ?? false),
    isSlow: lostCreates.isSlow,
    onReverted: reverted.found,
  });
  const replica = createKeyReplica({ keys, freshness, unconfirmed, timers, tells, onGone });
  const listRefresh = createListRefresh({
    server,
    keys,
    freshness,
    replica,
    servesStale: options.servesStale,
    clock,
    timers,
    neededAt: () => unconfirmed.neededAt(),
    mayBeUndone: () => unconfirmed.pending().size > 0,
    onTaken,
    ...(progress === undefined ? {} : { onProgress: (bytes) => showList(progress, bytes) }),
  });
  const sent = createSentWrites({
    server,
    kinds,
    keys,
    freshness,
    replica,
    unconfirmed,
    lostCreates,
    report,
    clock,
    tells,
    onWritten() {
      listRefresh.look();
      onWritten();
    },
  });
  const writes = createKeyWrites({
    server,
    kinds,
    sent,
    keys,
    freshness,
    replica,
    unconfirmed,
    lostCreates,
    queue,
    clock,
    ...(progress === undefined ? {} : { progress }),
  });
  return {
    keys,
    replica,
    listRefresh,
    unconfirmed,
    queue,
    writes,
    reverted,
    report,
  };
}

const MEBIBYTE = 1024 * 1024;

function showList(progress: ProgressPort, bytes: number): void {
  progress.show(`reading the list of keys from the server: ${(bytes / MEBIBYTE).toFixed(1)} MiB`);
}
