import { KeyRegistry } from '../../core/keys/registry.js';
import type { UpstreamContext } from './context.js';
import { createKeyFreshness } from './freshness.js';
import { createKeyWriteKinds } from './key-write.js';
import { createKeyWrites, type KeyWritesOptions } from './key-writes.js';
import { createListRefresh } from './list-refresh.js';
import { createLostCreates } from './lost-creates.js';
import { createKeyReplica } from './replica.js';
import { createRevertedReport } from './reverted-report.js';
import { createSentWrites, type SentWritesOptions } from './sent-writes.js';
import { createWriteRetries, UnconfirmedWrites } from './unconfirmed-writes.js';
import type { WriteJournal } from './write-journal.js';
import { createWriteQueue } from './write-queue.js';

export interface ServerKeysOptions
  extends UpstreamContext,
    Pick<KeyWritesOptions, 'storedRecord'>,
    Pick<SentWritesOptions, 'startStates'> {
  readonly journal: WriteJournal;
  /** Gives out what is known while the server is away. */
  readonly servesStale: boolean;
  /** Keeps a version where something was added since the newest one; it does not reject. */
  readonly keepVersion: () => Promise<void>;
  /** Called with every list; it does not reject. */
  readonly onTaken: () => Promise<void>;
  /** Called for a key that the server no longer has. */
  readonly onGone: (accessKey: string) => void;
  /** Called after every write that the server has taken. */
  readonly onWritten: () => void;
}

/** The keys of a server: as last known, their refresh, and the writes to them. */
export function createServerKeys(options: ServerKeysOptions) {
  const { server, journal, servesStale, clock, log, onTaken, onGone, onWritten } = options;
  const lostCreates = createLostCreates(options);
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
  const { isSlow } = lostCreates;
  const unconfirmed = new UnconfirmedWrites({ ...options, journal, isSlow, onReverted: reverted.found });
  const replica = createKeyReplica({ ...options, keys, freshness, unconfirmed, onGone });
  const listRefresh = createListRefresh({
    ...options,
    ...{ keys, freshness, replica, servesStale, onTaken },
    neededAt: () => unconfirmed.neededAt(),
    mayBeUndone: () => unconfirmed.pending().size > 0,
  });
  const parts = { ...options, kinds, keys, freshness, replica, unconfirmed, lostCreates };
  const sent = createSentWrites({
    ...parts,
    report,
    onWritten() {
      listRefresh.look();
      onWritten();
    },
  });
  const writes = createKeyWrites({ ...parts, sent, queue });
  return { keys, replica, listRefresh, unconfirmed, queue, writes, reverted, report };
}
