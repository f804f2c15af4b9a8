import type { UpstreamServer } from '../../client/server.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { LogPort } from '../../core/ports.js';
import { refuseLastKey } from '../../document/check/keeps-starting.js';
import { failureWords } from '../../platform/failure-words.js';
import { type ConfigurationAccess, fileServers } from './configuration.js';
import type { KeyWrites } from './key-writes.js';
import type { ListRefresh } from './list-refresh.js';

export interface LastKeyOptions {
  readonly server: UpstreamServer;
  readonly keys: Pick<KeyReader, 'get' | 'size'>;
  readonly writes: Pick<KeyWrites, 'make'>;
  readonly listRefresh: Pick<ListRefresh, 'fresh' | 'status'>;
  readonly configuration: Pick<ConfigurationAccess, 'read' | 'keep'>;
  readonly log: LogPort;
}

export type LastKey = ReturnType<typeof createLastKey>;

const NO_KEY = 'it has no key any more, and does not start again without one';

/** Deletions of keys of a server, which would not start again once its last one is gone. */
export function createLastKey({ server, keys, writes, listRefresh, configuration, log }: LastKeyOptions) {
  /** Tells whether what becomes of the keys is in the file that the server starts from. */
  function storesKeys(): boolean {
    const line = server.line();
    return line !== null && (line.storing.startsWithKeys || line.capabilities.config !== undefined);
  }

  const isLast = (accessKey: string): boolean => storesKeys() && keys.size === 1 && keys.get(accessKey) !== undefined;

  async function keepForever(): Promise<void> {
    try {
      const { document } = (await configuration.read('caller')).value;
      await configuration.keep(document.bytes, { forever: true });
    } catch (error) {
      log.warn({ reason: failureWords(error) }, 'no version is kept of the configuration with the last key');
    }
  }

  async function deleteAlone(accessKey: string, refuses: boolean): Promise<void> {
    const asked = { op: 'delete', accessKey } as const;
    // Others may have made some since the last list.
    if (refuses && isLast(accessKey)) await listRefresh.fresh('caller');
    if (!isLast(accessKey)) return writes.make(asked);
    if (refuses) refuseLastKey(fileServers(server));
    await keepForever();
    await writes.make(asked);
    if (keys.size === 0) log.error({ upstream: server.name }, NO_KEY);
  }

  /** The deletions that are being made. */
  const deleting = new Set<Promise<void>>();

  return {
    /** Deletes a key; `refuses` as in `HowChanged`. Rejects with why it was not deleted. */
    async deleteKey(accessKey: string, refuses: boolean): Promise<void> {
      // If those that are being made succeed, this key may be the last one.
      while (deleting.size > 0 && keys.size <= deleting.size + 1) await Promise.allSettled(deleting);
      const deletion = deleteAlone(accessKey, refuses).finally(() => deleting.delete(deletion));
      deleting.add(deletion);
      await deletion;
    },
    /** The reason why the server would not start again; null while it has a key, and while no list is known. */
    startError: (): string | null =>
      keys.size === 0 && storesKeys() && listRefresh.status().ageMilliseconds !== null ? NO_KEY : null,
  };
}
