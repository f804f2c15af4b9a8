import type { Backend, KeyUpdate } from '../../src/core/backend.js';
import { changeKey } from '../../src/core/keys/change-key.js';
import type { AccessKey } from '../../src/core/model.js';

type Changed = Pick<Backend, 'changes'>;

/** Single changes of a backend's keys, each rejecting with why it was not made. */
export const createKey = (backend: Changed, key: AccessKey) => changeKey(backend, { op: 'create', key });
export const updateKey = (backend: Changed, accessKey: string, update: KeyUpdate) =>
  changeKey(backend, { op: 'update', accessKey, update });
export const deleteKey = (backend: Changed, accessKey: string) => changeKey(backend, { op: 'delete', accessKey });
export const resetKey = (backend: Changed, accessKey: string) => changeKey(backend, { op: 'reset', accessKey });
