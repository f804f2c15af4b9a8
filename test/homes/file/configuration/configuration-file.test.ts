import { chmod, chown, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReloadReason } from '../../../../src/core/backend.js';
import type { ServerConfiguration } from '../../../../src/core/model.js';
import type { LogPort } from '../../../../src/core/ports.js';
import {
  type ConfigurationFile,
  createConfigurationFile,
} from '../../../../src/homes/file/configuration/configuration-file.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';
import { systemClock } from '../../../../src/platform/system-ports.js';

const START = `{
  // the server
  "mode": "server",
  "access_keys": [
    "alpha", // first
    { "access_key": "beta", "limit_bytes": 18446744073709551615 }
  ],
  "other": 0.10
}
`;

interface Stage {
  readonly folder: string;
  readonly path: string;
  readonly file: ConfigurationFile;
  readonly reloads: { readonly configuration: ServerConfiguration; readonly reason: ReloadReason }[];
  readonly lines: string[];
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-file-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function logTo(lines: string[]): LogPort {
  const write = (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  return { debug: write, info: write, warn: write, error: write };
}

async function open(folder: string, options: { pollMilliseconds?: number; inPlace?: boolean } = {}): Promise<Stage> {
  const path = join(folder, 'server.json');
  const lines: string[] = [];
  const file = await createConfigurationFile({
    path,
    dataFolder: join(folder, 'data'),
    fileSystem: createFileSystem(),
    clock: systemClock,
    log: logTo(lines),
    pollMilliseconds: 50,
    ...options,
  });
  cleanups.push(() => file.close());
  const reloads: Stage['reloads'] = [];
  file.onReload((configuration, reason) => reloads.push({ configuration, reason }));
  return { folder, path, file, reloads, lines };
}

async function stage(text = START, options: { pollMilliseconds?: number; inPlace?: boolean } = {}): Promise<Stage> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'server.json'), text);
  return open(folder, options);
}

function adding(...names: string[]) {
  return { keys: new Map(names.map((accessKey) => [accessKey, { accessKey, name: null, limitBytes: null }])) };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { interval: 5, message: 'the condition comes true' }).toBe(true);
}

describe('the configuration file on the real file system', () => {
  it('a saved key is in the file and every other byte is as it was', async () => {
    const { path, file } = await stage();
    await file.save(adding('gamma'));
    const text = await readFile(path, 'utf8');
    expect(text).toContain('"gamma"');
    for (const kept of ['// the server', '"alpha", // first', '18446744073709551615', '0.10'])
      expect(text).toContain(kept);
    expect(file.load().keys.map(({ accessKey }) => accessKey)).toEqual(['alpha', 'beta', 'gamma']);
  });

  it('an edit made an instant before a key write survives it and is told to listeners', async () => {
    const { path, file, reloads } = await stage(START, { pollMilliseconds: 0 });
    await writeFile(path, START.replace('"alpha"', '"edited"'));
    await file.save(adding('gamma'));
    const text = await readFile(path, 'utf8');
    expect(text).toContain('"edited"');
    expect(text).toContain('"gamma"');
    expect(reloads.map(({ reason }) => reason)).toEqual(['edited']);
    expect(reloads[0]?.configuration.keys.map(({ accessKey }) => accessKey)).toEqual(['edited', 'beta', 'gamma']);
  });

  it('replace writes pretty-printed JSON, is live before it resolves and keeps the version before', async () => {
    const { path, file, reloads, folder } = await stage();
    await file.replace(Buffer.from('{"mode":"server","access_keys":["x"],"n":1e3}'));
    expect(await readFile(path, 'utf8')).toBe(
      '{\n  "mode": "server",\n  "access_keys": [\n    "x"\n  ],\n  "n": 1e3\n}',
    );
    expect(reloads.map(({ reason }) => reason)).toEqual(['replaced']);
    expect(await readdir(join(folder, 'data', 'versions'))).toHaveLength(1);
  });

  it('readAsJson gives the file compact with numbers as spelled', async () => {
    const { file } = await stage();
    expect((await file.readAsJson()).toString()).toBe(
      '{"mode":"server","access_keys":["alpha",{"access_key":"beta","limit_bytes":18446744073709551615}],"other":0.10}',
    );
  });

  it('an edit by hand becomes live', async () => {
    const { path, reloads } = await stage();
    await writeFile(path, START.replace('"alpha"', '"edited"'));
    await until(() => reloads.length > 0);
    expect(reloads[0]?.reason).toBe('edited');
  });

  it('mode, owner and a symbolic link are kept by a write', async () => {
    const folder = await temporaryFolder();
    const real = join(folder, 'real.json');
    await writeFile(real, START);
    await chmod(real, 0o640);
    await chown(real, 12345, 23456).catch(() => undefined);
    const before = await stat(real);
    await symlink('real.json', join(folder, 'server.json'));
    const { file, path } = await open(folder);
    await file.save(adding('gamma'));
    const after = await stat(real);
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid]);
    expect(after.ino).not.toBe(before.ino);
    expect(await readFile(real, 'utf8')).toContain('gamma');
    expect((await readdir(folder)).sort()).toEqual(['.real.json.keyway-lock', 'data', 'real.json', 'server.json']);
    await file.close();
    expect((await readdir(folder)).sort()).toEqual(['data', 'real.json', 'server.json']);
  });
});
