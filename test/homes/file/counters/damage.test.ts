import { copyFile, cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FORMAT } from '../../../../src/homes/file/counters/store-file.js';
import { runHere } from '../../../commands/context.js';
import { configurationOf, feedStage } from '../../../feed/stage.js';
import { someOf } from '../../../whole.js';
import { bytesUp, dataFolder, openStore } from './store-folder.js';

/** So many that a state has three batches. */
const KEYS = Array.from({ length: 5000 }, (_, index) => `key-${index}`);
const IN_STATE = 1n;
const [A = '', B = '', C = '', D = ''] = KEYS;

/** A state with one byte for every key, a log with three batches, and a log behind it with one. */
async function madeStore(): Promise<string> {
  const folder = await dataFolder();
  const first = await openStore(folder, KEYS, { compactBytes: 1 });
  await first.report(
    'state',
    KEYS.map((key) => [key, IN_STATE]),
  );
  await first.store.close();
  const second = await openStore(folder, KEYS);
  await second.report('a', [[A, 10n]]);
  await second.report('b', [[B, 100n]]);
  await second.report('c', [[C, 1000n]]);
  await second.store.close();
  const third = await openStore(folder, KEYS);
  await third.report('d', [[D, 10_000n]]);
  await third.store.close();
  return folder;
}

const STORE = `counters-${FORMAT}`;

interface Files {
  readonly state: string;
  readonly log: string;
  readonly lastLog: string;
}

async function filesOf(folder: string): Promise<Files> {
  const names = (await readdir(join(folder, STORE))).map((name) => join(folder, STORE, name));
  const logs = names.filter((name) => name.includes('log-')).sort();
  const [state = ''] = names.filter((name) => name.includes('state-'));
  return { state, log: logs.at(-2) ?? '', lastLog: logs.at(-1) ?? '' };
}

/** Changes one bit at this share of the file. */
async function flipBit(path: string, at: (bytes: Buffer) => number): Promise<void> {
  const bytes = await readFile(path);
  const place = at(bytes);
  bytes[place] = (bytes[place] ?? 0) ^ 4;
  await writeFile(path, bytes);
}

/** The counters that come back, of the four keys that were reported and two from the middle of the state. */
const EVERYTHING = { [A]: 11n, [B]: 101n, [C]: 1001n, [D]: 10_001n, 'key-2500': 1n, 'key-4999': 1n };
/** A log has what the keys' counters were then, not what was added. */
const LOGS = { ...EVERYTHING, 'key-2500': 0n, 'key-4999': 0n };

interface Damage {
  readonly what: string;
  readonly spoil: (files: Files) => Promise<unknown>;
  /** A word of the complaint. */
  readonly says: RegExp;
  readonly left: Readonly<Record<string, bigint>>;
}

const DAMAGES: readonly Damage[] = [
  {
    what: 'a state that is cut short',
    spoil: async ({ state }) => truncate(state, Math.floor((await readFile(state)).length / 2)),
    says: /state-\d+ is not whole: its end is missing/,
    left: LOGS,
  },
  {
    what: 'a bit in the middle of the state',
    spoil: ({ state }) => flipBit(state, (bytes) => Math.floor(bytes.length / 2)),
    says: /state-\d+ cannot be read from byte \d+ to \d+/,
    left: { ...EVERYTHING, 'key-2500': 0n },
  },
  {
    what: 'a bit in the first line of the state',
    spoil: ({ state }) => flipBit(state, () => 5),
    says: /state-\d+ does not begin as a state does/,
    left: LOGS,
  },
  {
    what: 'a bit in the middle of a log',
    spoil: ({ log }) => flipBit(log, (bytes) => bytes.indexOf('KWbatch', bytes.indexOf('KWbatch') + 1) + 30),
    says: /log-\d+ cannot be read from byte \d+ to \d+/,
    left: { ...EVERYTHING, [B]: 1n },
  },
  {
    what: 'a log before the last that is cut short',
    spoil: async ({ log }) => truncate(log, (await readFile(log)).lastIndexOf('\nKWbatch')),
    says: /log-\d+ can be read for \d+ of the \d+ bytes that it had/,
    left: { ...EVERYTHING, [C]: 1n },
  },
  {
    what: 'a log that is missing',
    spoil: ({ log }) => rm(log),
    says: /log-\d+ is missing/,
    left: { ...EVERYTHING, [A]: 1n, [B]: 1n, [C]: 1n },
  },
  {
    what: 'a state that is missing',
    spoil: ({ state }) => rm(state),
    says: /state-\d+ is missing/,
    left: LOGS,
  },
  {
    what: 'a foreign file in the place of the state',
    spoil: ({ state }) => writeFile(state, '{"keyway":"something else"}\n'),
    says: /state-\d+ does not begin as a state does/,
    left: LOGS,
  },
  {
    what: 'another log in the place of a log',
    spoil: ({ log, lastLog }) => copyFile(lastLog, log),
    says: /log-\d+ does not begin as a log does/,
    left: { ...EVERYTHING, [A]: 1n, [B]: 1n, [C]: 1n },
  },
];

