import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { folderForTest } from '../folder-for-test.js';
import { CREDENTIALS, fileOf } from '../stand-in/files.js';
import { startStandIn } from '../stand-in/stand-in.js';
import { startKeyway } from './process.js';

beforeAll(buildIfOlder, 300_000);

// In a process of its own: in this one, the test's other work would keep the event loop alive.
it('a server whose file is half-written at the start is asked again, and served without the names of its keys', async () => {
  const folder = await folderForTest();
  const file = join(folder, 'server.jsonc');
  const text = fileOf('0.2.34');
  await writeFile(file, text);
  const standIn = await startStandIn({ line: '0.2.34', file });
  onTestFinished(() => standIn.close());
  await writeFile(file, text.slice(0, text.length / 2));
  const { token, username, password } = CREDENTIALS;
  const upstream = standIn.origin + standIn.paths.base;
  const running = startKeyway(
    ['serve', '--upstream', upstream, '--bind', '127.0.0.1:0', '--data-dir', join(folder, 'data'), '--token', token],
    {
      folder,
      environment: {
        KEYWAY_UPSTREAM_TOKEN: token,
        KEYWAY_UPSTREAM_USERNAME: username,
        KEYWAY_UPSTREAM_PASSWORD: password,
      },
    },
  );
  onTestFinished(() => void running.child.kill('SIGKILL'));
  await running.logged((record) => typeof record.url === 'string');
  expect(running.log().map(({ msg }) => msg)).toContain('the names of keys cannot be read');
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0, complaints: '' });
});
