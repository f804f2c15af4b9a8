import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { putLoad } from '../../bench/load.js';
import { createNaiveApp } from '../../bench/naive-app.js';
import { createUser, getUsers, listUsers } from '../../bench/requests.js';
import { sampleCounters, sampleKey, sampleKeyName, TOKEN, writeSampleFile } from '../../bench/sample-keys.js';
import { median, quantile } from '../../bench/statistics.js';
import { createGateway } from '../../src/index.js';

const KEYS = 50;
const URL = '/panel/api/users';

/** Both servers over files of their own with the same keys and counters. */
async function bothServers() {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-bench-test-'));
  const paths = [join(folder, 'gateway.json'), join(folder, 'naive.json')] as const;
  for (const path of paths) await writeSampleFile(path, KEYS);
  const gateway = await createGateway({ mounts: [{ revision: 'current' }], configPath: paths[0] });
  const { app: naive, users } = await createNaiveApp(paths[1]);
  for (let index = 0; index < KEYS; index += 1) {
    const { bytesUp, bytesDown, connections } = sampleCounters(index);
    const values = { bytesUp: BigInt(bytesUp), bytesDown: BigInt(bytesDown), connections: BigInt(connections) };
    gateway.keyway.local?.keys.setCounters(sampleKeyName(index), values);
    const user = users.get(sampleKeyName(index));
    if (user !== undefined) user.counters = { bytes_up: bytesUp, bytes_down: bytesDown, connections };
  }
  onTestFinished(async () => {
    await gateway.close();
    await naive.close();
    await rm(folder, { recursive: true });
  });
  return { gateway, naive, paths };
}

it('the gateway and the straightforward implementation give the same list of the same file', async () => {
  const { gateway, naive } = await bothServers();
  const ours = await gateway.inject({ url: URL, headers: { authorization: `Bearer ${TOKEN}` } });
  const theirs = await naive.inject({ url: URL });
  expect(ours.json().data).toHaveLength(KEYS);
  expect(ours.json()).toEqual(theirs.json());
});

it('the load client gets every answer of both servers, and both files have the keys that it created', async () => {
  const { gateway, naive, paths } = await bothServers();
  for (const [index, app] of [gateway, naive].entries()) {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const lists = await putLoad({ port, connections: 3, requests: listUsers, until: { each: 4 } });
    expect(lists).toMatchObject({ answers: 12, refused: 0 });
    const creates = await putLoad({ port, connections: 5, requests: createUser, until: { each: 1 } });
    expect(creates).toMatchObject({ answers: 5, refused: 0 });
    const content = JSON.parse(await readFile(paths[index] ?? '', 'utf8'));
    expect(content.access_keys).toHaveLength(KEYS + 5);
    expect(content.access_keys[3]).toEqual(sampleKey(3));
    expect(content.access_keys.at(-1)).toMatchObject({ name: 'Bench', limit_bytes: 1073741824 });
  }
});

it('an answer that is a refusal is counted as one', async () => {
  const { gateway } = await bothServers();
  await gateway.listen({ host: '127.0.0.1', port: 0 });
  const address = gateway.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const requests = getUsers(KEYS).map((text) => text.replace(TOKEN, 'another'));
  expect(await putLoad({ port, connections: 1, requests, until: { each: 2 } })).toMatchObject({
    answers: 2,
    refused: 2,
  });
});

it('the sample keys are all different', () => {
  expect(new Set(Array.from({ length: 200_000 }, (_, index) => sampleKeyName(index))).size).toBe(200_000);
});

it('medians and quantiles are those of the sorted values', () => {
  expect(median([10, 9, 100])).toBe(10);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(quantile([5, 1, 4, 2, 3], 0.99)).toBe(5);
  expect(quantile([5, 1, 4, 2, 3], 0.5)).toBe(3);
  expect(() => median([])).toThrow('no values');
});
