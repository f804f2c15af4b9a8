import { itPatches } from '../../core/patches.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabase, freshDatabase } from './database.js';
import { openBackend } from './gateways.js';

describeDatabase('a patch of the configuration in a database', () => {
  itPatches(async (before) => {
    const backend = await openBackend(await freshDatabase(), {});
    const { document, close } = backend;
    await document.put(Buffer.from(before));
    return {
      backend,
      patch: (patch) => document.patch(patch),
      createKey: (accessKey) => createKey(backend, { accessKey, name: null, limitBytes: null }),
      text: async () => (await document.text()).toString(),
      versions: async () => (await document.versions.list()).length,
      close,
    };
  });
});
