import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { REMEMBERED_REPORTS } from '../../../src/core/backend.js';
import { recordOf } from '../../../src/core/keys/key-record.js';
import type { KeptCounters } from '../../../src/core/keys/types.js';
import type { Steps } from '../../../src/core/steps.js';
import { readDocument } from '../../../src/document/document.js';
import { arraysOfSteps } from '../../../src/homes/database/key-columns.js';
import { configurationProblem } from '../../../src/homes/database/limits.js';
import { text } from '../../../src/homes/database/literals.js';
import { exportState, importState } from '../../../src/homes/database/transfer.js';
import { systemClock, systemRandom } from '../../../src/platform/system-ports.js';
import { WHOLE } from '../../whole.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { openBackend, seesAll } from './gateways.js';

const progress = { show() {}, clear() {} };

/** Waits, in a thread of its own, until the database has no transaction that has begun. */
const UNTIL_NOTHING_BEGUN = `
  const { workerData: { url, isUndone } } = require('node:worker_threads');
  const pg = require('pg');
  (async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const begun = "select from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()";
    while ((await client.query(begun)).rowCount > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await client.end();
    Atomics.store(isUndone, 0, 1);
    Atomics.notify(isUndone, 0);
  })();
`;
const counters = (accessKey: string, bytes: bigint): KeptCounters => ({
  ...{ accessKey, bytesUp: bytes, bytesDown: bytes, connections: 0n, createdAt: 5, leftAt: null },
});
const configurationOf = (keys: readonly string[]) => Buffer.from(JSON.stringify({ mode: 'server', access_keys: keys }));

describeDatabase('an import', () => {
  async function taken(
    url: string,
    keys: readonly string[],
    counted: Iterable<KeptCounters>,
    standing = 10_000,
    clock = systemClock,
  ) {
    const state = { configuration: configurationOf(keys), counters: counted, reports: [], records: [] };
    const given = {
      url,
      replaces: true,
      refused: () => {},
      clock,
      random: systemRandom,
      progress,
      standing,
    };
    return importState(state, given);
  }

  it('leaves out what the database cannot hold of keys that are gone, and remembered reports', async () => {
    const url = await freshDatabase();
    const unfit = ['gone\0', randomBytes(1500).toString('hex')];
    const names = [...unfit, 'gone'];
    await importState(
      {
        configuration: configurationOf(['a']),
        counters: ['a', ...names].map((name) => counters(name, 1n)),
        reports: ['r\0', 'r'],
        records: names.map((id) => ({ kind: 'notes', id, body: '"n"' })),
      },
      { url, replaces: true, refused: () => {}, clock: systemClock, random: systemRandom, progress },
    );
    const counts = ['counters', 'reports', 'kept_records'].map(
      (table) => `(select count(*)::int from keyway.${table})`,
    );
    expect(await query(url, `select array[${counts}] as counts`)).toEqual([{ counts: [2, 1, 1] }]);
  });

  it('brings the note of a key, also where one was removed a moment before', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    await backend.records.change([{ kind: 'notes', id: 'a', body: '"before"' }]);
    await backend.records.change([{ kind: 'notes', id: 'a', body: null }]);
    const records = [{ kind: 'notes', id: 'a', body: '"taken"' }] as const;
    await importState(
      { configuration: configurationOf(['a']), counters: [], reports: [], records },
      { url, replaces: true, refused: () => {}, clock: systemClock, random: systemRandom, progress },
    );
    await seesAll(backend);
    expect([...backend.records.of('notes')]).toEqual([['a', '"taken"']]);
  });

  it('brings no token back that was removed a moment before', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    const token = { kind: 'tokens', id: 't' } as const;
    await backend.records.change([{ ...token, body: '"before"' }]);
    await backend.records.change([{ ...token, body: null }]);
    const records = [{ ...token, body: '"taken"' }];
    const imported = await importState(
      { configuration: configurationOf(['a']), counters: [], reports: [], records },
      { url, replaces: true, refused: () => {}, clock: systemClock, random: systemRandom, progress },
    );
    expect(imported).toMatchObject({ tokens: 0, present: ['t'] });
    await seesAll(backend);
    expect([...backend.records.of('tokens')]).toEqual([]);
  });

  if (WHOLE)
    it('of more keys than a message takes has them in their order, whatever stood there, each with its own counters', async () => {
      const url = await freshDatabase();
      const gateway = await openBackend(url);
      const keys = Array.from({ length: 40_003 }, (_, n) => `k${n}`);
      await gateway.document.put(configurationOf(['k40001', 'other', 'k7']));
      expect(await taken(url, keys, [counters('k7', 7n), counters('k40001', 9n), counters('gone', 3n)])).toMatchObject({
        keys: 40_003,
      });
      await seesAll(gateway);
      const shown = [...gateway.keys.ordered()].map(({ accessKey, counters: own }) => [accessKey, own?.bytesUp]);
      expect(shown).toHaveLength(40_003);
      expect(shown.filter(([, bytes]) => bytes !== 0n)).toEqual([
        ['k40001', 9n],
        ['k7', 7n],
      ]);
      expect([...gateway.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(keys);
      expect((await gateway.document.text()).equals(configurationOf(keys))).toBe(true);
      const left = await query(
        url,
        "select bytes_up from keyway.counters where access_key = 'gone' and left_at is not null",
      );
      expect(left).toEqual([{ bytes_up: '3' }]);
    });

  it('that stood still says that this is why the database undid it, and leaves what was there', async () => {
    const url = await freshDatabase();
    const gateway = await openBackend(url);
    await gateway.document.put(configurationOf(['before']));
    const isUndone = new Int32Array(new SharedArrayBuffer(4));
    function* late(): Generator<KeptCounters> {
      // As a process that is stopped, until the database has undone the import: nothing of it runs.
      const watcher = new Worker(UNTIL_NOTHING_BEGUN, { eval: true, workerData: { url, isUndone } });
      Atomics.wait(isUndone, 0, 0);
      void watcher.terminate();
      yield counters('a', 1n);
    }
    // As a process that read the database's answer late: it counts less than the database does.
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() / 2 };
    await expect(taken(url, ['a'], late(), 500, clock)).rejects.toThrow(
      /it stood still for \d+(?:\.\d)? seconds, and the database undoes an import that stands still for 0\.5 seconds/,
    );
    const again = await openBackend(url);
    expect([...again.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['before']);
  });
});

