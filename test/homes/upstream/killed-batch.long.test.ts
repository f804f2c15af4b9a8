import { expect, it } from 'vitest';
import { folderForTest } from '../../folder-for-test.js';
import { apiOf, INBOUNDS_FILE } from '../../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';
import { compileFront, startFrontProcess } from './front-process.js';

const FACTOR = 10;
/** The server reads its file back long before Keyway is sure of a write, as it does at its own speed: 5 s against 7. */
const RELOAD_FACTOR = 200;
const KEYS = Array.from({ length: 40 }, (_, n) => `gone-${n}`);

it.each([
  3, 12, 25,
])('what a batch called deleted outlives SIGKILL after %i deletions, and every next start of a server of 0.3.21', async (deletions) => {
  const users = KEYS.map((key) => `{ "key": "${key}" }, `).join('');
  const text = INBOUNDS_FILE.replace('"users": [', `"users": [${users}`);
  const standIn = await standInOf('0.3.21', { ...LOSES_NOTHING, reloadFactor: RELOAD_FACTOR }, text);
  const held = () => standIn.keys().map(({ accessKey }) => accessKey);
  const gone = () => KEYS.filter((key) => !held().includes(key));
  const folder = await folderForTest();
  const script = await compileFront(folder);
  const url = standIn.origin + standIn.paths.base;
  const start = () => startFrontProcess({ script, folder, url, factor: FACTOR, callFactor: 0 });
  const front = await start();
  const items = KEYS.map((access_key) => ({ op: 'delete', access_key }));
  const begun = await front.own('POST', '/keys/batch', { items });
  const { id } = Object(begun?.data);
  await expect.poll(() => gone().length, { interval: 1 }).toBeGreaterThanOrEqual(deletions);
  await front.kill();
  expect(gone().length).toBeLessThan(KEYS.length);
  const next = await start();
  const ended = async () => Object((await next.own('GET', `/jobs/${id}?wait=10`))?.data);
  await expect.poll(async () => (await ended()).state).toBe('done');
  expect((await ended()).items.map(({ ok }: { ok: unknown }) => ok)).toEqual(KEYS.map(() => true));
  // Before what waits is stored for its start, and after.
  for (const _ of ['first', 'second', 'third']) {
    await standIn.restart();
    await expect.poll(gone).toEqual(KEYS);
  }
  expect((await apiOf(standIn)('GET', '/users')).data).toHaveLength(2);
  await next.kill();
});
