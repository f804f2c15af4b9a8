import type { Backend, ChangeOutcome, KeyChange } from '../../core/backend.js';
import { DomainError, unlessInMemory } from '../../core/errors.js';
import { changedRecord, recordOf } from '../../core/keys/key-record.js';
import type { KeyRegistry } from '../../core/keys/registry.js';
import type { AccessKey, ConfigurationChange } from '../../core/model.js';
import { PerKeyQueue } from '../../core/per-key-queue.js';
import { refuseLastKey, refuseUnreadableKey } from '../../document/check/keeps-starting.js';
import type { ConfigurationFile, ConfigurationFileOptions } from './configuration/configuration-file.js';
import type { Counters } from './counters/open-counters.js';
import { recordText } from './counters/recreated-keys.js';

/** The operations that change keys: in memory at once, then in the file. */
export type KeyWrites = Pick<Backend, 'createBareKeys' | 'changes'>;

/** Changes of keys that go into one write of the file. */
const MOST_CHANGES = 10_000;

export interface KeyWritesOptions extends Pick<Counters, 'renewals'>, Pick<ConfigurationFileOptions, 'servers'> {
  readonly keys: KeyRegistry;
  /** Null where no file holds the keys. */
  readonly configuration: Pick<ConfigurationFile, 'save' | 'started'> | null;
  readonly store: Pick<NonNullable<Counters['store']>, 'flush'> | null;
}

/**
 * Each change takes effect in memory at once, and stays there when its write fails (protocol: "Access key lifecycle"). What
 * becomes of the counters waits for the file: it decides, after a crash, whether a create or a deletion has happened.
 * A failure to write counters is never one of the change: the store logs it, and its next write carries them.
 */
export function createKeyWrites(options: KeyWritesOptions): KeyWrites {
  const { keys, renewals, configuration, store, servers = [] } = options;
  const queue = new PerKeyQueue();
  /** Keys whose last write failed, with the records that the file may still hold of them. */
  const unwritten = new Map<string, Set<string>>();
  /** Deleted keys whose counters go once the file is written, so that a crash leaves both or neither. */
  const deleted = new Set<string>();
  /** Changes that share one write are finished once, by the first of their callers. */
  const settled = new WeakMap<ConfigurationChange, Promise<void>>();

  function refuseUntaken(record: AccessKey): void {
    if (configuration !== null) refuseUnreadableKey(record, servers);
  }

  function refuseLast(accessKey: string): void {
    if (configuration !== null && keys.size === 1 && keys.get(accessKey) !== undefined)
      refuseLastKey(configuration.started());
  }

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

  /** Makes one change in memory. Returns the records that the file is to have then; throws where it is refused. */
  function change(asked: KeyChange, refuses: boolean): readonly (readonly [string, AccessKey | null])[] {
    if (asked.op === 'create') {
      const { key } = asked;
      if (refuses) refuseUntaken(key);
      const dropped = keys.kept(key.accessKey);
      deleted.delete(key.accessKey);
      keys.create(key);
      renewals.apply(key.accessKey, dropped);
      return [[key.accessKey, key]];
    }
    const { accessKey } = asked;
    const present = keys.get(accessKey);
    if (present === undefined) throw new DomainError('userNotFound');
    switch (asked.op) {
      case 'update': {
        const record = changedRecord(present, asked.update);
        if (refuses) refuseUntaken(record);
        keys.update(record);
        return [[accessKey, record]];
      }
      case 'delete':
        if (refuses) refuseLast(accessKey);
        keys.setAside(accessKey);
        deleted.add(accessKey);
        return [[accessKey, null]];
      case 'reset':
        if (!keys.reset(accessKey)) throw new DomainError('userNotFound');
        renewals.reset(accessKey);
        return [];
      case 'rotate': {
        const record = recordOf(asked.successor, present);
        const kept = keys.kept(accessKey);
        if (kept === null) keys.createWithoutCounters(record);
        else {
          keys.create(record);
          // Nobody has connected by the new secret yet.
          keys.takeOver({ ...kept, accessKey: asked.successor, connections: 0n });
        }
        keys.setAside(accessKey);
        deleted.add(accessKey);
        return [
          [accessKey, null],
          [asked.successor, record],
        ];
      }
    }
  }

  /** Makes all in memory in one turn of the event loop, and writes the file once. */
  async function changeAll(changes: readonly KeyChange[], refuses: boolean): Promise<readonly ChangeOutcome[]> {
    const renewed = changes.flatMap((asked) => (asked.op === 'create' ? [asked.key.accessKey] : []));
    const counted = configuration === null || store === null ? [] : renewed.filter((key) => keys.kept(key) !== null);
    for (const accessKey of counted)
      renewals.announce(accessKey, [recordText(keys.get(accessKey)), ...(unwritten.get(accessKey) ?? [])]);
    if (counted.length > 0) await keepCounters();
    const dropsCounters = configuration === null && renewed.some((accessKey) => keys.kept(accessKey) !== null);
    const formers = new Map(changes.map((asked) => [keyOf(asked), recordText(keys.get(keyOf(asked)))]));
    const records = new Map<string, AccessKey | null>();
    const outcomes = changes.map((asked): ChangeOutcome => {
      try {
        for (const [accessKey, record] of change(asked, refuses)) {
          // A key that was deleted and made again stands at the end, where it would be by single changes.
          records.delete(accessKey);
          records.set(accessKey, record);
        }
        return null;
      } catch (error) {
        if (error instanceof DomainError) return error;
        throw error;
      }
    });
    // Counters of a successor are kept before the file names it, and those of resets before they are answered.
    if (changes.some(({ op }) => op === 'rotate' || op === 'reset')) await keepCounters();
    if (records.size === 0) return outcomes;
    try {
      await settle(await save({ keys: records }));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      for (const [accessKey, former] of formers)
        if (records.has(accessKey)) unwritten.set(accessKey, (unwritten.get(accessKey) ?? new Set()).add(former));
      return outcomes.map((outcome, index) => (changes[index]?.op === 'reset' ? outcome : (outcome ?? error)));
    }
    if (dropsCounters) await keepCounters();
    return outcomes;
  }

  return {
    changes: {
      most: MOST_CHANGES,
      areNoted: false,
      apply: (changes, { refuses }) => queue.runAll(changes.flatMap(keysOf), () => changeAll(changes, refuses)),
      rotate: null,
    },
    async createBareKeys(made) {
      for (const key of made) keys.createWithoutCounters(key);
      await save({ keys: new Map(made.map((key) => [key.accessKey, key])) }).catch(unlessInMemory);
      return made.map(({ accessKey }) => accessKey);
    },
  };
}

const keyOf = (asked: KeyChange): string => (asked.op === 'create' ? asked.key.accessKey : asked.accessKey);

const keysOf = (asked: KeyChange): readonly string[] =>
  asked.op === 'rotate' ? [asked.accessKey, asked.successor] : [keyOf(asked)];
