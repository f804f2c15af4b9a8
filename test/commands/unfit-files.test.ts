import { execFileSync } from 'node:child_process';
import { mkdir, open, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FORMAT } from '../../src/homes/file/counters/store-file.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { buildIfOlder } from '../build.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { folderForTest } from '../folder-for-test.js';
import { runHere } from './context.js';
import { runKeyway } from './process.js';

let folder = '';
beforeAll(buildIfOlder, 300_000);
beforeEach(async () => {
  folder = await folderForTest();
  const api = { enabled: true, bind: '127.0.0.1:0', token: 'api-token' };
  await writeFile(join(folder, 'server.json'), JSON.stringify({ mode: 'server', api, access_keys: ['alpha'] }));
  await writeFile(join(folder, 'cert.pem'), CERTIFICATE);
  await writeFile(join(folder, 'key.pem'), PRIVATE_KEY);
});

const SERVE = ['serve', '--config', 'server.json'];
const RECORD = ['record', '--target', 'http://127.0.0.1:1', '--revision', 'current', '--out', 'recordings'];

/** Command lines that read the file `it`, and the most that it may have; null where it is read piece by piece. */
const READERS: readonly (readonly [argv: readonly string[], most: string | null])[] = [
  [['serve', '--config', 'it'], '256 MiB'],
  [['serve', '--settings', 'it'], '1 MiB'],
  [[...SERVE, '--tls-cert', 'it', '--tls-key', 'key.pem'], '1 MiB'],
  [[...SERVE, '--tls-cert', 'cert.pem', '--tls-key', 'it'], '1 MiB'],
  [['config', 'check', 'it'], '256 MiB'],
  [['config', 'convert', 'it', '--layout', 'inbounds', '--out', 'new.json'], '256 MiB'],
  [['backup', 'state.jsonl', '--config', 'it'], '256 MiB'],
  [['restore', 'it', '--config', 'server.json'], null],
  [['restore', 'state.jsonl', '--settings', 'it'], '1 MiB'],
  [['counters', 'import', 'it', '--config', 'server.json'], null],
  [['replay', 'it'], '64 MiB'],
  [[...RECORD, '--from-har', 'it'], '256 MiB'],
];

const UNFIT: Readonly<Record<string, { make(path: string): unknown; readonly words: string }>> = {
  'a pipe': { make: (path) => execFileSync('mkfifo', [path]), words: 'no regular file' },
  'a device': { make: (path) => execFileSync('ln', ['-s', '/dev/zero', path]), words: 'no regular file' },
  'a folder': { make: (path) => mkdir(path), words: 'Is a directory (EISDIR)' },
};

/** Runs it here; `said` is all that it says, the log of one that serves included. */
async function run(argv: readonly string[], fileSystem = createFileSystem()) {
  const path = join(folder, 'said.log');
  const log = await open(path, 'a');
  const { code, output, complaints } = await runHere(argv, { folder, fileSystem, descriptor: log.fd });
  await log.close();
  return { code, said: `${output}${complaints}${await readFile(path, 'utf8')}` };
}

describe.each(READERS)('keyway %s', (argv, most) => {
  it.each(Object.entries(UNFIT))('refuses %s at once, in words', async (what, { make, words }) => {
    await make(join(folder, 'it'));
    const { code, said } = await run(argv);
    // Of scenarios a folder may be given.
    expect(said).toContain(argv[0] === 'replay' && what === 'a folder' ? 'there is no scenario' : words);
    expect(code).not.toBe(0);
  });

  it('refuses a file of 3 GiB, and takes no more of it than it must', async () => {
    await writeFile(join(folder, 'it'), '');
    await truncate(join(folder, 'it'), 3 * 2 ** 30);
    const system = createFileSystem();
    let bytes = 0;
    const fileSystem: typeof system = {
      ...system,
      async open(path) {
        const file = await system.open(path);
        const read = async (target: Buffer, at: number) => {
          const length = await file.read(target, at);
          bytes += length;
          return length;
        };
        return { ...file, read };
      },
    };
    const { code, said } = await run(argv, fileSystem);
    expect(said).toContain(most === null ? 'it: line 1: expected a line of at most' : `larger than ${most}`);
    expect(code).not.toBe(0);
    expect(bytes).toBeLessThan(4 * 2 ** 20);
  });
});

it('keyway serve with a configuration of 3 GiB ends with one error, and not by a signal', async () => {
  await truncate(join(folder, 'server.json'), 3 * 2 ** 30);
  const { code, signal, output, complaints } = await runKeyway(SERVE, { folder });
  expect([code, signal]).toEqual([1, null]);
  expect(output + complaints).toMatch(
    /The configuration file .*server\.json cannot be read: it is larger than 256 MiB/,
  );
});

it('keyway serve with a store of counters of 3 GiB ends with one error that names its folder', async () => {
  const line = '{"access_key":"alpha","bytes_up":5,"bytes_down":6,"connections":7,"created_at":8}';
  await writeFile(join(folder, 'counters.jsonl'), line);
  await runHere(['counters', 'import', 'counters.jsonl', '--config', 'server.json'], { folder });
  const store = join(folder, 'server.json.keyway', `counters-${FORMAT}`);
  const [log = ''] = (await createFileSystem().list(store)).filter((name) => name.startsWith('log-'));
  await truncate(join(store, log), 3 * 2 ** 30);
  const { code, said } = await run(SERVE);
  expect([code, said]).toEqual([
    1,
    expect.stringMatching(/The counters in .* cannot be used: it is larger than 1 GiB/),
  ]);
});
