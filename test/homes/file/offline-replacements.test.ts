import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { FileSystemPort } from '../../../src/core/ports.js';
import { lockPorts } from '../../../src/files/lock.js';
import { openLocalBackend } from '../../../src/homes/file/backend.js';
import { createChangeJournal } from '../../../src/homes/file/configuration/change-journal.js';
import { writeState } from '../../../src/homes/file/counters/lines.js';
import { readStored } from '../../../src/homes/file/counters/stored.js';
import { offlineReplacements } from '../../../src/homes/file/offline-replacements.js';
import { noteRestore } from '../../../src/homes/file/restore-intent.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { someOf, WHOLE } from '../../whole.js';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

const counted = (accessKey: string, bytesUp: bigint) => ({
  accessKey,
  bytesUp,
  bytesDown: 0n,
  connections: 0n,
  createdAt: 1,
  leftAt: null,
});

const stateOf = (accessKeys: readonly string[], bytesUp: bigint) => ({
  configuration: Buffer.from(JSON.stringify({ mode: 'server', access_keys: accessKeys })),
  counters: accessKeys.map((accessKey) => counted(accessKey, bytesUp)),
  reports: [`of ${accessKeys.join(' and ')}`],
  sources: null,
  notes: new Map(accessKeys.map((accessKey) => [accessKey, JSON.stringify(`at ${bytesUp}`)])),
});

const BEFORE = stateOf(['a', 'b'], 1n);
const RESTORED = stateOf(['b', 'c'], 7n);

async function placeFor(fileSystem: FileSystemPort = createFileSystem()) {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-settle-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [configPath, dataFolder] = [join(folder, 'server.json'), join(folder, 'data')];
  const clock = { now: () => 5, monotonic: () => 0 };
  return {
    configPath,
    dataFolder,
    inPlace: false,
    fileSystem,
    clock,
    log: silent,
    progress: { show() {}, clear() {} },
  };
}

type Place = Awaited<ReturnType<typeof placeFor>>;

const restore = (place: Place, state: typeof BEFORE) => offlineReplacements(place).restore(writeState(state, 0));

/** What a Keyway finds that starts now, having finished what was interrupted; the locks are a dead one's. */
async function found({ configPath, dataFolder, clock, log }: Place) {
  for (const lock of [join(dataFolder, 'lock'), join(configPath, '..', '.server.json.keyway-lock')])
    await rm(lock, { force: true });
  const fileSystem = createFileSystem();
  const options = { configPath, dataDir: dataFolder, pollMilliseconds: 0, watch: false, fileSystem, clock, log };
  const backend = await openLocalBackend(options);
  try {
    const bytes = Object.fromEntries([...backend.keys.allKept()].map(({ accessKey, bytesUp }) => [accessKey, bytesUp]));
    const notes = Object.fromEntries(backend.records.of('notes'));
    return { notes, keys: [...backend.keys.entries()].map(({ accessKey }) => accessKey), bytes };
  } finally {
    await backend.close();
  }
}

type Change = 'create' | 'append' | 'sync' | 'rename' | 'remove' | 'syncFolder';

/** A file system that makes so many of these changes, and none of them any more until a file is removed. */
function failingAfter(most: number, names: readonly Change[]) {
  const real = createFileSystem();
  let calls = 0;
  let hasRoom = false;
  const failing =
    (name: Change) =>
    async (...given: readonly never[]) => {
      calls += 1;
      if (calls > most && !hasRoom)
        throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      return Reflect.apply(real[name], real, given);
    };
  const remove: typeof real.remove = async (path) => {
    hasRoom = calls > most;
    await real.remove(path);
  };
  const fileSystem: FileSystemPort = {
    ...real,
    remove,
    ...Object.fromEntries(names.map((name) => [name, failing(name)])),
  };
  return { fileSystem, hasFailed: () => calls > most };
}

