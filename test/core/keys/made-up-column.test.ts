import { expect, it, vi } from 'vitest';
import { FILE_LIMITS } from '../../../src/core/file-limits.js';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import type { AccessKey } from '../../../src/core/model.js';
import type { LogPort } from '../../../src/core/ports.js';
import { createLosses } from '../../../src/document/convert/losses.js';
import { toAccessKeys } from '../../../src/document/convert/to-access-keys.js';
import { toInbounds } from '../../../src/document/convert/to-inbounds.js';
import { readDocument } from '../../../src/document/document.js';
import { openLocalBackend } from '../../../src/homes/file/backend.js';
import { createChangeJournal } from '../../../src/homes/file/configuration/change-journal.js';
import { UnconfirmedChanges } from '../../../src/homes/file/configuration/unconfirmed-changes.js';
import { recordText } from '../../../src/homes/file/counters/recreated-keys.js';
import { openWriteJournal } from '../../../src/homes/upstream/write-journal.js';
import { createMemoryFiles } from '../../../src/platform/memory-files.js';
import { runHere } from '../../commands/context.js';
import { held, key, staged } from '../../homes/upstream/staged.js';
import { createKey, updateKey } from '../../ports/key-changes.js';

// One row, as whoever adds a column would write it; nothing else is told of it.
vi.mock('../../../src/core/keys/key-fields.js', async (original) => {
  const { KEY_FIELDS } = await original<typeof import('../../../src/core/keys/key-fields.js')>();
  return { KEY_FIELDS: { ...KEY_FIELDS, madeUp: { kind: 'text', member: 'made_up', noted: 'made_up' } } };
});

const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };
const clock = { now: () => 1_000_000, monotonic: () => 1_000_000 };
const PATH = '/etc/server.json';

/** A record with the made-up column, of which the types say nothing. */
const made = (accessKey: string, madeUp: string | null, limitBytes: bigint | null = null): AccessKey =>
  Object.assign(key(accessKey, limitBytes), { madeUp });

async function withFile(text: string) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create(PATH, Buffer.from(text), 0o600);
  let time = 0;
  const open = (configPath: string | null) =>
    openLocalBackend({
      configPath,
      fileSystem,
      clock: { now: () => 7, monotonic: () => time++ },
      log,
      pollMilliseconds: 0,
      watch: false,
    });
  return { fileSystem, open };
}

it.each([
  ['memory', null],
  ['a file', PATH],
])('a made-up column is kept by %s, whatever else of the record is changed', async (_, path) => {
  const { open } = await withFile('{"mode":"server","access_keys":[]}');
  const backend = await open(path);
  await createKey(backend, made('a', 'x'));
  await updateKey(backend, 'a', { limitBytes: 5n });
  expect(backend.keys.get('a')).toMatchObject({ madeUp: 'x', limitBytes: 5n });
  await updateKey(backend, 'a', { limitBytes: 5n, name: 'n' });
  expect(backend.keys.get('a')).toMatchObject({ madeUp: 'x', name: 'n' });
  await updateKey(backend, 'a', Object.assign({ limitBytes: 5n }, { madeUp: 'y' }));
  expect(backend.keys.get('a')).toMatchObject({ madeUp: 'y', name: 'n' });
  await createKey(backend, made('a', null));
  expect(backend.keys.get('a')).toMatchObject({ madeUp: null, name: null });
  await backend.close();
});

it.each([
  ['a root list', '{"mode":"server","access_keys":["old"]}'],
  ['inbounds', '{"mode":"server","inbounds":[{"protocol":"ostp","users":[{"key":"old"}]}]}'],
])('a made-up column is in the file with %s, comes back at a restart, and is replaced with a configuration', async (_, text) => {
  const { fileSystem, open } = await withFile(text);
  const before = await open(PATH);
  await createKey(before, made('a', 'x', 5n));
  await before.createBareKeys([made('b', 'y')]);
  await before.close();
  const written = (await fileSystem.read(PATH, FILE_LIMITS.configuration)).toString();
  const after = await open(PATH);
  expect(['old', 'a', 'b'].map((each) => after.keys.get(each))).toMatchObject([
    { madeUp: null },
    { madeUp: 'x', limitBytes: 5n },
    { madeUp: 'y' },
  ]);
  await after.document?.replace(Buffer.from(written.replace('"x"', '"other"')));
  expect(after.keys.get('a')).toMatchObject({ madeUp: 'other', limitBytes: 5n });
  await after.close();
});

