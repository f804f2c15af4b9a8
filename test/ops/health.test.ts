import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FileSystemPort } from '../../src/core/ports.js';
import { createReadiness } from '../../src/core/readiness.js';
import { createGateway } from '../../src/gateway/create-gateway.js';
import { FORMAT } from '../../src/homes/file/counters/store-file.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { startOps } from '../../src/serve/ops.js';
import { folderForTest } from '../folder-for-test.js';
import { createMemoryBackend } from '../ports/memory-backend.js';
import { configurationOf, createLines, opsStage, TOKEN, until } from './stage.js';

interface HealthAnswer {
  readonly status: string;
  readonly problems: readonly { readonly problem: string; readonly reason: string }[];
}

async function healthAt(ops: string): Promise<HealthAnswer & { readonly code: number }> {
  const response = await fetch(`${ops}/healthz`);
  return { code: response.status, ...((await response.json()) as HealthAnswer) };
}

const HEALTHY = { code: 200, status: 'healthy', problems: [] };

/** Waits until these are the problems, and gives their reasons. */
async function reasonsAt(ops: string, ...problems: string[]): Promise<readonly string[]> {
  let answer = await healthAt(ops);
  await until(async () => {
    answer = await healthAt(ops);
    return JSON.stringify(answer.problems.map(({ problem }) => problem)) === JSON.stringify(problems);
  });
  expect(answer).toMatchObject(problems.length === 0 ? HEALTHY : { code: 503, status: 'unhealthy' });
  return answer.problems.map(({ reason }) => reason);
}