describeDatabase('an export', () => {
  it('holds no more counters at once than it is asked for, and the newest reports that a file can remember', async () => {
    const url = await freshDatabase();
    await (await openBackend(url)).close();
    await query(
      url,
      `insert into keyway.counters (access_key, incarnation, number, present, bytes_up, bytes_down, created_at)
        select 'k' || n, 0, 0, true, n, 0, now() from generate_series(1, 12000) n`,
    );
    await query(
      url,
      `insert into keyway.reports (id) select 'r' || n from generate_series(1, ${REMEMBERED_REPORTS + 2}) n`,
    );
    const read: string[] = [];
    const told = { show: (what: string) => read.push(what), clear() {} };
    await exportState({ url, refused: () => {}, progress: told }, async ({ counters: all, reports }) => {
      expect([reports.length, reports[0], reports.at(-1)]).toEqual([
        REMEMBERED_REPORTS,
        'r3',
        `r${REMEMBERED_REPORTS + 2}`,
      ]);
      let count = 0;
      for await (const _ of all) {
        count += 1;
        // What was read before the first of them was taken is one part of them.
        if (count === 1) expect(read).not.toContainEqual(expect.stringContaining('counters read'));
      }
      expect(count).toBe(12_000);
    });
    expect(read.filter((what) => what.includes('counters read'))).toHaveLength(3);
  });
});

describe('a text in a statement', () => {
  it('is quoted as the driver quotes it, whatever stands in it', () => {
    const signs = fc.string({ unit: fc.constantFrom("'", '\\', '"', 'a', 'ю', '\n', '$1') });
    fc.assert(
      fc.property(signs, (value) => {
        expect(text(value)).toBe(pg.escapeLiteral(value));
      }),
    );
  });
});

describe('a configuration of many keys', () => {
  const keys = Array.from({ length: 20_001 }, (_, n) =>
    recordOf(`k${n}`, { name: n % 2 === 0 ? 'a "b", \\ \'c\'' : null }),
  );

  it('is looked through for what the database cannot hold some thousand keys at a time', () => {
    const { configuration } = readDocument(configurationOf([]));
    const steps = configurationProblem({ ...configuration, keys: [...keys, recordOf('last', { name: '\0' })] });
    expect([...endOf(steps)]).toEqual([4, 'name: expected a text without U+0000']);
  });

  it('becomes arrays of a statement some thousand keys at a time', () => {
    const [yields, arrays] = endOf(arraysOfSteps(keys));
    expect(yields).toBe(arrays.length * 4);
    const elements = keys.map(({ name }) => (name === null ? 'NULL' : '"a \\"b\\", \\\\ \'c\'"'));
    const [, names] = arrays;
    expect(names).toBe(`${pg.escapeLiteral(`{${elements.join(',')}}`)}::text[]`);
  });
});

/** The number of pauses, and the result. */
function endOf<Result>(steps: Steps<Result>): [number, Result] {
  for (let count = 0; ; count += 1) {
    const { done, value } = steps.next();
    if (done === true) return [count, value];
  }
}
