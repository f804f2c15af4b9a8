import type { Sent } from '../../client/server.js';
import { changedRecord, recordBy, sameFields } from '../../core/keys/key-record.js';
import type { KeyRegistry } from '../../core/keys/registry.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { AccessKey, KeySnapshot } from '../../core/model.js';
import type { UpstreamContext } from './context.js';
import type { KeyFreshness } from './freshness.js';
import { type KeyState, stateOf } from './key-state.js';
import type { UnconfirmedWrites } from './unconfirmed-writes.js';

/** A write that took effect, as the keys in memory follow it. */
export type Effect =
  | { readonly kind: 'created' | 'createdBare' | 'changed'; readonly record: AccessKey }
  | { readonly kind: 'deleted' | 'reset'; readonly accessKey: string };

export type KeyReplica = ReturnType<typeof createKeyReplica>;

export interface KeyReplicaOptions extends UpstreamContext {
  readonly keys: KeyRegistry;
  readonly freshness: KeyFreshness;
  readonly unconfirmed: Pick<UnconfirmedWrites, 'pending' | 'see' | 'seeName'>;
  /** Called for a key that the server no longer has. */
  readonly onGone: (accessKey: string) => void;
}

/** Keys that are looked at in one turn of the event loop. */
const AT_ONCE = 1_000;