/** A gateway and its ops listener over the disk, of which some calls can be made to fail. */
async function failingStage({ inPlace = false }: { readonly inPlace?: boolean } = {}) {
  const folder = await folderForTest();
  const configPath = join(folder, 'server.json');
  await writeFile(configPath, configurationOf({ access_keys: ['a'] }));
  const failing = { rename: false, counters: false, taken: false };
  const full = () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
  const disk = createFileSystem();
  const isOfCounters = (path: string) => path.includes('/counters-');
  const fileSystem: FileSystemPort = {
    ...disk,
    rename: (from, to) => (failing.rename && to === configPath ? full() : disk.rename(from, to)),
    stat: async (path) => ({ ...(await disk.stat(path)), ...(failing.taken && path === configPath && { links: 0 }) }),
    create: (path, ...rest) => (failing.counters && isOfCounters(path) ? full() : disk.create(path, ...rest)),
    append: (path, ...rest) => (failing.counters && isOfCounters(path) ? full() : disk.append(path, ...rest)),
  };
  const { log } = createLines();
  const settings = { opsBind: '127.0.0.1:0', version: '9.8.7', readiness: createReadiness(), allowHosts: [] };
  const ops = await startOps(settings, log);
  onTestFinished(() => ops.close());
  const { keyway: gateway } = await createGateway({
    mounts: [{ revision: 'current' }],
    configPath,
    inPlace,
    fileSystem,
    log,
    observer: ops.observer,
  });
  onTestFinished(() => gateway.app.close());
  ops.watch(gateway, { feed: null, resolver: null });
  const call = (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    gateway.app.inject({ method, url, headers: { authorization: `Bearer ${TOKEN}` }, ...(payload && { payload }) });
  return { ops: ops.url, configPath, failing, call };
}

describe('/healthz', () => {
  it('is 200 while nothing is wrong, and reads well', async () => {
    const { ops } = await opsStage();
    const response = await fetch(`${ops}/healthz`);
    expect([response.status, await response.text()]).toEqual([200, '{\n  "status": "healthy",\n  "problems": []\n}\n']);
  });

  it('has what holds the keys looked at for a minute, as the metrics have', async () => {
    const backend = createMemoryBackend({ hasLiveReads: true, isReplica: true });
    const watched = backend.replica === null ? null : vi.spyOn(backend.replica, 'watch');
    const { keyway: gateway } = await createGateway({ mounts: [{ revision: 'current' }], backend });
    onTestFinished(() => gateway.app.close());
    const settings = { opsBind: '127.0.0.1:0', version: '9.8.7', readiness: createReadiness(), allowHosts: [] };
    const ops = await startOps(settings, createLines().log);
    onTestFinished(() => ops.close());
    ops.watch(gateway, { feed: null, resolver: null });
    for (const path of ['readyz', 'healthz', 'metrics']) await (await fetch(`${ops.url}/${path}`)).text();
    expect(watched?.mock.calls).toEqual([[60_000], [60_000]]);
  });

  it('is degraded while the webhook takes no events, and metrics say for how long', async () => {
    const receiver = createServer((_request, response) => void response.writeHead(503).end());
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const { ops, call, metrics } = await opsStage({ access_keys: ['a'] }, [
      ...['--webhook', `http://127.0.0.1:${port}/secret-path`, '--webhook-secret', secret],
    ]);
    const deliveries = async (outcome: string) =>
      (await metrics()).value('keyway_webhook_deliveries_total', { outcome });
    expect(await deliveries('failed')).toBe(0);
    // A new webhook begins behind the newest event.
    await expect
      .poll(async () => {
        await call('POST', '/panel/api/users', { access_key: String(Math.random()) });
        return deliveries('failed');
      })
      .toBeGreaterThan(0);
    const health = await (await fetch(`${ops}/healthz`)).text();
    expect(JSON.parse(health)).toMatchObject({ status: 'degraded', problems: [{ problem: 'webhook_failing' }] });
    expect(health).not.toContain('secret-path');
    expect((await metrics()).value('keyway_health_problem', { problem: 'webhook_failing' })).toBe(1);
    expect((await metrics()).value('keyway_webhook_waiting_seconds')).toBeGreaterThan(0);
  });

  it('is 503 while the file is no configuration, and 200 once it is one again', async () => {
    const { ops, configPath } = await opsStage({ access_keys: ['a'] });
    const good = await readFile(configPath, 'utf8');
    await writeFile(configPath, '{\n  "mode": "server",\n  "access_keys": [,]\n}');
    expect(await reasonsAt(ops, 'configuration_unreadable')).toEqual([
      expect.stringMatching(/^the configuration file cannot be read, the last good state stays live: .*line 3/),
    ]);
    await writeFile(configPath, good);
    expect(await reasonsAt(ops)).toEqual([]);
    await rename(configPath, `${configPath}.away`);
    expect(await reasonsAt(ops, 'configuration_unreadable')).toEqual([
      expect.stringContaining('No such file or directory (ENOENT)'),
    ]);
    await rename(`${configPath}.away`, configPath);
    expect(await reasonsAt(ops)).toEqual([]);
  });

  it('is 503 after a write of the file failed, and 200 after one that did not', async () => {
    const { ops, failing, call } = await failingStage();
    failing.rename = true;
    await call('POST', '/panel/api/users', { access_key: 'b' });
    expect(await reasonsAt(ops, 'configuration_unwritable')).toEqual([
      'the last write of the configuration file failed: No space left on device (ENOSPC)',
    ]);
    failing.rename = false;
    await call('POST', '/panel/api/users', { access_key: 'c' });
    expect(await reasonsAt(ops)).toEqual([]);
  });

  it('is 503 while the file is taken from under --in-place, answers a write as not saved, and is 200 once that is written', async () => {
    const { ops, configPath, failing, call } = await failingStage({ inPlace: true });
    failing.taken = true;
    const added = await call('POST', '/panel/api/users', { access_key: 'b' });
    expect([added.statusCode, added.json()]).toEqual([400, { ok: false, error: 'failed to save configuration' }]);
    const limited = await call('PATCH', '/panel/keyway/v1/keys/b', { limit_bytes: 5 });
    expect(limited.json()).toMatchObject({ ok: false, code: 'saved_in_memory', data: { limit_bytes: 5 } });
    expect(limited.statusCode).toBe(507);
    expect(await reasonsAt(ops, 'configuration_unwritable')).toEqual([
      expect.stringMatching(/^.*server\.json was replaced or removed where it is mounted from/),
    ]);
    expect(await readFile(configPath, 'utf8')).not.toContain('"b"');
    failing.taken = false;
    expect(await reasonsAt(ops)).toEqual([]);
    expect(await readFile(configPath, 'utf8')).toMatch(/"b"[^}]*5/);
  });

  it('is 503 after a write of counters failed, and 200 after one that did not', async () => {
    const { ops, failing, call } = await failingStage();
    failing.counters = true;
    await call('POST', '/panel/api/users/a/reset');
    expect(await reasonsAt(ops, 'counters_unwritable')).toEqual([
      'the last write of the counters failed: No space left on device (ENOSPC)',
    ]);
    failing.counters = false;
    expect(await reasonsAt(ops)).toEqual([]);
  });

  it('is 503 after the counters were found damaged and moved away, until somebody removed them or started again', async () => {
    const folder = await folderForTest();
    const first = await opsStage({ access_keys: ['a'] }, [], { folder });
    await first.report('r1', ['a', 5, 1]);
    await first.report('r2', ['a', 5, 1]);
    await first.gateway.close();
    /** Changes a byte of the first of two batches: what a crash leaves is never that. */
    const damage = async () => {
      const store = join(folder, 'server.json.keyway', `counters-${FORMAT}`);
      for (const name of await readdir(store)) {
        const bytes = await readFile(join(store, name));
        const at = bytes.indexOf('KWbatch');
        if (at < 0 || bytes.indexOf('KWbatch', at + 1) < 0) continue;
        bytes.writeUInt8(bytes.readUInt8(at + 25) ^ 0xff, at + 25);
        await writeFile(join(store, name), bytes);
      }
    };
    await damage();
    const second = await opsStage({ access_keys: ['a'] }, [], { folder });
    const aside = join(folder, 'server.json.keyway', 'damaged-counters-1');
    expect(await reasonsAt(second.ops, 'counters_moved_aside')).toEqual([expect.stringContaining(aside)]);
    await rm(aside, { recursive: true });
    expect(await reasonsAt(second.ops)).toEqual([]);
    await second.report('r3', ['a', 5, 1]);
    await second.report('r4', ['a', 5, 1]);
    await second.gateway.close();
    await damage();
    const third = await opsStage({ access_keys: ['a'] }, [], { folder });
    await reasonsAt(third.ops, 'counters_moved_aside');
    await third.gateway.close();
    const fourth = await opsStage({ access_keys: ['a'] }, [], { folder });
    expect(await reasonsAt(fourth.ops)).toEqual([]);
  });

  it('names all problems at once, each on lines of its own', async () => {
    const { ops, configPath, call } = await opsStage({ access_keys: ['a'] });
    await writeFile(configPath, 'broken');
    await call('POST', '/panel/api/users', {});
    await reasonsAt(ops, 'configuration_unreadable', 'configuration_unwritable');
    const text = await (await fetch(`${ops}/healthz`)).text();
    expect(text.split('\n').filter((line) => line.includes('"reason"'))).toHaveLength(2);
  });
});
