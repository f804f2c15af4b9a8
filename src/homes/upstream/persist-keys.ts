import { DomainError } from '../../core/errors.js';
import { copyOf, recordOf, sameFields } from '../../core/keys/key-record.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { AccessKey, OutboundRule } from '../../core/model.js';
import { changeDocument } from '../../document/change.js';
import type { ConfigurationDocument } from '../../document/document.js';
import { replaceLegacyList } from '../../document/sync-legacy-list.js';
import { failureWords } from '../../platform/failure-words.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import type { ConfigurationAccess } from './configuration.js';
import type { UpstreamContext } from './context.js';
import { type KeyState, sameState } from './key-state.js';
import type { ListRefresh } from './list-refresh.js';
import { withRules } from './rules-write.js';
import { inKey } from './struck-configuration.js';
import type { UnconfirmedWrites } from './unconfirmed-writes.js';
import type { WriteQueue } from './write-queue.js';

export interface KeyPersisterOptions extends UpstreamContext {
  readonly keys: KeyReader;
  readonly queue: WriteQueue;
  readonly listRefresh: Pick<ListRefresh, 'fresh'>;
  readonly configuration: Pick<ConfigurationAccess, 'read'>;
  readonly unconfirmed: Pick<UnconfirmedWrites, 'stored' | 'pending'>;
}

/** Milliseconds without a write before the keys are stored, and from the first one at most. */
const QUIET = 2_000;
const AT_MOST = 30_000;
/** After a failure, ms. */
const AGAIN = 5_000;

/** Returns when keys are stored that were written between those moments, ms. */
export function storingAt(firstAt: number, lastAt: number): number {
  return Math.min(lastAt + QUIET, firstAt + AT_MOST);
}

/**
 * Stores keys where a server starts from whose own API stores them elsewhere (design: "Keys that a server does not start
 * with"): getConfig, the keys into their inbound, the root list out, putConfig, and a look whether all are there.
 */
