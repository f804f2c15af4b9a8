import type { UpstreamServer } from '../../client/server.js';
import { createKeyRegistry } from '../../core/keys/registry.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { ClockPort, LogPort, ProgressPort } from '../../core/ports.js';
import { createKeyFacts } from './freshness.js';
import type { Tells } from './key-state.js';
import { createKeyWriteKinds } from './key-write.js';
import { createKeyWrites, type KeyWrites } from './key-writes.js';
import { createRenewals, type Renewals } from './list-refresh.js';
import { createLostCreates, type SettleRule } from './lost-creates.js';
import { createKeyReplica, type KeyReplica } from './replica.js';
import { createSentWrites } from './sent-writes.js';
import type { TimersPort } from './timers.js';
import { createSettling, type Settling } from './unconfirmed-writes.js';
import { createUndoneKeys, type UndoneKeys } from './undone-keys.js';
import { createUndoneReport, type UndoneReport } from './undone-report.js';
import type { Notes } from './write-journal.js';
import { createWriteQueue, type WriteQueue } from './write-queue.js';

/** The keys of a server: as last known, their renewal, and the writes to them. */
export interface ServerKeys {
  readonly keys: KeyReader;
  readonly replica: KeyReplica;
  readonly renewals: Renewals;
  readonly settling: Settling;
  readonly queue: WriteQueue;
  readonly writes: KeyWrites;
  readonly undone: UndoneKeys;
  readonly report: Pick<UndoneReport, 'count'>;
}

export interface ServerKeysOptions {
  readonly server: UpstreamServer;
  readonly notes: Notes;
  readonly settle: SettleRule;
  /** Gives out what is known while the server is away. */
  readonly servesStale: boolean;
  readonly clock: ClockPort;
  readonly timers: TimersPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
  readonly tells: Tells;
  /** Whether names are read from the configuration. */
  readonly readsNames: () => boolean;
  /** What else comes with every list; it does not reject. */
  readonly onTaken: () => Promise<void>;
  /** Called for a key that the server no longer has. */
  readonly onGone: (accessKey: string) => void;
  /** Called after every write that the server has taken. */
  readonly onWritten: () => void;
}

export function createServerKeys(options: ServerKeysOptions): ServerKeys {
  const { server, notes, clock, timers, log, progress, tells, readsNames, onTaken, onGone, onWritten } = options;
  const lostCreates = createLostCreates({ server, rule: options.settle, clock });
  const report = createUndoneReport(log);
  const keys = createKeyRegistry(clock.now);
  const facts = createKeyFacts();
  const queue = createWriteQueue();
  const kinds = createKeyWriteKinds(server);

  const undone = createUndoneKeys(
    (accessKey) => writes.again(accessKey).finally(() => renewals.look()),
    report.say,
    log,
  );
  const settling = createSettling({
    notes,
    clock,
    log,
    tells,
    readsNames,
    // Of a later version nobody knows it, and nothing would ever settle what waited for a start.
    startsWithKeys: () => server.isLater() || (server.line()?.storing.startsWithKeys ?? false),
    isSlow: lostCreates.isSlow,
    onUndone: undone.found,
  });
  const replica = createKeyReplica({ keys, facts, witness: settling, timers, tells, onGone });
  const renewals = createRenewals({
    server,
    keys,
    facts,
    replica,
    servesStale: options.servesStale,
    clock,
    timers,
    neededAt: settling.neededAt,
    onTaken,
    ...(progress === undefined ? {} : { onProgress: (bytes) => showList(progress, bytes) }),
  });
  const sent = createSentWrites({
    server,
    kinds,
    keys,
    facts,
    replica,
    settling,
    lostCreates,
    report,
    clock,
    tells,
    onWritten() {
      renewals.look();
      onWritten();
    },
  });
  const writes = createKeyWrites({
    server,
    kinds,
    sent,
    keys,
    facts,
    replica,
    settling,
    lostCreates,
    queue,
    clock,
    ...(progress === undefined ? {} : { progress }),
  });
  return { keys, replica, renewals, settling, queue, writes, undone, report };
}

const MEBIBYTE = 1024 * 1024;

function showList(progress: ProgressPort, bytes: number): void {
  progress.show(`reading the list of keys from the server: ${(bytes / MEBIBYTE).toFixed(1)} MiB`);
}