/** A restore over what is there, with each of these changes as the first that fails; with one in three by the seed but in a whole run. */
async function failingAtEach(names: readonly Change[], each: (place: Place, failure: unknown) => Promise<void>) {
  const [first = 0] = someOf([0, 1, 2], 1);
  for (let most = first; ; most += WHOLE ? 1 : 3) {
    const place = await placeFor();
    await restore(place, BEFORE);
    const { fileSystem, hasFailed } = failingAfter(most, names);
    const failure = await restore({ ...place, fileSystem }, RESTORED).catch((error: unknown) => error);
    if (!hasFailed()) return most;
    await each(place, failure);
  }
}

const AS_BEFORE = { keys: ['a', 'b'], bytes: { a: 1n, b: 1n }, notes: { a: '"at 1"', b: '"at 1"' } };
const AS_RESTORED = {
  keys: ['b', 'c'],
  bytes: { b: 7n, c: 7n, a: 1n },
  notes: { a: '"at 1"', b: '"at 7"', c: '"at 7"' },
};

it('keeps counters of keys that a restored state does not have for their return, and the file as a version', async () => {
  const place = await placeFor();
  await restore(place, BEFORE);
  await restore(place, RESTORED);
  expect(await found(place)).toEqual(AS_RESTORED);
  expect(await readdir(join(place.dataFolder, 'versions'))).toHaveLength(1);
  expect((await readStored(place.fileSystem, place.dataFolder, place.configPath)).reports).toContain('of b and c');
});

it('notes for servers beside what it changed, after what the Keyway before has noted', async () => {
  const place = await placeFor();
  await restore(place, BEFORE);
  const { fileSystem, clock, log } = place;
  const boot = await lockPorts(fileSystem).processes.boot();
  const path = join(place.dataFolder, 'unread-changes');
  const journal = () => createChangeJournal({ path, boot, milliseconds: 7_000, fileSystem, clock, log });
  const changed = (name: string) => ({ keys: new Map([['b', { accessKey: 'b', name, limitBytes: null }]]) });
  const noted = { former: changed('old'), written: changed('new') };
  await journal().add(noted);
  await restore(place, RESTORED);
  const [first, second, ...others] = (await journal().read()).written;
  expect(first).toMatchObject(noted);
  expect([...(second?.written.keys?.keys() ?? [])]).toEqual(['c', 'a']);
  expect(others).toEqual([]);
});

it('leaves all as it was where a restore meets a full disk, and nothing half-written', async () => {
  const failures = await failingAtEach(['create', 'append'], async (place, failure) => {
    // What is noted for servers beside comes last, and is no reason to fail.
    expect(failure === undefined || /ENOSPC|notes of keys could not/.test(String(failure)), String(failure)).toBe(true);
    expect((await readdir(place.dataFolder, { recursive: true })).filter((name) => /request|tmp$/.test(name))).toEqual(
      [],
    );
    expect(await found(place)).toEqual(failure === undefined ? AS_RESTORED : AS_BEFORE);
  });
  expect(failures).toBeGreaterThan(5);
});

it('has the state before a restore or the restored one, whole, wherever a crash cuts it short', async () => {
  const outcomes = new Set<string>();
  const changes: readonly Change[] = ['create', 'append', 'sync', 'rename', 'remove', 'syncFolder'];
  await failingAtEach(changes, async (place) => {
    const after = await found(place);
    const isRestored = after.keys.includes('c');
    expect(after).toEqual(isRestored ? AS_RESTORED : AS_BEFORE);
    outcomes.add(isRestored ? 'restored' : 'before');
  });
  expect([...outcomes].sort()).toEqual(['before', 'restored']);
});

it('is over with what waited before a restore, which is done alone', async () => {
  const place = await placeFor();
  await restore(place, BEFORE);
  await noteRestore(place.fileSystem, place.dataFolder, writeState(stateOf(['d'], 9n), 0));
  await restore(place, RESTORED);
  expect(await found(place)).toEqual(AS_RESTORED);
});
