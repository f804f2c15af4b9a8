import { describe } from 'vitest';
import { silent } from '../../src/gateway/options.js';
import { openLocalBackend } from '../../src/homes/file/backend.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { staged } from '../homes/upstream/staged.js';
import { createKey } from '../ports/key-changes.js';
import { itPatches } from './patches.js';

const CREATED = { name: null, limitBytes: null };

describe('a patch of the configuration in a file', () => {
  itPatches(async (before) => {
    const fileSystem = createMemoryFiles();
    await fileSystem.makeFolder('/etc', 0o700);
    await fileSystem.create('/etc/server.json', Buffer.from(before), 0o600);
    let time = 0;
    const clock = { now: () => 7, monotonic: () => time++ };
    const backend = await openLocalBackend({
      configPath: '/etc/server.json',
      fileSystem,
      clock,
      log: silent,
      pollMilliseconds: 0,
      watch: false,
    });
    return {
      backend,
      patch: (patch) => backend.document?.patch(patch) ?? Promise.reject(),
      createKey: (accessKey) => createKey(backend, { accessKey, ...CREATED }),
      text: async () => (await fileSystem.read('/etc/server.json', 1 << 20)).toString(),
      versions: async () => (await fileSystem.list('/etc/server.json.keyway/versions').catch(() => [])).length,
      close: () => backend.close(),
    };
  });
});

describe('a patch of the configuration of a running server', () => {
  itPatches(
    async (configuration) => {
      const { world, server, backend, files } = await staged({ revision: 'current', configuration });
      return {
        backend,
        patch: (patch) => world.until(backend.document?.patch(patch) ?? Promise.reject()),
        createKey: (accessKey) => world.until(createKey(backend, { accessKey, ...CREATED })),
        text: async () => server.configuration,
        versions: async () => (await files.list('/var/keyway/versions').catch(() => [])).length,
        close: () => world.until(backend.close()),
      };
    },
    { isServer: true },
  );
});
