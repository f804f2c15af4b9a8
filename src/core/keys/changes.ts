import type { CountersPort } from '../../local/counters/counters-port.js';
import { DomainError } from '../errors.js';
import type { AccessKey } from '../model.js';
import type { ConfigurationPort, RandomPort } from '../ports.js';
import { type Replacements, recordText } from '../../local/counters/replacements.js';
import { createTurns } from '../../local/turns.js';
import type { KeyRegistry } from './types.js';

/** Spec, "Limits": bulk key creation count. */
export const MAX_BULK_COUNT = 1000n;

/**
 * The operations that change keys. Each takes effect in memory at once. A failure to write the configuration file is
 * `saveFailed` where the spec's error table has it; a failure to write counters is never one: the store logs it, and the
 * next write carries them.
 */
export interface KeyChanges {
  /** Generates the key when none is given. Rejects with `saveFailed` after the change took effect in memory. */
  createUser(key: { accessKey: string | null; name: string | null; limitBytes: bigint | null }): Promise<string>;
  /** Rejects with `countTooLarge`; a failed write is left to the next one. */
  bulkCreateUsers(count: bigint, limitBytes: bigint | null): Promise<readonly string[]>;
  /** Rejects with `userNotFound`, or `saveFailed` after the change. */
  updateUser(key: AccessKey): Promise<void>;
  setLimit(accessKey: string, limitBytes: bigint | null): Promise<void>;
  deleteUser(accessKey: string): Promise<void>;
  /** Rejects with `userNotFound` for an unknown key and for one without counters. */
  resetUser(accessKey: string): Promise<void>;
}

export interface KeyChangesOptions {
  readonly keys: KeyRegistry;
  readonly replacements: Replacements;
  readonly configuration: ConfigurationPort | null;
  readonly counters: CountersPort | null;
  readonly random: RandomPort;
}

export function createKeyChanges(options: KeyChangesOptions): KeyChanges {
  const { keys, replacements, configuration, counters, random } = options;
  const turns = createTurns();
  /** Keys whose last write failed, with the records that the file may still hold of them. */
  const unwritten = new Map<string, Set<string>>();
  /** Deletions, each an object of its own: the counters go once the file is written, so that a crash leaves both or neither. */
  const deleted = new Map<string, object>();

  /** What an answer says of counters must not come undone by a crash. The store has logged a failure. */
  const keepCounters = async (): Promise<void> => counters?.flush().catch(() => undefined);

  /** `former` is what the key's record was before the change. */
  async function saveKey(accessKey: string, record: AccessKey | null, former: string): Promise<void> {
    // A write carries everything that waited when it was asked for.
    const carried = [accessKey, ...unwritten.keys()].map((key) => ({
      key,
      replacement: replacements.get(key),
      deletion: deleted.get(key),
    }));
    try {
      await configuration?.save({ keys: new Map([[accessKey, record]]) });
    } catch (error) {
      unwritten.set(accessKey, (unwritten.get(accessKey) ?? new Set()).add(former));
      throw error;
    }
    let hasDropped = false;
    for (const { key, replacement, deletion } of carried) {
      unwritten.delete(key);
      if (replacement !== null && replacements.get(key) === replacement) {
        replacements.settle(key);
        hasDropped = true;
      }
      if (deletion !== undefined && deleted.get(key) === deletion) {
        deleted.delete(key);
        keys.forget(key);
        hasDropped = true;
      }
    }
    if (hasDropped) await keepCounters();
  }

  async function create(key: AccessKey): Promise<void> {
    const { accessKey } = key;
    const former = recordText(keys.get(accessKey));
    if (configuration !== null && counters !== null && keys.kept(accessKey) !== null) {
      // After a crash the file decides whether the counters were dropped: the store must know what it would say.
      replacements.announce(accessKey, [former, ...(unwritten.get(accessKey) ?? [])]);
      await keepCounters();
    }
    const dropped = keys.kept(accessKey);
    deleted.delete(accessKey);
    keys.create(key);
    replacements.apply(accessKey, dropped);
    await saveKey(accessKey, key, former);
    if (configuration === null && dropped !== null) await keepCounters();
  }

  async function update(key: AccessKey): Promise<void> {
    const former = recordText(keys.get(key.accessKey));
    if (!keys.update(key)) throw new DomainError('userNotFound');
    await saveKey(key.accessKey, key, former);
  }

  return {
    async createUser({ accessKey: given, name, limitBytes }) {
      const accessKey = given ?? random.bytes(16).toString('hex');
      await turns.take(accessKey, () => create({ accessKey, name, limitBytes }));
      return accessKey;
    },
    async bulkCreateUsers(count, limitBytes) {
      if (count > MAX_BULK_COUNT) throw new DomainError('countTooLarge');
      const made = new Map<string, AccessKey>();
      while (made.size < count) {
        const accessKey = random.bytes(8).toString('hex');
        if (keys.get(accessKey) === undefined) made.set(accessKey, { accessKey, name: null, limitBytes });
      }
      for (const key of made.values()) keys.createWithoutCounters(key);
      if (made.size > 0) await leavingFailureToNextWrite(configuration?.save({ keys: made }));
      return [...made.keys()];
    },
    updateUser: (key) => turns.take(key.accessKey, () => update(key)),
    setLimit: (accessKey, limitBytes) =>
      turns.take(accessKey, () => update({ accessKey, name: keys.get(accessKey)?.name ?? null, limitBytes })),
    deleteUser: (accessKey) =>
      turns.take(accessKey, async () => {
        const former = recordText(keys.get(accessKey));
        if (!keys.setAside(accessKey)) throw new DomainError('userNotFound');
        deleted.set(accessKey, {});
        await saveKey(accessKey, null, former);
      }),
    async resetUser(accessKey) {
      if (!keys.reset(accessKey)) throw new DomainError('userNotFound');
      replacements.reset(accessKey);
      await keepCounters();
    },
  };
}

/** Where the spec has the answer ignore a write failure: the configuration port has logged it and keeps the change. */
export async function leavingFailureToNextWrite(saved: Promise<void> | undefined): Promise<void> {
  try {
    await saved;
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'saveFailed')) throw error;
  }
}
