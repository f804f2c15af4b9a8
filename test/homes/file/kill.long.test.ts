import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDocument } from '../../../src/document/document.js';
import { createConfigurationFile } from '../../../src/homes/file/configuration/configuration-file.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { compileForProcess } from '../../compiled.js';
import { tries } from '../../tries.js';

const ROUNDS = tries(4);
const silent = { debug() {}, info() {}, warn() {}, error() {} };
let folder = '';
let driver = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-kill-'));
  driver = await compileForProcess('test/homes/file/kill-driver.ts', folder);
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the driver until it has acknowledged so many keys, kills it a random while later, and gives what it acknowledged. */
async function runAndKill(path: string, data: string, prefix: string, way: string): Promise<readonly string[]> {
  const child = spawn(process.execPath, [driver, path, data, prefix, way], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  const enough = 1 + Math.floor(Math.random() * 20);
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    const before = said.split('\n').length;
    said += text;
    if (before <= enough && said.split('\n').length > enough)
      setTimeout(() => child.kill('SIGKILL'), Math.random() * 5);
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  // The last line may be cut; only a whole one is an acknowledgement.
  return said.split('\n').slice(0, -1);
}

describe('a Keyway that is killed while it saves', () => {
  it.each(['replacing', 'in-place'])('%s: every acknowledged key is in the file after the next start', async (way) => {
    const stage = join(folder, way);
    await mkdir(stage);
    const path = join(stage, 'server.json');
    const data = join(stage, 'data');
    await writeFile(path, '{\n  // by hand\n  "mode": "server",\n  "access_keys": ["first"]\n}\n');
    const acknowledged = ['first'];
    for (let round = 0; round < ROUNDS; round++) {
      acknowledged.push(...(await runAndKill(path, data, `round-${round}`, way)));
      const file = await createConfigurationFile({
        path,
        dataFolder: data,
        fileSystem: createFileSystem(),
        clock: systemClock,
        log: silent,
        inPlace: way === 'in-place',
      });
      const bytes = await readFile(path);
      const keys = new Set(readDocument(bytes).configuration.keys.map(({ accessKey }) => accessKey));
      expect(acknowledged.filter((key) => !keys.has(key))).toEqual([]);
      expect(bytes.toString()).toContain('// by hand');
      await file.close();
      expect((await readdir(stage)).sort()).toEqual(['data', 'server.json']);
    }
    expect(acknowledged.length).toBeGreaterThan(ROUNDS);
  }, 120_000);
});
