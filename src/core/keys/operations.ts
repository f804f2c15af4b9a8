import type { Backend, KeyChange } from '../backend.js';
import { DomainError } from '../errors.js';
import type { AccessKey } from '../model.js';
import type { RandomPort } from '../ports.js';
import { changeKey } from './change-key.js';
import type { KeyFieldValues } from './key-fields.js';
import { recordOf } from './key-record.js';

/** Protocol: "Limits", bulk key creation count. */
const MAX_BULK_COUNT = 1000n;

/** The operations that change keys (protocol: "Access key lifecycle"). Each rejects as the backend's change does. */
export interface KeyOperations {
  /** Generates the key when none is given. Resolves to it. */
  createUser(key: { readonly accessKey: string | null } & Partial<KeyFieldValues>): Promise<string>;
  /** Rejects with `countTooLarge`. Resolves to the new keys. */
  bulkCreateUsers(count: bigint, limitBytes: bigint | null): Promise<readonly string[]>;
  /** Changes the columns that are given; the others stay. */
  updateUser(key: Pick<AccessKey, 'accessKey'> & Partial<KeyFieldValues>): Promise<void>;
  setLimit(accessKey: string, limitBytes: bigint | null): Promise<void>;
  deleteUser(accessKey: string): Promise<void>;
  resetUser(accessKey: string): Promise<void>;
}

/** `refuses` as in `HowChanged`. */
export function createKeyOperations(
  backend: Pick<Backend, 'keys' | 'changes' | 'createBareKeys'>,
  random: RandomPort,
  how = { refuses: false },
): KeyOperations {
  const change = (asked: KeyChange) => changeKey(backend, asked, how);
  return {
    async createUser({ accessKey: given, ...said }) {
      const accessKey = given ?? random.bytes(16).toString('hex');
      await change({ op: 'create', key: recordOf(accessKey, said) });
      return accessKey;
    },
    async bulkCreateUsers(count, limitBytes) {
      if (count > MAX_BULK_COUNT) throw new DomainError('countTooLarge');
      const made = new Map<string, AccessKey>();
      while (made.size < count) {
        const accessKey = random.bytes(8).toString('hex');
        if (backend.keys.get(accessKey) === undefined) made.set(accessKey, recordOf(accessKey, { limitBytes }));
      }
      return made.size === 0 ? [] : backend.createBareKeys([...made.values()]);
    },
    updateUser: ({ accessKey, ...update }) => change({ op: 'update', accessKey, update }),
    setLimit: (accessKey, limitBytes) => change({ op: 'update', accessKey, update: { limitBytes } }),
    deleteUser: (accessKey) => change({ op: 'delete', accessKey }),
    resetUser: (accessKey) => change({ op: 'reset', accessKey }),
  };
}
