import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { folderForTest } from '../serve/serve-here.js';
import { CREDENTIALS } from '../stand-in/files.js';
import { standInOf } from '../stand-in/test-stand-in.js';
import { openFrontBackend } from './open-front.js';

const RULE = { domainSuffix: ['.a'], ipCidr: [], protocol: null, action: 'direct' as const };

test('a server of a version that nobody knows is served as the last line, and its configuration is not changed', async () => {
  const standIn = await standInOf('0.4.6');
  const logged: string[] = [];
  const say = (_: object, message: string) => void logged.push(message);
  const backend = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock: systemClock,
    dataFolder: join(await folderForTest(), 'front.keyway'),
    fileSystem: createFileSystem(),
    log: { debug() {}, info() {}, warn: say, error: say },
  });
  onTestFinished(() => backend.close());
  expect(logged.filter((message) => /--upstream-revision/.test(message))).toHaveLength(1);
  expect(await backend.problems()).toMatchObject([
    {
      problem: 'upstream_later',
      reason: expect.stringMatching(/version 0\.4\.6: .*--upstream-revision names a line$/),
    },
  ]);
  await backend.createKey({ accessKey: 'made', name: null, limitBytes: null });
  const refused = { code: 'configRefused', detail: expect.stringContaining('--upstream-revision') };
  await expect(backend.replaceRules([RULE])).rejects.toMatchObject(refused);
  await expect(backend.changeDns({ enabled: true })).rejects.toMatchObject(refused);
  await standIn.restart();
  expect(standIn.keys().map(({ accessKey }) => accessKey)).toContain('made');
});