/** The keys in memory as they follow those of the server (design: "The replica never goes back"). */
export function createKeyReplica(options: KeyReplicaOptions) {
  const { keys, freshness, unconfirmed, timers, tells, onGone } = options;
  let own = countsBy(() => 0n);
  /** By slot, the list in which its key was seen last. */
  let seenIn = new Uint32Array(1024);
  let lists = 0;
  /** The keys of the list with pending writes: they may be in it and not be shown. */
  let pendingSeen = new Set<string>();

  function mark(slot: number): void {
    if (slot >= seenIn.length) {
      const wider = new Uint32Array(2 * Math.max(slot, seenIn.length));
      wider.set(seenIn);
      seenIn = wider;
    }
    seenIn[slot] = lists;
  }

  /** Checks what was read against pending writes; returns whether it may be shown. */
  function mayShow(accessKey: string, state: () => KeyState, sentAt: number): boolean {
    return !unconfirmed.pending().has(accessKey) || unconfirmed.see(accessKey, state(), sentAt);
  }

  function takeOne(snapshot: KeySnapshot, sentAt: number): void {
    const { accessKey } = snapshot;
    const isNew = keys.get(accessKey) !== snapshot;
    const isPending = unconfirmed.pending().has(accessKey);
    if (isPending) pendingSeen.add(accessKey);
    if ((isNew || isPending) && freshness.listMayChange(accessKey, sentAt)) {
      if (mayShow(accessKey, () => stateOf(snapshot), sentAt)) {
        if (isNew) put(snapshot);
      } else showWritten(accessKey, snapshot.counters);
    }
    const entry = keys.get(accessKey);
    if (entry !== undefined) mark(entry.slot);
  }

  /** A lost write of a process before is shown, too, until it is made again. */
  function showWritten(accessKey: string, counters: KeySnapshot['counters']): void {
    const after = unconfirmed.pending().get(accessKey)?.after ?? null;
    if (after === null || keys.get(accessKey) !== undefined) return;
    keys.create(after);
    if (counters !== null) keys.setCounters(accessKey, counters);
  }

  function put(snapshot: KeySnapshot): void {
    const { accessKey, counters } = snapshot;
    const entry = keys.get(accessKey);
    const record = recordBy(
      accessKey,
      ({ name }) => (tells(name) ? snapshot[name] : (entry?.[name] ?? snapshot[name])) ?? null,
    );
    const known = entry?.counters ?? null;
    if (counters === null) {
      if (entry === undefined || known !== null || !sameFields(entry, record)) keys.createWithoutCounters(record);
      return;
    }
    if (entry === undefined) keys.create(record);
    else if (known === null || !sameFields(entry, record)) keys.update(record);
    const present = known ?? { bytesUp: 0n, bytesDown: 0n, connections: 0n };
    const isSame =
      present.bytesUp === counters.bytesUp &&
      present.bytesDown === counters.bytesDown &&
      present.connections === counters.connections;
    if (!isSame) keys.setCounters(accessKey, counters);
  }

  function takeName(accessKey: string, told: string | null, sentAt: number): void {
    const name = unconfirmed.pending().has(accessKey) ? unconfirmed.seeName(accessKey, told, sentAt) : told;
    const entry = keys.get(accessKey);
    if (entry === undefined || entry.name === name || !freshness.listMayChange(accessKey, sentAt)) return;
    const record = changedRecord(entry, { name });
    if (entry.counters === null) keys.createWithoutCounters(record);
    else keys.update(record);
  }

  function remove(accessKey: string): void {
    if (!keys.setAside(accessKey)) return;
    keys.forget(accessKey);
    onGone(accessKey);
  }

  /** Removes the keys that the list lacks. */
  async function removeUnseen(sentAt: number): Promise<void> {
    const gone: string[] = [];
    for (const { accessKey, slot } of keys.entries()) if (seenIn[slot] !== lists) gone.push(accessKey);
    for (const accessKey of unconfirmed.pending().keys()) if (keys.get(accessKey) === undefined) gone.push(accessKey);
    await inPieces(gone, (accessKey) => {
      if (pendingSeen.has(accessKey) || !freshness.listMayChange(accessKey, sentAt)) return;
      if (mayShow(accessKey, () => null, sentAt)) remove(accessKey);
      else showWritten(accessKey, null);
    });
  }

  async function inPieces<T>(all: readonly T[], one: (each: T) => void): Promise<void> {
    for (let from = 0; from < all.length; from += AT_ONCE) {
      if (from > 0) await timers.pause();
      for (const each of all.slice(from, from + AT_ONCE)) one(each);
    }
  }

  return {
    /** Takes a list in, piece by piece; resolves when it is in. */
    async takeList({ value, sentAt }: Sent<readonly KeySnapshot[]>): Promise<void> {
      lists += 1;
      pendingSeen = new Set();
      await inPieces(value, (snapshot) => takeOne(snapshot, sentAt));
      await removeUnseen(sentAt);
      freshness.listTaken(sentAt);
    },
    /** Takes in a single read; returns false if later facts are known or it must not be shown. */
    takeRead(accessKey: string, { value, sentAt }: Sent<KeySnapshot | undefined>): boolean {
      if (!freshness.readMayChange(accessKey, sentAt)) {
        if (freshness.knowsLater(accessKey, sentAt)) return false;
        // It may show the write that is under way, which is nobody else's change.
        if (freshness.isWriting(accessKey)) return !unconfirmed.pending().has(accessKey);
        return mayShow(accessKey, () => stateOf(value), sentAt);
      }
      if (!mayShow(accessKey, () => stateOf(value), sentAt)) return false;
      if (value === undefined) remove(accessKey);
      else put(value);
      freshness.readTaken(accessKey, sentAt);
      return true;
    },
    /** Follows a write of Keyway's own, at once. */
    follow(effect: Effect): void {
      const before = countsOf(keys);
      follow(keys, effect);
      const [known, after] = [own, countsOf(keys)];
      own = countsBy((name) => known[name] + after[name] - before[name]);
    },
    /** Takes in names that lists lack: all of them, as of that moment. */
    async takeNames(names: ReadonlyMap<string, string | null>, sentAt: number): Promise<void> {
      for (const accessKey of unconfirmed.pending().keys()) {
        if (!names.has(accessKey)) unconfirmed.seeName(accessKey, undefined, sentAt);
      }
      await inPieces([...names], ([accessKey, name]) => takeName(accessKey, name, sentAt));
    },
    /** Returns by how much Keyway's own writes have changed the counts since its start. */
    ownChanges: (): StatusCounts => own,
  };
}

/** The counts of a status. */
export type StatusCounts = Readonly<
  Record<'total' | 'active' | 'online' | 'connections' | 'bytesUp' | 'bytesDown', bigint>
>;

export function countsBy(of: (name: keyof StatusCounts) => bigint): StatusCounts {
  return {
    total: of('total'),
    active: of('active'),
    online: of('online'),
    connections: of('connections'),
    bytesUp: of('bytesUp'),
    bytesDown: of('bytesDown'),
  };
}

function countsOf(keys: KeyReader): StatusCounts {
  const { active, connected } = keys.counts;
  return { total: BigInt(keys.size), active: BigInt(active), online: BigInt(connected), ...keys.sums() };
}

function follow(keys: KeyRegistry, effect: Effect): void {
  switch (effect.kind) {
    case 'created':
      keys.create(effect.record);
      return;
    case 'createdBare':
      keys.createWithoutCounters(effect.record);
      return;
    case 'changed':
      // One that no list has shown yet.
      if (!keys.update(effect.record)) keys.create(effect.record);
      return;
    case 'reset':
      keys.reset(effect.accessKey);
      return;
    case 'deleted':
      keys.setAside(effect.accessKey);
      keys.forget(effect.accessKey);
  }
}