export function createKeyPersister(options: KeyPersisterOptions) {
  const { server, keys, queue, listRefresh, configuration, unconfirmed, clock, timers, log } = options;
  let firstAt: number | null = null;
  let lastAt = 0;
  let cancelStoring: (() => void) | null = null;
  let cancelVerifying: (() => void) | null = null;
  let working: Promise<void> | null = null;
  let rules: readonly OutboundRule[] | null = null;
  /** The keys that were stored last, or are about to be; null before the first time. */
  let kept: ReadonlyMap<string, AccessKey> | null = null;
  const gone = new Set<string>();
  let isClosed = false;
  let saidRefused = false;
  let saidNoHome = false;

  const isNeeded = (): boolean => {
    const line = server.line();
    // Without a configuration in its API there is nowhere to store them: writes stay pending, and are made again.
    return line?.storing.startsWithKeys === false && line.capabilities.config !== undefined && !server.isLater();
  };

  function schedule(at: number): void {
    if (isClosed || working !== null) return;
    cancelStoring?.();
    cancelStoring = timers.after(Math.max(0, at - clock.monotonic()), () => {
      cancelStoring = null;
      run(async () => {
        const stored = await store();
        await listRefresh.fresh('poll');
        if (hasOthers(stored.keys)) written();
        else if (firstAt === null) verifyLater(stored);
      });
    });
  }

  function verifyLater(stored: Stored): void {
    cancelVerifying = timers.after(SETTLED_AFTER, () => {
      cancelVerifying = null;
      run(() => verify(stored));
    });
  }

  /** One thing at a time; what was written meanwhile is stored after it. */
  function run(work: () => Promise<void>): void {
    working = work()
      .catch((error: unknown) => {
        if (isClosed) return;
        if (error instanceof DomainError && error.code === 'configRefused') return sayRefused(error);
        log.warn({ reason: failureWords(error) }, 'keys are not stored for the next start of the server yet');
        firstAt ??= clock.monotonic();
        lastAt = Math.max(lastAt, clock.monotonic() + AGAIN - QUIET);
      })
      .finally(() => {
        working = null;
        if (firstAt !== null) schedule(Math.max(storingAt(firstAt, lastAt), clock.monotonic() + LOOK_AGAIN));
      });
  }

  /** It would be refused as well the next time: what waits goes on waiting, and is made again key by key. */
  function sayRefused({ detail }: DomainError): void {
    if (!saidRefused) log.error({ upstream: server.name, reason: detail }, REFUSED);
    saidRefused = true;
  }

  async function store(): Promise<Stored> {
    return queue.take(async () => {
      firstAt = null;
      const taken = await listRefresh.fresh('poll');
      const wanted = new Map([...keys.entries()].map((key) => [key.accessKey, copyOf(key)]));
      // It may have been updated since these keys came to wait.
      await server.status('poll');
      if (!isNeeded()) return { until: taken.sentAt, keys: wanted };
      const { value } = await configuration.read('poll');
      const { document } = value;
      const changed = keysIn(document, value.configuration.keys, wanted);
      kept = wanted;
      if (changed !== null && changed !== document) await server.putConfig(changed.bytes, 'poll');
      gone.clear();
      return { until: taken.sentAt, keys: wanted };
    });
  }

  /** Null where the file has no inbound that keys could go to; one without any is read like those of other lines, root list first. */
  function keysIn(
    document: ConfigurationDocument,
    present: readonly AccessKey[],
    wanted: ReadonlyMap<string, AccessKey>,
  ): ConfigurationDocument | null {
    if (document.layout.name !== 'inbounds') return null;
    if (document.keyPlaces === 0) {
      if (!saidNoHome) log.error({ upstream: server.name }, NO_HOME);
      saidNoHome = true;
      return null;
    }
    const isDeleted = (accessKey: string) =>
      gone.has(accessKey) || unconfirmed.pending().get(accessKey)?.after === null;
    // The document has the server's own texts, and memory those that may be shown.
    const { own, written: ownWritten } = server.texts;
    const records = [...wanted.values()].map((key) => inKey(key, ownWritten));
    const changes = new Map<string, AccessKey | null>(records.map((key) => [key.accessKey, key]));
    for (const { accessKey } of present) {
      if (!wanted.has(accessKey) && isDeleted(accessKey)) changes.set(own(accessKey), null);
    }
    const withKeys = changeDocument(document, { keys: changes });
    const stored = rules === null ? withKeys : withRules(withKeys, rules, options);
    rules = null;
    const needsList = server.line()?.storing.needsRootList(server.version() ?? '') === true;
    return replaceLegacyList(stored, needsList ? records : null);
  }

  /** The list once the server has read the file. */
  async function verify(stored: Stored): Promise<void> {
    await listRefresh.fresh('poll');
    if (firstAt !== null) return;
    if (hasOthers(stored.keys)) written();
    else unconfirmed.stored(stored.until);
  }

  /** Returns whether the server has keys, or records of keys, that were not stored. */
  function hasOthers(stored: ReadonlyMap<string, AccessKey>): boolean {
    return keys.size !== stored.size || hasNew(stored);
  }

  function hasNew(stored: ReadonlyMap<string, AccessKey>): boolean {
    for (const key of keys.entries()) {
      const known = stored.get(key.accessKey);
      if (known === undefined || !sameFields(known, key)) return true;
    }
    return false;
  }

  /** Something was written that the server would not start with. */
  function written(): void {
    if (!isNeeded()) return;
    lastAt = clock.monotonic();
    firstAt ??= lastAt;
    cancelVerifying?.();
    cancelVerifying = null;
    schedule(storingAt(firstAt, lastAt));
  }

  return {
    written,
    /** Returns the states in which a start of the server may find the key; none where it starts with what its API made. */
    startStates(accessKey: string, before: KeyState): readonly KeyState[] {
      if (isNeeded()) return kept === null ? [] : [kept.get(accessKey) ?? null];
      // Keys of its file are plain, and nobody can read which it has.
      const isUnread = server.line()?.storing.startsWithKeys === false && !server.isLater();
      if (!isUnread) return [];
      const plain = recordOf(accessKey);
      // A plain key counts as one of the file: if a start does not find it, somebody has taken it out there.
      const mayBeInFile = sameState(before, plain) || unconfirmed.pending().has(accessKey);
      return mayBeInFile ? [plain] : [null, plain];
    },
    /** A list has come: what others made over the server's own API is stored, too. */
    listed(): void {
      const isBusy = firstAt !== null || working !== null || cancelVerifying !== null;
      if (isBusy || !isNeeded()) return;
      if (kept === null || hasNew(kept)) written();
    },
    /** Rules that the server has taken. */
    ruled(next: readonly OutboundRule[]): void {
      rules = next;
      written();
    },
    /** A key that the server no longer has. */
    gone(accessKey: string): void {
      if (isNeeded()) gone.add(accessKey);
    },
    /** Begins nothing any more. */
    close(): void {
      isClosed = true;
      cancelStoring?.();
      cancelVerifying?.();
    },
  };
}

interface Stored {
  /** Writes that were answered by then are in it. */
  readonly until: number;
  readonly keys: ReadonlyMap<string, AccessKey>;
}

/** Between two storings at least, ms. */
const LOOK_AGAIN = 1_000;

const REFUSED =
  'keys are not stored in the configuration of the server: what its API makes is gone with its next start, and made again one by one';
const NO_HOME =
  'the server has no inbound that keys could be stored in: what its API makes is gone with its next start, and made again';
