import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KeptRecords, RecordChange, RecordKind } from '../../src/core/kept-records.js';
import type { FileSystemPort } from '../../src/core/ports.js';
import { openRecordsFile, RECORDS_FILE } from '../../src/files/records-file.js';
import { createForgetfulFileSystem, type ForgetfulFileSystem } from '../ports/forgetful-file-system.js';
import { WHOLE } from '../whole.js';

const FOLDER = '/var/lib/keyway/server';
const PATH = `${FOLDER}/${RECORDS_FILE}`;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

async function disk(): Promise<ForgetfulFileSystem> {
  const made = createForgetfulFileSystem();
  await made.port.makeFolder(FOLDER, 0o700);
  await made.port.syncFolder('/var/lib/keyway');
  await made.port.syncFolder('/var/lib');
  await made.port.syncFolder('/var');
  await made.port.syncFolder('/');
  return made;
}

const open = (from: ForgetfulFileSystem) => openRecordsFile({ fileSystem: from.port, folder: FOLDER, log: silent });

const put = (id: string, body: string | null, expected?: string | null): RecordChange => ({
  kind: 'tokens',
  id,
  body,
  ...(expected === undefined ? {} : { expected }),
});

const all = (records: KeptRecords, kind: RecordKind = 'tokens') => Object.fromEntries(records.of(kind));

it('finds again what was put, also several records in one step, in a file that its owner alone reads', async () => {
  const from = await disk();
  const records = await open(from);
  expect(await records.change([put('a', '{"n":18446744073709551615}'), { kind: 'jobs', id: 'a', body: '[]' }])).toBe(
    true,
  );
  await records.change([put('b', '"\u2028 \\" \0"')]);
  await records.change([put('a', null), put('c', '1')]);
  const again = await open(from);
  expect(all(again)).toEqual({ b: '"\u2028 \\" \0"', c: '1' });
  expect(all(again, 'jobs')).toEqual({ a: '[]' });
  expect((await from.port.stat(PATH)).mode).toBe(0o600);
});

it('makes none of several changes where one record is not as expected', async () => {
  const records = await open(await disk());
  expect(await records.change([put('a', '1', null)])).toBe(true);
  expect(await records.change([put('b', '1'), put('a', '2', null)])).toBe(false);
  expect(all(records)).toEqual({ a: '1' });
  const both = await Promise.all([records.change([put('a', '2', '1')]), records.change([put('a', '3', '1')])]);
  expect(both).toEqual([true, false]);
  expect(all(records)).toEqual({ a: '2' });
});

it('tells of each change once, in the turn in which it shows', async () => {
  const records = await open(await disk());
  const told: unknown[] = [];
  records.onChange('tokens', (ids) => told.push([ids, all(records)]));
  await records.change([put('a', '1'), { kind: 'usage', id: 'u', body: '1' }]);
  await records.change([put('a', '1'), { kind: 'usage', id: 'u', body: '2' }]);
  await records.change([put('a', null)]);
  expect(told).toEqual([
    [['a'], { a: '1' }],
    [['a'], {}],
  ]);
});

it('rejects and shows nothing of what could not be written, and writes the file anew with the next', async () => {
  const from = await disk();
  const records = await open(from);
  await records.change([put('a', '1')]);
  for (const call of ['append', 'create'] as const) from.fail(call, 'ENOSPC', undefined, 1);
  await expect(records.change([put('b', '1')])).rejects.toMatchObject({ code: 'saveFailed' });
  expect(all(records)).toEqual({ a: '1' });
  await records.change([put('c', '1')]);
  expect(all(await open(from))).toEqual({ a: '1', c: '1' });
});

it('writes the file anew where somebody has removed it', async () => {
  const from = await disk();
  const records = await open(from);
  await records.change([put('a', '1')]);
  from.unlink(PATH);
  await records.change([put('b', '1')]);
  expect(all(await open(from))).toEqual({ a: '1', b: '1' });
});

it('writes the file anew once far more was appended than counts', async () => {
  const from = await disk();
  const records = await open(from);
  const body = JSON.stringify('x'.repeat(10_000));
  for (let count = 0; count < 100; count += 1)
    await records.change([put(`${count % 2}`, body.replace('x', `${count}`))]);
  expect((await from.port.stat(PATH)).size).toBeLessThan(400_000n);
  expect(all(await open(from))).toEqual(all(records));
});

