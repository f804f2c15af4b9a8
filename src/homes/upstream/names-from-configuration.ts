import { UpstreamError } from '../../client/upstream-error.js';
import type { AccessKey } from '../../core/model.js';
import { failureWords } from '../../platform/failure-words.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import type { ConfigurationAccess } from './configuration.js';
import type { UpstreamContext } from './context.js';
import { nextRefreshAt, type TakenLists, withList } from './list-refresh.js';
import type { KeyReplica } from './replica.js';

export interface NamesOptions extends UpstreamContext {
  readonly configuration: Pick<ConfigurationAccess, 'read'>;
  readonly replica: Pick<KeyReplica, 'takeNames'>;
}

/** Names of keys where snapshots do not tell them: they stand in the configuration alone. */
export function createNames({ configuration, replica, readsNames, log }: NamesOptions) {
  let last: TakenLists | null = null;
  let failedAt: number | null = null;
  let coming: { readonly names: ReadonlyMap<string, string | null>; readonly at: number } | null = null;

  async function takeComing(now: number): Promise<void> {
    if (coming === null) return;
    await replica.takeNames(coming.names, coming.at);
    if (now >= coming.at + SETTLED_AFTER) coming = null;
  }

  return {
    /** Returns whether none are wanted, or they were read. */
    areKnown: (): boolean => !readsNames() || last !== null,
    /** Reads the names again if they are wanted and due; a failure leaves the known ones. */
    async follow(now: number): Promise<void> {
      if (readsNames()) await takeComing(now);
      if (!readsNames() || now < nextRefreshAt(last, failedAt)) return;
      try {
        const { value, ...sent } = await configuration.read('poll');
        await replica.takeNames(namesOf(value.configuration.keys), sent.sentAt);
        last = withList(last, sent);
        failedAt = null;
      } catch (error) {
        if (failedAt === null) log.warn({ reason: failureWords(error) }, 'the names of keys cannot be read');
        failedAt = now;
        // The server has none to show, and what waits for a name is not to wait for ever.
        if (!(error instanceof UpstreamError)) await replica.takeNames(new Map(), now);
      }
    },
    /** A configuration with these keys takes the place of the server's, which has them a while later. */
    replaced(keys: readonly AccessKey[], now: number): void {
      coming = { names: namesOf(keys), at: now };
    },
  };
}

function namesOf(keys: readonly AccessKey[]): ReadonlyMap<string, string | null> {
  return new Map(keys.map(({ accessKey, name }) => [accessKey, name]));
}
