import type { Backend } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { changedRecord } from '../../core/keys/key-record.js';
import type { KeyRegistry } from '../../core/keys/registry.js';
import type { AccessKey, ConfigurationChange } from '../../core/model.js';
import { PerKeyQueue } from '../../core/per-key-queue.js';
import type { ConfigurationFile } from './configuration/configuration-file.js';
import type { Counters } from './counters/open-counters.js';
import { recordText } from './counters/recreated-keys.js';

/** The operations that change keys: in memory at once, then in the file. */
export type KeyWrites = Pick<Backend, 'createKey' | 'createBareKeys' | 'updateKey' | 'deleteKey' | 'resetKey'>;

export interface KeyWritesOptions extends Pick<Counters, 'renewals'> {
  readonly keys: KeyRegistry;
  /** Null where no file holds the keys. */
  readonly configuration: Pick<ConfigurationFile, 'save'> | null;
  readonly store: Pick<NonNullable<Counters['store']>, 'flush'> | null;
}

/**
 * Each change takes effect in memory at once, and stays there when its write fails (protocol: "Access key lifecycle"). What
 * becomes of the counters waits for the file: it decides, after a crash, whether a create or a deletion has happened.
 * A failure to write counters is never one of the change: the store logs it, and its next write carries them.
 */
export function createKeyWrites({ keys, renewals, configuration, store }: KeyWritesOptions): KeyWrites {
  const queue = new PerKeyQueue();
  /** Keys whose last write failed, with the records that the file may still hold of them. */
  const unwritten = new Map<string, Set<string>>();
  /** Deleted keys whose counters go once the file is written, so that a crash leaves both or neither. */
  const deleted = new Set<string>();
  /** Changes that share one write are finished once, by the first of their callers. */
  const settled = new WeakMap<ConfigurationChange, Promise<void>>();

  /** Makes counters durable, because an answer about them must not come undone by a crash. The store logs a failure. */
  const keepCounters = async (): Promise<void> => store?.flush().catch(() => undefined);

  const save = async (change: ConfigurationChange): Promise<ConfigurationChange> =>
    configuration === null ? change : configuration.save(change);

  function settle(carried: ConfigurationChange): Promise<void> {
    const already = settled.get(carried);
    if (already !== undefined) return already;
    let hasDropped = false;
    for (const [accessKey, record] of carried.keys ?? []) {
      unwritten.delete(accessKey);
      const isSettled = settleRenewal(accessKey, record);
      hasDropped = settleDeletion(accessKey, record) || isSettled || hasDropped;
    }
    const kept = hasDropped ? keepCounters() : Promise.resolve();
    settled.set(carried, kept);
    return kept;
  }

  /** A create that has not taken effect yet, or came after what was carried, is left to its own write. */
  function settleRenewal(accessKey: string, record: AccessKey | null): boolean {
    const isPresent = recordText(record ?? undefined) === recordText(keys.get(accessKey));
    if (!isPresent || renewals.get(accessKey)?.isApplied !== true) return false;
    renewals.settle(accessKey);
    return true;
  }

  function settleDeletion(accessKey: string, record: AccessKey | null): boolean {
    if (record !== null || !deleted.delete(accessKey)) return false;
    keys.forget(accessKey);
    return true;
  }

  /** `former` is what the key's record was before the change. */
  async function saveKey(accessKey: string, record: AccessKey | null, former: string): Promise<void> {
    try {
      await settle(await save({ keys: new Map([[accessKey, record]]) }));
    } catch (error) {
      unwritten.set(accessKey, (unwritten.get(accessKey) ?? new Set()).add(former));
      throw error;
    }
  }

  async function create(key: AccessKey): Promise<void> {
    const { accessKey } = key;
    const former = recordText(keys.get(accessKey));
    if (configuration !== null && store !== null && keys.kept(accessKey) !== null) {
      // After a crash the file decides whether the counters were dropped: the store must know what it would say.
      renewals.announce(accessKey, [former, ...(unwritten.get(accessKey) ?? [])]);
      await keepCounters();
    }
    const dropped = keys.kept(accessKey);
    deleted.delete(accessKey);
    keys.create(key);
    renewals.apply(accessKey, dropped);
    await saveKey(accessKey, key, former);
    if (configuration === null && dropped !== null) await keepCounters();
  }

  return {
    createKey: (key) => queue.run(key.accessKey, () => create(key)),
    async createBareKeys(made) {
      for (const key of made) keys.createWithoutCounters(key);
      await leavingFailureToNextWrite(save({ keys: new Map(made.map((key) => [key.accessKey, key])) }));
      return made.map(({ accessKey }) => accessKey);
    },
    updateKey: (accessKey, update) =>
      queue.run(accessKey, async () => {
        const present = keys.get(accessKey);
        if (present === undefined) throw new DomainError('userNotFound');
        const former = recordText(present);
        const record = changedRecord(present, update);
        keys.update(record);
        await saveKey(accessKey, record, former);
      }),
    deleteKey: (accessKey) =>
      queue.run(accessKey, async () => {
        const former = recordText(keys.get(accessKey));
        if (!keys.setAside(accessKey)) throw new DomainError('userNotFound');
        deleted.add(accessKey);
        await saveKey(accessKey, null, former);
      }),
    async resetKey(accessKey) {
      if (!keys.reset(accessKey)) throw new DomainError('userNotFound');
      renewals.reset(accessKey);
      await keepCounters();
    },
  };
}

/** Ignores a write failure, as the protocol asks of some answers: it has been logged, and the next write carries the change. */
export async function leavingFailureToNextWrite(saved: Promise<unknown>): Promise<void> {
  try {
    await saved;
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'saveFailed')) throw error;
  }
}