it('passes over a line that is torn, and over what is no record', async () => {
  const from = await disk();
  const lines = ['[["tokens","a","1"]]', '[["tokens","b","1"],7,["tokens",8,"1"]]', 'null', '[["tokens","a",nul'];
  from.write(PATH, lines.join('\n'));
  const records = await open(from);
  expect(all(records)).toEqual({ a: '1', b: '1' });
  await records.change([put('c', '1')]);
  expect(all(await open(from))).toEqual({ a: '1', b: '1', c: '1' });
});

/** Puts, one after the other; the power goes, or the process, before a call that changes or syncs something. */
const story = fc.record({
  rounds: fc.array(
    fc.record({
      puts: fc.array(fc.record({ ids: fc.subarray(['a', 'b', 'c'], { minLength: 1 }), goes: fc.boolean() }), {
        minLength: 1,
        maxLength: 5,
      }),
      end: fc.constantFrom('crash', 'kill'),
      call: fc.nat({ max: 20 }),
      failing: fc.option(fc.constantFrom('append', 'sync', 'create', 'rename', 'syncFolder')),
      size: fc.constantFrom(1, 1, 90_000),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  seed: fc.array(fc.nat({ max: 1000 }), { minLength: 1 }),
});

it('has after any end all that was acknowledged, and of each other step all or nothing', async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ rounds, seed }) => {
      const from = await disk();
      let drawn = 0;
      const choose = (below: number) => (seed[drawn++ % seed.length] ?? 0) % below;
      let count = 0;
      /** The bodies that each record may have. */
      const possible = new Map<string, Set<string | null>>(['a', 'b', 'c'].map((id) => [id, new Set([null])]));
      let doubtful: readonly RecordChange[][] = [];
      for (const { puts, end, call, failing, size } of rounds) {
        const records = await open(from);
        const found = all(records);
        for (const [id, bodies] of possible) expect([...bodies], id).toContain(found[id] ?? null);
        // Of a step that was not acknowledged and was not written over, all stands there or nothing.
        for (const changes of doubtful) {
          const there = changes.filter(({ id, body }) => body !== null && found[id] === body).length;
          const puts = changes.filter(({ body }) => body !== null).length;
          expect([0, puts]).toContain(there);
        }
        for (const [id, bodies] of possible) {
          bodies.clear();
          bodies.add(found[id] ?? null);
        }
        doubtful = [];
        let calls = 0;
        let isOver = false;
        const stop = () => {
          isOver = true;
          if (end === 'crash') from.crash(choose);
          else from.kill();
        };
        from.before(() => {
          calls += 1;
          if (calls === call + 1 && !isOver) stop();
        });
        if (failing !== null) from.fail(failing, 'EIO', undefined, 2);
        for (const { ids, goes } of puts) {
          if (isOver) break;
          count += 1;
          const changes = ids.map((id) => put(id, goes ? null : JSON.stringify(`${count}`.padEnd(size))));
          const isMade = await records.change(changes).catch(() => false);
          for (const { id, body } of changes) {
            if (isMade) possible.set(id, new Set([body]));
            else possible.get(id)?.add(body);
          }
          doubtful = isMade ? [] : [changes];
        }
        from.before(null);
        from.heal();
        if (!isOver) stop();
      }
    }),
    { numRuns: WHOLE ? 150 : 50 },
  );
});

it('writes many long records anew in pieces, and finds them all again', async () => {
  const from = await disk();
  const pieces: number[] = [];
  const port: FileSystemPort = {
    ...from.port,
    create: (path, content, mode, owner) => {
      pieces.push(content.length);
      return from.port.create(path, content, mode, owner);
    },
    append: (path, content) => {
      pieces.push(content.length);
      return from.port.append(path, content);
    },
  };
  const records = await openRecordsFile({ fileSystem: port, folder: FOLDER, log: silent });
  const body = JSON.stringify('x'.repeat(300_000));
  const ids = Array.from({ length: 12 }, (_, index) => `record-${index}`);
  for (const id of ids) await records.change([put(id, body)]);
  expect(Math.max(...pieces)).toBeLessThan(2 ** 21);
  expect(all(await open(from))).toEqual(Object.fromEntries(ids.map((id) => [id, body])));
});
