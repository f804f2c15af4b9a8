import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../building.js';
import { type Running, startKeyway } from '../commands/process.js';
import { folderForTest } from '../folder-for-test.js';
import { describeDatabase, freshDatabase, query } from '../homes/database/database.js';
import { listen } from '../northbound/gateway.js';
import { gate } from '../panel/gate.js';
import { ownStage, TOKEN } from './stage.js';

const OLD_KEY =
  "select * from keyway.create_keys(gen_random_uuid(), array['old'], array['Old'], array[5::numeric], true)";

interface Job {
  readonly id: string;
  readonly state: string;
  readonly done: number;
  readonly failed: number;
  readonly items: readonly { readonly ok: boolean | null; readonly access_key: string; readonly code?: string }[];
}

/** A Keyway as a process of its own, and its interface. */
interface Served {
  readonly running: Running;
  batch(items: readonly unknown[], once: string): Promise<Job>;
  /** Resolves to the new key; to null without an answer. */
  rotate(key: string, once: string): Promise<string | null>;
  keys(): Promise<readonly string[]>;
  job(id: string): Promise<Job>;
  /** Without items that were done. */
  progress(id: string): Promise<Job>;
}

const isWhole = process.env.JOB_KILLS === 'all';
/** Keys over a server, new keys over a file, and how many milliseconds after a batch is acknowledged Keyway is killed. */
const { overServer, overFile, moments } = isWhole
  ? { overServer: 5000, overFile: 2000, moments: [0, 2, 5, 10, 20, 40, 60, 80, 100, 150, 250] }
  : { overServer: 100, overFile: 1000, moments: [40] };

const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

async function serve(argv: readonly string[], folder: string): Promise<Served> {
  const running = startKeyway(['serve', ...argv, '--bind', '127.0.0.1:0', '--no-resolver'], { folder });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  const { url } = await running.logged(({ url: at }) => typeof at === 'string' && at.startsWith('http'));
  const ask = async <T = Job>(path: string, init: RequestInit = {}): Promise<T> => {
    const answer = await fetch(`${String(url).replace(/(:\d+).*/, '$1')}/panel/keyway/v1${path}`, { headers, ...init });
    return ((await answer.json()) as { readonly data: T }).data;
  };
  return {
    running,
    batch: (items, once) =>
      ask('/keys/batch', {
        method: 'POST',
        body: JSON.stringify({ items }),
        headers: { ...headers, 'idempotency-key': once },
      }),
    rotate: (key, once) =>
      ask<{ readonly access_key: string }>(`/keys/${key}/rotate`, {
        method: 'POST',
        body: '{}',
        headers: { ...headers, 'idempotency-key': once },
      }).then(
        (rotated) => rotated.access_key,
        () => null,
      ),
    keys: async () => {
      const { keys } = await ask<{ readonly keys: readonly { readonly access_key: string }[] }>('/keys');
      return keys.map(({ access_key }) => access_key);
    },
    job: (id) => ask(`/jobs/${id}?limit=10000`),
    progress: (id) => ask(`/jobs/${id}?failed=1`),
  };
}

async function kill({ child, ended }: Running): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

async function until(served: Served, id: string, holds: (job: Job) => boolean): Promise<Job> {
  for (;;) {
    const job = await served.progress(id);
    if (holds(job)) return job;
    await pause(50);
  }
}

