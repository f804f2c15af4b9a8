import { spawnSync } from 'node:child_process';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { piecesOf } from '../../../src/files/file-pieces.js';
import { openLocalBackend } from '../../../src/homes/file/backend.js';
import { writeState } from '../../../src/homes/file/counters/lines.js';
import { readStored } from '../../../src/homes/file/counters/stored.js';
import { offlineReplacements } from '../../../src/homes/file/offline-replacements.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { compileForProcess } from '../../compiled.js';
import { someOf } from '../../whole.js';

let built = '';
let driver = '';

beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), 'keyway-restore-driver-'));
  driver = await compileForProcess('test/homes/file/restore-driver.ts', built);
}, 120_000);

afterAll(() => rm(built, { recursive: true, force: true }));

const fileOf = (keys: readonly string[]) => JSON.stringify({ mode: 'server', access_keys: keys });
const counted = (accessKey: string, bytesUp: bigint) => {
  return { accessKey, bytesUp, bytesDown: 0n, connections: 0n, createdAt: 1, leftAt: null };
};

/** A file with the keys `a` and `b`, and a backup with `b` and `c`, which have 7 bytes and a note each. */
async function stage() {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-restore-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [path, backup] = [join(folder, 'server.json'), join(folder, 'state.jsonl')];
  await writeFile(path, fileOf(['a', 'b']));
  const state = {
    configuration: Buffer.from(fileOf(['b', 'c'])),
    counters: [counted('b', 7n), counted('c', 7n)],
    reports: ['of b and c'],
    sources: null,
    notes: new Map([
      ['b', '"of b"'],
      ['c', '"of c"'],
    ]),
  };
  for await (const piece of writeState(state, 0)) await writeFile(backup, piece, { flag: 'a' });
  const data = `${path}.keyway`;
  const left = async () => (await readdir(data)).filter((name) => name.startsWith('request-'));
  return { path, backup, data, left };
}

/** Starts over what is there, and tells what is served. */
async function started(path: string) {
  const lines: string[] = [];
  const note = (_fields: object, message: string) => lines.push(message);
  const log = { debug() {}, info() {}, warn: note, error: note };
  const place = { fileSystem: createFileSystem(), clock: systemClock, pollMilliseconds: 0, watch: false };
  const backend = await openLocalBackend({ ...place, configPath: path, log });
  try {
    const served = [...backend.keys.entries()].map(({ accessKey }) => accessKey);
    const bytes = served.map((accessKey) => backend.counters.keys.kept(accessKey)?.bytesUp ?? 0n);
    const notes = [...backend.records.of('notes')].map(([accessKey, body]) => `${accessKey}: ${JSON.parse(body)}`);
    return { served, bytes, notes, lines, reports: backend.counters.usage.reports.has('of b and c') };
  } finally {
    await backend.close();
  }
}

const NOTES = ['b: of b', 'c: of c'];
const RESTORED = { served: ['b', 'c'], bytes: [7n, 7n], notes: NOTES, reports: true };
const FINISHED = 'a restore that was interrupted is finished';

describe('a Keyway that is killed while it restores a backup', () => {
  it.each(
    someOf(
      [
        ['before the notes change', 'rename', '/records\\.jsonl$'],
        ['before the file changes', 'rename', 'server\\.json$'],
        ['between the file and the counters', 'append', '/counters[^/]*/'],
      ],
      1,
    ),
  )('%s finishes it at the next start', async (_when, call, end) => {
    const { path, backup, left } = await stage();
    expect(spawnSync(process.execPath, [driver, path, backup, call, end]).signal).toBe('SIGKILL');
    expect(await left()).toHaveLength(1);
    expect(await readFile(path, 'utf8')).toBe(fileOf(end.startsWith('/counters') ? ['b', 'c'] : ['a', 'b']));
    expect(await started(path)).toMatchObject({ ...RESTORED, lines: expect.arrayContaining([FINISHED]) });
    expect(await left()).toEqual([]);
  });

  it('has it finished before a command changes the file, too', async () => {
    const { path, backup, data, left } = await stage();
    expect(spawnSync(process.execPath, [driver, path, backup, 'append', '/counters[^/]*/']).signal).toBe('SIGKILL');
    const place = { configPath: path, dataFolder: data, inPlace: false, fileSystem: createFileSystem() };
    const quiet = { log: { debug() {}, info() {}, warn() {}, error() {} }, progress: { show() {}, clear() {} } };
    await offlineReplacements({ ...place, ...quiet, clock: systemClock }).putFile(Buffer.from(fileOf(['c', 'd'])), {});
    expect(await left()).toEqual([]);
    expect(await started(path)).toMatchObject({ served: ['c', 'd'], bytes: [7n, 0n], reports: true });
  });

  it('once all of it is durable does it no second time', async () => {
    const { path, backup, data, left } = await stage();
    expect(spawnSync(process.execPath, [driver, path, backup, 'remove', 'request-restore-']).signal).toBe('SIGKILL');
    expect(await left()).toHaveLength(1);
    await writeFile(path, fileOf(['b', 'c', 'd']));
    await appendFile(join(data, 'records.jsonl'), '[["notes","b","\\"newer\\""]]\n');
    expect((await started(path)).notes).toEqual(['b: newer', 'c: of c']);
    expect(await started(path)).toMatchObject({ served: ['b', 'c', 'd'], bytes: [7n, 7n, 0n], reports: true });
    expect(await left()).toEqual([]);
  });
});