it('a made-up column is in a backup, and comes back with it', async () => {
  const { fileSystem, open } = await withFile('{"mode":"server","access_keys":[]}');
  const before = await open(PATH);
  await createKey(before, made('a', 'x', 5n));
  await before.close();
  const argv = ['/etc/backup.jsonl', '--config', PATH];
  expect(await runHere(['backup', ...argv], { fileSystem })).toMatchObject({ complaints: '', code: 0 });
  const changed = await open(PATH);
  await updateKey(changed, 'a', Object.assign({ limitBytes: 6n }, { madeUp: 'y' }));
  await changed.close();
  expect(await runHere(['restore', ...argv], { fileSystem })).toMatchObject({ complaints: '', code: 0 });
  const after = await open(PATH);
  expect(after.keys.get('a')).toMatchObject({ madeUp: 'x', limitBytes: 5n });
  await after.close();
});

it('a made-up column of another type in a file is no value, and a warning', () => {
  const text = '{"mode":"server","access_keys":[{"access_key":"a","made_up":5}]}';
  const { keys, warnings } = readDocument(Buffer.from(text)).configuration;
  expect(keys).toEqual([made('a', null)]);
  expect(warnings).toEqual([expect.stringContaining('made_up: expected a string')]);
});

it('a made-up column goes from one layout to the other and back', () => {
  const text = '{"mode":"server","access_keys":["b",{"access_key":"a","made_up":"x"}]}';
  const there = toInbounds(Buffer.from(text), createLosses());
  const back = toAccessKeys(there, createLosses());
  for (const bytes of [there, back]) {
    expect(readDocument(bytes).configuration.keys).toEqual([made('b', null), made('a', 'x')]);
  }
});

it('a made-up column that another program takes back is made again, also after a kill', async () => {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/data', 0o700);
  const options = { path: '/data/unread', boot: 'b', milliseconds: 7_000, fileSystem, clock, log };
  const former = { keys: new Map([['a', made('a', 'x', 1n)]]) };
  const written = { keys: new Map([['a', made('a', 'y', 1n)]]) };
  await createChangeJournal(options).add({ former, written });
  const unread = new UnconfirmedChanges(clock.now, 7_000);
  for (const line of (await createChangeJournal(options).read()).written)
    unread.record(line.former, line.written, line.at);
  const { outbound, dns } = readDocument(Buffer.from('{"mode":"server","access_keys":[]}')).configuration;
  // The limit is somebody's change, the column is as it was before.
  const found = { keys: [made('a', 'x', 2n)], outbound, dns };
  expect(unread.findReverted(found).keys?.get('a')).toEqual(made('a', 'y', 2n));
});

it('a made-up column tells records apart', () => {
  expect(recordText(made('a', 'x'))).not.toBe(recordText(made('a', 'y')));
  const registry = new KeyRegistry(() => 0);
  registry.replaceAll([made('a', 'x')]);
  registry.replaceAll([made('a', 'y')]);
  expect(registry.get('a')).toMatchObject({ madeUp: 'y' });
});

it('a made-up column is in the notes of what a server may lose', async () => {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/data', 0o700);
  const place = { fileSystem, folder: '/data', log };
  const note = { accessKey: 'a', after: made('a', 'x'), previousStates: [made('a', null)], isUnsafe: false, at: 5 };
  const notes = await openWriteJournal(place);
  await notes.keep([note]);
  await notes.close();
  expect((await openWriteJournal(place)).found).toEqual([note]);
});

it('a made-up column that a server does not tell is none', async () => {
  const { world, backend } = await staged({ before: ({ keys }) => keys.set('a', held('a', 5n)) });
  await world.until(Promise.resolve(backend.replica?.freshen()));
  expect(backend.keys.get('a')).toMatchObject({ madeUp: null, limitBytes: 5n });
  await world.until(backend.close());
});
