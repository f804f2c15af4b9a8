import { expect, it } from 'vitest';
import { LocalRecords } from '../../src/core/kept-records.js';
import { OperationUse, programOf } from '../../src/core/operation-use.js';

function stage(start = Date.UTC(2026, 10, 23, 23, 58)) {
  const time = { now: start };
  const clock = { now: () => time.now, monotonic: () => time.now };
  const records = new LocalRecords();
  return { time, clock, records, use: new OperationUse({ records, clock }) };
}

const relay = { name: 'relay-eu' };

it('counts by caller, program, revision, operation and day, and knows what was counted before', async () => {
  const { time, clock, records, use } = stage();
  const list = use.counting('dns', 'listUsers');
  list(relay, 'curl/8.5.0');
  list(relay, 'curl/8.5.0');
  list(relay, 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36');
  await use.write();
  time.now += 180_000;
  list(relay, 'curl/8.5.0');
  use.counting('dns', 'getStatus')(null, 'curl/8.5.0');
  await use.write();
  await use.write();
  const again = new OperationUse({ records, clock });
  const [first, last] = [Date.UTC(2026, 10, 23, 23, 58), time.now];
  const alike = { by: 'relay-eu', revision: 'dns', operation: 'listUsers' };
  expect(again.days(90)).toEqual([
    { ...alike, program: 'curl/8.5.0', day: '2026-11-24', count: 1, lastSeen: last },
    { by: 'open', program: '', revision: 'dns', operation: 'getStatus', day: '2026-11-24', count: 1, lastSeen: last },
    { ...alike, program: 'curl/8.5.0', day: '2026-11-23', count: 2, lastSeen: first },
    { ...alike, program: 'Mozilla/5.0', day: '2026-11-23', count: 1, lastSeen: first },
  ]);
  expect(again.days(1).map(({ day }) => day)).toEqual(['2026-11-24', '2026-11-24']);
  expect(use.totals().map(({ count }) => count)).toEqual([3, 1, 1]);
});

it('adds to what other gateways of the state have counted', async () => {
  const { clock, records, use } = stage();
  const other = new OperationUse({ records, clock });
  for (const each of [use, other]) each.counting('dns', 'listUsers')(relay, 'curl/8');
  await Promise.all([use.write(), other.write()]);
  expect(use.days(1)).toMatchObject([{ count: 2 }]);
});

it('keeps at most 1,000 rows a day, and sums the rest by revision', async () => {
  const { records, clock } = stage();
  const uses = [0, 1].map(() => new OperationUse({ records, clock }));
  for (const [at, use] of uses.entries()) {
    const count = use.counting('dns', 'listUsers');
    for (let n = 0; n < 1_500; n += 1) count({ name: `relay-${at}-${n}` }, 'curl/8');
    await use.write();
  }
  const rows = uses[0]?.days(1) ?? [];
  expect(rows.length).toBeLessThanOrEqual(1_000);
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(3_000);
  expect(rows.filter(({ by }) => by === 'others')).toMatchObject([
    { revision: 'dns', operation: 'others', program: '' },
  ]);
  expect(uses[0]?.totals().length).toBeLessThanOrEqual(1_000);
});

it('tells fifty programs of a caller apart, and two hundred of his rows, so that who comes later keeps his own', async () => {
  const { use } = stage();
  for (let operation = 0; operation < 10; operation += 1) {
    const count = use.counting('dns', `operation-${operation}`);
    for (let n = 0; n < 1_000; n += 1) count(relay, `p${n}/1`);
  }
  use.counting('dns', 'listUsers')({ name: 'late' }, 'curl/8.5.0');
  await use.write();
  const rows = use.days(1);
  expect(rows.filter(({ by }) => by === 'late')).toMatchObject([{ program: 'curl/8.5.0', count: 1 }]);
  const own = rows.filter(({ by }) => by === 'relay-eu');
  expect(own.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
  expect(new Set(own.map(({ program }) => program)).size).toBe(51);
  expect(own.length).toBeLessThanOrEqual(220);
});

it('forgets what is older than 90 days', async () => {
  const { time, records, use } = stage();
  use.counting('dns', 'listUsers')(relay, 'curl/8');
  await use.write();
  time.now += 90 * 86_400_000;
  await use.write();
  expect([...records.of('usage')]).toEqual([]);
});

it('counts later what could not be written now', async () => {
  const { clock } = stage();
  let isFull = true;
  const records = new LocalRecords(undefined, async () => {
    if (isFull) throw new Error('full');
  });
  const use = new OperationUse({ records, clock });
  use.counting('dns', 'listUsers')(relay, 'curl/8');
  await use.write();
  expect(use.days(1)).toEqual([]);
  isFull = false;
  await use.write();
  expect(use.days(1)).toMatchObject([{ count: 1 }]);
});

it.each([
  ['curl/8.5.0', 'curl/8.5.0'],
  ['MyBot 2.0 (linux)', 'MyBot/2.0'],
  ['python-requests/2.31.0 extra', 'python-requests/2.31.0'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'Mozilla/5.0'],
  ['bare', 'bare'],
  ['', ''],
  ['10.0.0.1', ''],
  [`${'x'.repeat(300)}/1`, 'x'.repeat(64)],
])('the program of the user agent %j is %j', (userAgent, program) => {
  expect(programOf(userAgent)).toBe(program);
});