it('a backup is restored though its counters have no room beside it', async () => {
  const { path, backup, left } = await stage();
  const fileSystem = createFileSystem();
  const append: typeof fileSystem.append = async (to, ...rest) => {
    const isFull = to.includes('/counters') && (await left()).length > 0;
    if (isFull) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    return fileSystem.append(to, ...rest);
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const place = { clock: systemClock, pollMilliseconds: 0, watch: false, countersWriteMilliseconds: 0, log };
  const backend = await openLocalBackend({ ...place, fileSystem: { ...fileSystem, append }, configPath: path });
  try {
    await backend.counters.store?.flush();
    await backend.replacements.restore(piecesOf(fileSystem, backup));
    const { counters } = await readStored(fileSystem, `${path}.keyway`, path);
    expect(counters.map(({ accessKey, bytesUp }) => [accessKey, bytesUp])).toEqual([
      ['a', 0n],
      ['b', 7n],
      ['c', 7n],
    ]);
  } finally {
    await backend.close();
  }
});

describe('what is left in a data folder', () => {
  it('by a command of an earlier Keyway is finished where it is a restore, named where it is not, and else removed', async () => {
    const { path, backup, data, left } = await stage();
    await started(path);
    await writeFile(join(data, 'request-restore-0123456789ab'), await readFile(backup));
    for (const name of ['import-0123456789ab', 'waiting-0123456789ab', 'version-0123456789ab.refused'])
      await writeFile(join(data, `request-${name}`), '');
    await writeFile(join(data, 'meant-content'), '');
    const { lines, ...found } = await started(path);
    expect(found).toEqual(RESTORED);
    expect(lines).toEqual([FINISHED, expect.stringContaining('a command of an earlier Keyway has left this')]);
    expect(await left()).toEqual(['request-import-0123456789ab']);
    expect(await readdir(data)).not.toContain('meant-content');
  });

  it('by a command of an earlier Keyway while this one serves is refused to it, and not done by the next start', async () => {
    const { path, backup, data, left } = await stage();
    const lines: string[] = [];
    const note = (_fields: object, message: string) => lines.push(message);
    const log = { debug() {}, info() {}, warn: note, error: note };
    const place = { fileSystem: createFileSystem(), clock: systemClock, pollMilliseconds: 0, watch: false };
    const backend = await openLocalBackend({ ...place, configPath: path, log });
    await writeFile(join(data, 'request-restore-0123456789ab'), await readFile(backup));
    await backend.close();
    expect(lines).toEqual([expect.stringContaining('a restore was not done')]);
    expect(await readFile(join(data, 'request-restore-0123456789ab.refused'), 'utf8')).toContain('a later version');
    expect(await started(path)).toMatchObject({ served: ['a', 'b'], lines: [], reports: false });
    expect(await left()).toEqual([]);
  });

  it('as a backup that is damaged is given up by name, and changes nothing', async () => {
    const { path, backup, data, left } = await stage();
    await started(path);
    const whole = await readFile(backup);
    await writeFile(join(data, 'request-restore-0123456789ab'), whole.subarray(0, -5));
    const { lines, served } = await started(path);
    expect(served).toEqual(['a', 'b']);
    expect(lines).toEqual(['a restore that was interrupted is given up']);
    expect(await left()).toEqual([]);
  });
});
