import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../free-ports.js';
import type { Step } from './file.js';
import { apiOf, INBOUNDS_FILE, ROOT_LIST_FILE, STRINGS_FILE } from './files.js';
import { type StandIn, type StandInOptions, startStandIn } from './stand-in.js';
import { keysOf } from './test-stand-in.js';

/** What was measured on real servers, one fact a test (protocol: "Where recorded servers differ"). */

interface Stage {
  readonly standIn: StandIn;
  readonly path: string;
  readonly api: ReturnType<typeof apiOf>;
  text(): Promise<string>;
  /** The keys that it holds, by name. */
  keys(): readonly string[];
}

async function stage(line: string, text: string, options: Partial<StandInOptions> = {}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-stand-in-'));
  const path = join(folder, 'server.jsonc');
  await writeFile(path, text);
  const standIn = await startStandIn({ line, file: path, port: await freePort(), reloadFactor: 0, ...options });
  onTestFinished(async () => {
    await standIn.close();
    await rm(folder, { recursive: true, force: true });
  });
  const keys = () => keysOf(standIn);
  return { standIn, path, api: apiOf(standIn), text: () => readFile(path, 'utf8'), keys };
}

/** Does something the first time that a server stands between these steps, and waits for it there. */
function atFirst<T>(step: Step, act: () => Promise<T>) {
  let came: (value: Promise<T>) => void = () => undefined;
  let isFirst = true;
  return {
    came: new Promise<T>((resolve) => {
      came = resolve;
    }),
    async pause(at: Step): Promise<void> {
      if (at !== step || !isFirst) return;
      isFirst = false;
      const done = act();
      came(done);
      await done;
    },
  };
}

test('keys of equal traffic are listed in no order of registration', async () => {
  const { api } = await stage('current', ROOT_LIST_FILE);
  const made = Array.from({ length: 20 }, (_, n) => `key-${n}`);
  for (const key of made) await api('POST', '/users', { access_key: key });
  const listed = (await api('GET', '/users')).data as readonly { readonly access_key: string }[];
  const order = listed.map(({ access_key }) => access_key).filter((key) => made.includes(key));
  expect(order).not.toEqual(made);
  expect([...order].sort()).toEqual([...made].sort());
});

test('a key write loses what was written into the file since the last reload, and its comments', async () => {
  const { api, path, text, keys, standIn } = await stage('0.2.34', `// by hand\n${ROOT_LIST_FILE}`);
  await writeFile(path, ROOT_LIST_FILE.replace('"alpha"', '"alpha", "by-hand"'));
  await api('POST', '/users', { access_key: 'by-api' });
  await standIn.reload();
  expect(keys()).toEqual(['alpha', 'beta', 'by-api']);
  expect(await text()).not.toContain('by hand');
});

test('a write that falls between reading and taking over is lost, and the next write makes that last', async () => {
  const between = atFirst('reload: parsed', () => staged.api('POST', '/users', { access_key: 'acknowledged' }));
  const staged = await stage('0.2.96', ROOT_LIST_FILE, { pause: between.pause });
  await staged.standIn.reload();
  expect(await between.came).toMatchObject({ ok: true });
  expect(await staged.text()).toContain('"acknowledged"');
  expect(staged.keys()).toEqual(['alpha', 'beta']);
  await staged.api('POST', '/users', { access_key: 'later' });
  expect(await staged.text()).not.toContain('"acknowledged"');
});

test('a write beside another finds the file truncated: it says so, and memory has changed', async () => {
  const beside = atFirst('write: truncated', () => staged.api('POST', '/users', { access_key: 'second' }));
  const staged = await stage('0.2.60', ROOT_LIST_FILE, { pause: beside.pause });
  expect((await staged.api('POST', '/users', { access_key: 'first' })).ok).toBe(true);
  expect(await beside.came).toMatchObject({ ok: false, error: 'failed to save configuration' });
  expect(staged.keys()).toEqual(['alpha', 'beta', 'first', 'second']);
});

test('a restart sets all counters to zero, and connections never fall before', async () => {
  const { api, standIn } = await stage('current', ROOT_LIST_FILE);
  standIn.count('alpha', { up: 3n, down: 2n ** 53n + 1n, connections: 2n });
  expect((await api('GET', '/users/alpha')).data).toMatchObject({ bytes_up: 3, connections: 2, online: true });
  await standIn.restart();
  expect((await api('GET', '/users/alpha')).data).toMatchObject({ bytes_up: 0, connections: 0, online: false });
});

test('a PUT of the configuration takes keys at the reload, unless something makes the server store its memory', async () => {
  const { api, standIn, keys } = await stage('0.2.96', ROOT_LIST_FILE);
  const without = { mode: 'server', access_keys: [] };
  await api('PUT', '/server/config', without);
  await api('POST', '/users/bulk', { count: 0 });
  await standIn.reload();
  expect(keys()).toEqual(['alpha', 'beta']);
  await api('PUT', '/server/config', without);
  await standIn.reload();
  expect(keys()).toEqual([]);
});

test('a restart begins when the last write has ended, also that of a request that came as the server ended', async () => {
  const releases: (() => void)[] = [];
  const pause = async (at: Step) => {
    if (at === 'save: read') await new Promise<void>((resolve) => releases.push(resolve));
  };
  const { api, standIn } = await stage('0.2.96', ROOT_LIST_FILE, { pause });
  const create = (key: string) => api('POST', '/users', { access_key: key }).catch(() => null);
  const first = create('first');
  await expect.poll(() => releases.length).toBe(1);
  const restarted = standIn.restart();
  const second = create('second');
  await expect.poll(() => releases.length).toBe(2);
  releases[0]?.();
  await Promise.all([first, second]);
  const order: string[] = [];
  // Longer than it takes to start.
  setTimeout(() => {
    order.push('writes');
    releases[1]?.();
  }, 50);
  await restarted;
  expect([...order, 'restarted']).toEqual(['writes', 'restarted']);
});

test('a reload of 0.3.21 takes the root list and the inbounds together, those of 0.3.10 the root list alone', async () => {
  const file = INBOUNDS_FILE.replace('"mode"', '"access_keys": ["alpha", "listed"], "mode"');
  const [early, late] = [await stage('0.3.10', file), await stage('0.3.21', file)];
  expect([early.keys(), late.keys()]).toEqual([
    ['alpha', 'beta'],
    ['alpha', 'beta'],
  ]);
  for (const { standIn } of [early, late]) await standIn.reload();
  expect(early.keys()).toEqual(['alpha', 'listed']);
  expect(late.keys()).toEqual(['alpha', 'beta', 'listed']);
  expect(late.standIn.keys().find(({ accessKey }) => accessKey === 'alpha')?.name).toBe('Alpha');
});

test('an element that is an object ends the start and every reload of one of 0.2.30, and not of 0.2.31', async () => {
  await expect(stage('0.2.30', ROOT_LIST_FILE)).rejects.toThrow('expected a string');
  const { path, keys, standIn } = await stage('0.2.30', STRINGS_FILE);
  await writeFile(path, ROOT_LIST_FILE.replace('"alpha"', '"alpha", "by-hand"'));
  await standIn.reload();
  expect(keys()).toEqual(['alpha', 'beta']);
  const later = await stage('0.2.31', ROOT_LIST_FILE);
  expect(later.keys()).toEqual(['alpha', 'beta']);
});
