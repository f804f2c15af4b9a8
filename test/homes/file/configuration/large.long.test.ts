import { mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FILE_LIMITS } from '../../../../src/core/file-limits.js';
import type { LogPort } from '../../../../src/core/ports.js';
import { createInPlaceWriting } from '../../../../src/files/in-place.js';
import { listVersions, readVersion } from '../../../../src/files/versions-of-file.js';
import { createTarget, readTarget, replaceTarget } from '../../../../src/files/write-file.js';
import { createGateway } from '../../../../src/gateway/create-gateway.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';
import { systemClock } from '../../../../src/platform/system-ports.js';

const VAST = 3 * 2 ** 30;
const GOOD = '{ "mode": "server", "access_keys": ["alpha"] }\n';

let folder = '';
let path = '';
let close: (() => Promise<unknown>) | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-large-'));
  path = join(folder, 'server.json');
  await writeFile(path, GOOD);
});
afterEach(async () => {
  // What runs may write into the folder that is to go.
  await close?.();
  close = null;
  await rm(folder, { recursive: true });
});

async function serving() {
  const lines: string[] = [];
  const write = ({ reason }: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push(reason === undefined ? message : `${message}: ${String(reason)}`);
  const log: LogPort = { debug() {}, info: write, warn: write, error: write };
  const { keyway: gateway } = await createGateway({
    mounts: [{ revision: 'current' }],
    configPath: path,
    pollMilliseconds: 20,
    log,
  });
  close = () => gateway.app.close();
  const ask = async (method: 'GET' | 'POST' | 'PUT', at: string, payload?: object) => {
    const answer = await gateway.app.inject({ method, url: `/panel/api${at}`, ...(payload && { payload }) });
    return [answer.statusCode, answer.json().error ?? null] as const;
  };
  return { lines, gateway, ask };
}

it('a configuration that grows beyond its limit while it is served is said, changes nothing, and may shrink again', async () => {
  const { lines, gateway, ask } = await serving();
  const keys = () => [...gateway.core.keys.ordered()].map(({ accessKey }) => accessKey);
  await truncate(path, VAST);
  const problem = 'it is larger than 256 MiB';
  await expect
    .poll(() => lines)
    .toContain(`the configuration file cannot be read; the last good state stays live: ${problem}`);
  expect(keys()).toEqual(['alpha']);
  expect(await ask('GET', '/server/config')).toEqual([400, `Failed to read config file: ${problem}`]);
  expect(await ask('PUT', '/server/config', { mode: 'server' })).toEqual([
    400,
    `Failed to write config file: ${problem}`,
  ]);
  expect(await ask('POST', '/users', { access_key: 'beta' })).toEqual([400, 'failed to save configuration']);
  expect(gateway.local?.configuration?.status()).toMatchObject({ parseError: problem, lastWriteError: problem });
  await writeFile(path, '{ "mode": "server", "access_keys": ["alpha", "gamma"] }');
  await expect.poll(keys).toEqual(['alpha', 'beta', 'gamma']);
  await expect.poll(() => readFile(path, 'utf8')).toContain('beta');
});

it('a configuration is never written that could not be read again', async () => {
  const fileSystem = createFileSystem();
  const content = Buffer.allocUnsafeSlow(FILE_LIMITS.configuration + 1);
  const target = await readTarget(fileSystem, path);
  const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };
  const inPlace = createInPlaceWriting({ fileSystem, copyPath: join(folder, 'copy'), log, keep: async () => {} });
  for (const write of [
    replaceTarget(fileSystem, target, content),
    createTarget(fileSystem, join(folder, 'other.json'), content),
    inPlace.replace(target, content),
  ]) {
    await expect(write).rejects.toMatchObject({ code: 'EFBIG' });
  }
  expect(await readdir(folder)).toEqual(['server.json']);
  expect(await readFile(path, 'utf8')).toBe(GOOD);
});

it('a kept version that would unpack to more than a configuration may have is not restored', async () => {
  const { gateway } = await serving();
  await rename(path, `${path}.old`);
  await writeFile(path, GOOD.replace('alpha', 'beta'));
  const place = { fileSystem: createFileSystem(), clock: systemClock, path, dataFolder: `${path}.keyway` };
  const versions = { ...place, log: { debug() {}, info() {}, warn() {}, error() {} } };
  await expect.poll(() => listVersions(versions)).not.toEqual([]);
  await gateway.app.close();
  const [version] = await listVersions(versions);
  const packed = join(`${path}.keyway`, 'versions', `${version?.id}.gz`);
  await writeFile(packed, gzipSync(Buffer.alloc(FILE_LIMITS.configuration + 1), { level: 1 }));
  await expect(readVersion(versions, version?.id ?? '')).rejects.toThrow('larger than 256 MiB');
  expect(await readFile(path, 'utf8')).toContain('beta');
});
