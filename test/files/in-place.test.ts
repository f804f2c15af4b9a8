import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createInPlaceWriting, TakenFileError } from '../../src/files/in-place.js';
import { readTarget } from '../../src/files/write-file.js';
import { createFileSystem } from '../../src/platform/file-system.js';

const fileSystem = createFileSystem();
const log = { debug() {}, info() {}, warn() {}, error() {} };

describe('overwriting a file that is mounted alone', () => {
  it.each([
    ['replaces it', false],
    ['keeps it under another name', true],
  ])('is refused while an editor at its source %s, and done once it is mounted again', async (_, keepsIt) => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway mount-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [path, source] = [join(folder, 'server.json'), join(folder, 'source.json')];
    await writeFile(path, '{}');
    await writeFile(source, '{}');
    const mount = () => spawnSync('mount', ['--bind', source, path], { encoding: 'utf8' });
    const mounted = mount();
    if (mounted.status !== 0) {
      const reason = `no bind mount can be made: ${mounted.stderr || mounted.error?.message}`;
      process.stdout.write(`skipped: ${reason.trim()}\n`);
      return;
    }
    onTestFinished(() => void spawnSync('umount', [path]));
    const copyPath = join(folder, 'copy');
    const writing = createInPlaceWriting({ fileSystem, copyPath, log, keep: async () => undefined });
    const write = async (text: string) => writing.replace(await readTarget(fileSystem, path), Buffer.from(text));
    await write('{"one":1}');
    if (keepsIt) await rename(source, `${source}~`);
    await writeFile(`${source}.new`, '{"edited":1}');
    await rename(`${source}.new`, source);
    await expect(write('{"two":2}')).rejects.toThrow(TakenFileError);
    expect(await readFile(path, 'utf8')).toBe('{"one":1}');
    spawnSync('umount', [path]);
    mount();
    await write('{"three":3}');
    expect(await readFile(source, 'utf8')).toBe('{"three":3}');
  });
});