describe('a damaged store of counters', () => {
  it.each(
    someOf(DAMAGES, 4),
  )('with $what is moved aside with a clear word, and what can be read is served', async (damage) => {
    const folder = await madeStore();
    await damage.spoil(await filesOf(folder));
    await cp(join(folder, STORE), join(folder, 'as-it-was'), { recursive: true });
    const opened = await openStore(folder, KEYS);
    const aside = join(folder, 'damaged-counters-1');
    expect(opened.store.status().movedAside).toBe(aside);
    expect(opened.complaints).toHaveLength(1);
    expect(opened.complaints[0]).toMatch(damage.says);
    expect(opened.complaints[0]).toContain(`is damaged and was moved to ${aside}`);
    const left = Object.fromEntries(Object.keys(EVERYTHING).map((key) => [key, bytesUp(opened, key)]));
    expect(left).toEqual(damage.left);
    for (const name of await readdir(join(folder, 'as-it-was'))) {
      const before = await readFile(join(folder, 'as-it-was', name));
      expect(before.equals(await readFile(join(aside, name))), name).toBe(true);
    }
    await opened.store.close();
    const again = await openStore(folder, KEYS);
    expect([again.store.status().movedAside, again.complaints]).toEqual([null, []]);
    expect(Object.fromEntries(Object.keys(left).map((key) => [key, bytesUp(again, key)]))).toEqual(left);
    expect(again.reports.has('d')).toBe(true);
  });

  it.each([
    ['cut off in its last batch', (bytes: Buffer) => bytes.subarray(0, bytes.length - 3)],
    [
      'followed by what a write left that was interrupted',
      (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('KW')]),
    ],
  ])('is not what a log is that is %s: a warning says that it was never acknowledged', async (_how, torn) => {
    const folder = await madeStore();
    const { lastLog } = await filesOf(folder);
    const whole = await readFile(lastLog);
    await writeFile(lastLog, torn(whole));
    const opened = await openStore(folder, KEYS);
    expect(opened.store.status().movedAside).toBe(null);
    expect(opened.complaints).toEqual([expect.stringMatching(/^the last write of counters was interrupted/)]);
    expect([bytesUp(opened, C), bytesUp(opened, D)]).toEqual([1001n, torn(whole).length < whole.length ? 1n : 10_001n]);
  });

  it('with files that are not its own is sound, and leaves them alone', async () => {
    const folder = await madeStore();
    await writeFile(join(folder, STORE, 'notes.txt'), 'mine');
    const opened = await openStore(folder, KEYS, { compactBytes: 1 });
    expect([opened.store.status().movedAside, bytesUp(opened, D)]).toEqual([null, 10_001n]);
    await opened.report('more', [[A, 1n]]);
    await opened.store.close();
    expect(await readFile(join(folder, STORE, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('damaged twice is moved aside twice, neither copy over the other', async () => {
    const folder = await madeStore();
    const { state } = await filesOf(folder);
    await rm(state);
    await (await openStore(folder, KEYS)).store.close();
    await rm((await filesOf(folder)).state);
    const second = await openStore(folder, KEYS);
    expect((await readdir(folder)).sort()).toEqual([STORE, 'damaged-counters-1'].sort());
    await second.report('more', [[A, 1n]]);
    await second.store.close();
    await flipBit((await filesOf(folder)).state, (bytes) => bytes.length - 30);
    await (await openStore(folder, KEYS)).store.close();
    expect((await readdir(folder)).sort()).toEqual([STORE, 'damaged-counters-1', 'damaged-counters-2'].sort());
  });

  it('is served by Keyway after an error in the log, and both copies can be exported', async () => {
    const stage = await feedStage({ keys: ['a', 'b'] });
    const entry = { bytes_up: 0, bytes_down: 0 };
    for (const key of ['a', 'b', 'a']) {
      await stage.post('/v1/usage', { entries: [{ ...entry, access_key: key, bytes_up: 5 }] });
    }
    await stage.close();
    const data = join(stage.folder, 'server.json.keyway');
    const [log = ''] = (await readdir(join(data, STORE))).map((name) => join(data, STORE, name));
    await flipBit(log, (bytes) => bytes.lastIndexOf('\nKWbatch') - 20);
    const exporting = (...more: readonly string[]) =>
      runHere(['counters', 'export', '--config', 'server.json', ...more], { folder: stage.folder });
    const before = await exporting();
    expect([before.code, before.output]).toEqual([1, '']);
    expect(before.complaints).toContain(`"keyway counters export --from ${join(data, STORE)}"`);
    const later = await feedStage(stage);
    expect(later.lines.join()).toContain('the store of counters is damaged and was moved to');
    const aside = await exporting('--from', join('server.json.keyway', 'damaged-counters-1'));
    expect([aside.code, aside.output]).toEqual([1, expect.stringContaining('"access_key":"a","bytes_up":10,')]);
    expect(aside.complaints).toMatch(/is damaged, and this is what can be read: log-\d+ cannot be read from byte/);
    expect((await exporting()).output).toContain('"access_key":"a","bytes_up":10,');
    const none = await exporting('--from', '.');
    expect([none.code, none.complaints]).toEqual([1, expect.stringContaining('holds no counters')]);
    expect(configurationOf(['a', 'b'])).toBe(await readFile(join(stage.folder, 'server.json'), 'utf8'));
  });
});
