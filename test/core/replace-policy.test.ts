import { describe } from 'vitest';
import { openLocalBackend } from '../../src/homes/file/backend.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { staged } from '../homes/upstream/staged.js';
import { itReplaces } from './replacements.js';

const isForever = (names: readonly string[]) => [...names].sort().map((name) => name.includes('-forever'));

describe('the configuration in a file', () => {
  itReplaces(async (before, log) => {
    const fileSystem = createMemoryFiles();
    await fileSystem.makeFolder('/etc', 0o700);
    await fileSystem.create('/etc/server.json', Buffer.from(before), 0o600);
    let time = 0;
    const clock = { now: () => 7, monotonic: () => time++ };
    const options = {
      configPath: '/etc/server.json',
      fileSystem,
      clock,
      log,
      pollMilliseconds: 0,
      watch: false,
    };
    const backend = await openLocalBackend(options);
    return {
      replace: (body) => backend.document?.replace(body) ?? Promise.reject(),
      versions: async () => isForever(await fileSystem.list('/etc/server.json.keyway/versions')),
      close: () => backend.close(),
    };
  });
});

describe('the configuration of a running server', () => {
  itReplaces(async (configuration, log) => {
    const { world, backend, files } = await staged({ revision: '0.3.7', configuration, log });
    return {
      replace: (body) => world.until(backend.document?.replace(body) ?? Promise.reject()),
      versions: async () => isForever(await files.list('/var/keyway/versions')),
      close: () => world.until(backend.close()),
    };
  });
});
