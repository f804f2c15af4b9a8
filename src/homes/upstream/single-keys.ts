import { UpstreamError } from '../../client/upstream-error.js';
import type { KeyEntry, KeyReader } from '../../core/keys/types.js';
import type { MaybeAsync } from '../../core/maybe-async.js';
import type { KeySnapshot } from '../../core/model.js';
import type { Announcement } from './announcement.js';
import type { UpstreamContext } from './context.js';
import type { ListRefresh } from './list-refresh.js';
import type { KeyReplica } from './replica.js';
import type { StrangerGate } from './stranger-gate.js';

/** Between two look-ups of unknown keys, ms, so that guessing keys does not load the server. */
const LEAST_GAP = 1_000;

export interface SubscribersOptions extends UpstreamContext {
  readonly keys: KeyReader;
  readonly replica: Pick<KeyReplica, 'takeRead'>;
  readonly listRefresh: Pick<ListRefresh, 'lastKnown'>;
  readonly announcement: Announcement;
  readonly gate: StrangerGate;
}

/**
 * Looks up keys for subscriptions and the feed: as last known, otherwise from the server, at most one a second in all.
 */
export function createSubscribers(
  options: SubscribersOptions,
): (accessKey: string) => MaybeAsync<KeyEntry | undefined> {
  const { server, keys, replica, listRefresh, announcement, clock, gate } = options;
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function lookFor(accessKey: string): Promise<KeyEntry | undefined> {
    lookedAt = clock.monotonic();
    replica.takeRead(accessKey, await gate.take(() => server.getUser(accessKey, 'poll')));
    return announced(keys.get(accessKey));
  }

  /** Resolves once the address that the server announces is known. */
  function announced(entry: KeyEntry | undefined): MaybeAsync<KeyEntry | undefined> {
    const learning = entry === undefined ? undefined : announcement.learn(entry.accessKey);
    return learning === undefined ? entry : learning.then(() => entry);
  }

  async function afterRenewal(refresh: Promise<void>, accessKey: string): Promise<KeyEntry | undefined> {
    await refresh;
    return find(accessKey);
  }

  function find(accessKey: string): MaybeAsync<KeyEntry | undefined> {
    const refresh = listRefresh.lastKnown();
    if (refresh !== undefined) return afterRenewal(refresh, accessKey);
    const entry = keys.get(accessKey);
    if (entry !== undefined) return announced(entry);
    return clock.monotonic() - lookedAt < LEAST_GAP ? undefined : lookFor(accessKey);
  }

  return find;
}

/** The most unknown keys that are looked up per second. */
const UNKNOWN_A_SECOND = 10;

export type LiveKeyOptions = Omit<SubscribersOptions, 'announcement' | 'gate'>;

/**
 * Reads one key from the server; as last known if somebody else has its one session, or a write is being made again.
 */
export function createLiveKey(options: LiveKeyOptions): (accessKey: string) => Promise<KeySnapshot | undefined> {
  const { server, keys, replica, listRefresh, tells, clock } = options;
  let second = Number.NEGATIVE_INFINITY;
  let asked = 0;

  function mayAskForUnknown(): boolean {
    if (clock.monotonic() - second >= 1_000) {
      second = clock.monotonic();
      asked = 0;
    }
    asked += 1;
    return asked <= UNKNOWN_A_SECOND;
  }

  return async (accessKey) => {
    if (keys.get(accessKey) === undefined && !mayAskForUnknown()) {
      await listRefresh.lastKnown();
      return keys.get(accessKey);
    }
    const read = await server.getUser(accessKey).catch((error: unknown) => {
      if (error instanceof UpstreamError && error.code === 'upstreamRefused') return null;
      throw error;
    });
    if (read === null || !replica.takeRead(accessKey, read)) {
      await listRefresh.lastKnown();
      return keys.get(accessKey);
    }
    if (read.value === undefined || tells('name')) return read.value;
    return { ...read.value, name: keys.get(accessKey)?.name ?? null };
  };
}