it(`a deletion of ${overServer} keys over a server goes on after SIGKILL: all are gone, each deleted once, told once`, {
  timeout: 400_000,
}, async () => {
  await buildIfOlder();
  const { app } = await ownStage();
  const deleted = new Map<string, number>();
  // None but the first third is deleted before the kill, however late that comes.
  const killed = gate();
  app.addHook('onRequest', async ({ method }) => {
    if (method === 'DELETE' && deleted.size >= 0.3 * overServer) await killed.opened;
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (request.method === 'DELETE' && reply.statusCode === 200)
      deleted.set(request.url, (deleted.get(request.url) ?? 0) + 1);
    done();
  });
  const { core } = app.keyway;
  for (let made = 0; made < overServer; made += 100) await core.bulkCreateUsers(100n, null);
  const items = [...core.keys.entries()].map(({ accessKey }) => ({ op: 'delete', access_key: accessKey }));
  // No server starts without a key.
  await core.createUser({ accessKey: 'stays', name: null, limitBytes: null });
  const argv = ['--upstream', `http://127.0.0.1:${await listen(app)}/panel`, '--upstream-token', TOKEN];
  const folder = await folderForTest();

  const first = await serve(argv, folder);
  const { id } = await first.batch(items, 'all of them');
  await until(first, id, ({ done }) => done >= 0.3 * overServer);
  await kill(first.running);
  killed.open();
  expect(core.keys.size).toBeGreaterThan(1);

  const second = await serve(argv, folder);
  expect((await second.batch(items, 'all of them')).id).toBe(id);
  const ended = await until(second, id, ({ state }) => state !== 'running');
  expect(ended).toMatchObject({ state: 'done', done: overServer, failed: 0 });
  expect(core.keys.size).toBe(1);
  expect([...deleted.values()].filter((count) => count !== 1)).toEqual([]);
  expect(deleted.size).toBe(overServer);
  const told = async () => (await core.audit.list()).filter(({ eventEn }) => eventEn.includes(id));
  await expect.poll(told).toHaveLength(1);
  second.running.child.kill('SIGTERM');
  await second.running.ended;
  const third = await serve(argv, folder);
  expect(await third.job(id)).toMatchObject({ state: 'done', done: overServer });
  expect(await told()).toHaveLength(1);
});

it.each(moments)('a batch over a file that was acknowledged is done once, whenever Keyway is killed (%i ms later)', {
  timeout: 120_000,
}, async (milliseconds) => {
  await buildIfOlder();
  const folder = await folderForTest();
  const config = join(folder, 'server.json');
  const keys = Array.from({ length: 100 }, (_, index) => ({ access_key: `old ${index}`, limit_bytes: 1 }));
  await writeFile(
    config,
    JSON.stringify({ mode: 'server', api: { token: TOKEN, webpath: 'panel' }, access_keys: keys }),
  );
  const items = [
    ...Array.from({ length: overFile }, (_, index) => ({ op: 'create', name: `Name ${index}`, limit_bytes: index })),
    ...keys.map(({ access_key }) => ({ op: 'delete', access_key })),
  ];
  const first = await serve(['--config', config], folder);
  const begun = await first.batch(items, 'one');
  await pause(milliseconds);
  await kill(first.running);

  const second = await serve(['--config', config], folder);
  const ended = await until(second, begun.id, ({ state }) => state === 'done');
  expect(ended).toMatchObject({ done: overFile + 100, failed: 0 });
  const { items: made } = await second.job(begun.id);
  expect(made.map(({ access_key }) => access_key)).toEqual(begun.items.map(({ access_key }) => access_key));
  expect((await second.batch(items, 'one')).id).toBe(begun.id);
  second.running.child.kill('SIGTERM');
  await second.running.ended;
  const written: {
    readonly access_keys: readonly { readonly key?: string; readonly access_key?: string; readonly name: string }[];
  } = JSON.parse(await readFile(config, 'utf8'));
  expect(written.access_keys.map(({ name }) => name).sort()).toEqual(
    items.flatMap((item) => ('name' in item ? [item.name] : [])).sort(),
  );
});

describeDatabase('a rotation over a database', () => {
  it.each(
    isWhole ? moments.slice(1) : moments,
  )('is done once and found by its Idempotency-Key, whenever Keyway is killed (%i ms later)', {
    timeout: 120_000,
  }, async (milliseconds) => {
    await buildIfOlder();
    const url = await freshDatabase();
    await query(url, OLD_KEY);
    const argv = ['--database', url, '--token', TOKEN, '--webpath', 'panel'];
    const folder = await folderForTest();
    const first = await serve(argv, folder);
    const asked = first.rotate('old', 'one');
    await pause(milliseconds);
    await kill(first.running);
    const answered = await asked;

    const second = await serve(argv, folder);
    const successor = await second.rotate('old', 'one');
    expect(await second.keys()).toEqual([successor]);
    if (answered !== null) expect(successor).toBe(answered);
  });
});
