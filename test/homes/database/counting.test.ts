import { expect, it } from 'vitest';
import { Counting, MOST_WAITING } from '../../../src/homes/database/counting.js';
import type { Written } from '../../../src/homes/database/writes.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { silent } from './gateways.js';

const ENTRIES = 1_000;

const COMMITTED: Written = { kind: 'done', operation: '', outcome: 'done', number: 1n, rest: ['0', 't'] };

/** Counting over writes that end when they are told to. */
function stage(clock = systemClock, counted: () => Promise<void> = async () => undefined) {
  const unread: string[] = [];
  const ends: ((written: Written) => void)[] = [];
  const sent: string[] = [];
  const counting = new Counting({
    gateway: '',
    writes: {
      write(statement) {
        sent.push(statement('op'));
        return new Promise((resolve) => ends.push(resolve));
      },
    },
    incarnation: () => 1,
    reloads: () => 0,
    unknownOf: async () => '{}',
    seen: () => ({
      state: 1n,
      stateMark: '',
      counters: 0n,
      countersMark: '',
      connections: 0n,
      connectionsMark: '',
      document: 0n,
    }),
    counted,
    addUnread: (used, number) => unread.push(`${used.length} of ${number}`),
    clock,
    jitter: () => 0,
    log: silent,
  });
  const report = (acknowledgement: 'memory' | 'durable') => {
    const names = Array.from({ length: ENTRIES }, (_, n) => `key-${n}`);
    const entries = names.map((accessKey) => ({ accessKey, bytesUp: 1n, bytesDown: 1n, connections: null }));
    return counting.count({ id: null, entries }, acknowledgement);
  };
  return { counting, ends, report, sent, unread };
}

it('what is acknowledged from memory waits up to 64 MiB, is then refused, and taken again once some of it is committed', async () => {
  const { counting, ends, report } = stage();
  let taken = 0;
  for (; ; taken += 1) {
    const { waitingBytes } = counting.status();
    const outcome = await report('memory').catch((error: unknown) => error);
    if (outcome instanceof Error) {
      expect(outcome).toMatchObject({ code: 'backendAway' });
      expect(counting.status().waitingBytes).toBe(waitingBytes);
      break;
    }
    expect(outcome).toMatchObject({ durability: 'memory', unknownKeys: [] });
  }
  expect(counting.status().waitingBytes).toBeLessThanOrEqual(MOST_WAITING);
  expect(counting.status().waitingBytes).toBeGreaterThan(MOST_WAITING * 0.99);
  expect(taken).toBeGreaterThan(500);
  await expect.poll(() => ends.length).toBe(1);
  ends[0]?.({ kind: 'done', operation: '', outcome: 'done', number: 1n, rest: ['0', 't'] });
  await expect.poll(() => report('memory').catch(() => null)).toMatchObject({ durability: 'memory' });
});

it('a durable report waits for none of those that are acknowledged from memory', async () => {
  const { ends, report } = stage();
  await report('memory');
  await expect.poll(() => ends.length).toBe(1);
  const counted = report('durable');
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.({ kind: 'done', operation: '', outcome: 'done', number: 1n, rest: ['0', 't'] });
  expect(await counted).toEqual({ repeated: false, unknownKeys: [], durability: 'durable' });
});

it('a durable report that has waited for ten seconds behind others is refused at once, and is not sent', async () => {
  let now = 0;
  const { ends, report } = stage({ now: () => now, monotonic: () => now });
  const first = report('durable');
  await expect.poll(() => ends.length).toBe(1);
  const second = report('durable');
  now = 10_000;
  const third = report('durable');
  ends[0]?.({ kind: 'unknown', reason: 'no answer' });
  await expect(first).rejects.toMatchObject({ code: 'outcomeUnknown' });
  await expect(second).rejects.toMatchObject({ code: 'backendAway' });
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.({ kind: 'done', operation: '', outcome: 'done', number: 1n, rest: ['0', 't'] });
  expect(await third).toMatchObject({ durability: 'durable' });
});

it('durable reports wait up to 64 MiB and are then refused', async () => {
  const { ends, report } = stage();
  const refused: unknown[] = [];
  for (let n = 0; n < 700; n += 1) report('durable').catch((error: unknown) => refused.push(error));
  await expect.poll(() => ends.length).toBe(1);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(100);
  expect(refused[0]).toMatchObject({ code: 'backendAway' });
});

const fails = () => Promise.reject(new Error('no answer'));

it('a durable report that is committed and cannot be read back is acknowledged with its own increments', async () => {
  const { ends, report, unread } = stage(systemClock, fails);
  const counted = report('durable');
  await expect.poll(() => ends.length).toBe(1);
  ends[0]?.({ kind: 'done', operation: '', outcome: 'done', number: 7n, rest: [] });
  expect(await counted).toMatchObject({ durability: 'durable', repeated: false });
  expect(unread).toEqual([`${ENTRIES} of 7`]);
});

it('what is acknowledged from memory, committed and cannot be read back shows by the next look: its keys may have been reset', async () => {
  const { counting, ends, report, unread } = stage(systemClock, fails);
  await report('memory');
  await expect.poll(() => ends.length).toBe(1);
  ends[0]?.({ kind: 'done', operation: '', outcome: 'done', number: 7n, rest: [`${ENTRIES}`, 'f'] });
  await counting.close();
  expect(unread).toEqual([]);
});

it('a durable report that was counted before and cannot be read back is not acknowledged', async () => {
  const { counting, ends, unread } = stage(systemClock, fails);
  const counted = counting.count({ id: 'r', entries: [] }, 'durable');
  await expect.poll(() => ends.length).toBe(1);
  ends[0]?.({ kind: 'nothing', reason: '1', sqlState: 'KW002' });
  await expect(counted).rejects.toMatchObject({ code: 'outcomeUnknown' });
  expect(unread).toEqual([]);
});

it.each([
  0n,
  3n,
])('connections are told again after a report that may have been counted, also as they were before it: %i', async (before) => {
  const { counting, ends, sent } = stage();
  const tell = async (connections: bigint, written: Written) => {
    const entry = { accessKey: 'a', bytesUp: 1n, bytesDown: 1n, connections };
    const told = counting.count({ id: null, entries: [entry] }, 'durable').catch(() => undefined);
    const place = sent.length;
    await expect.poll(() => ends.length).toBe(place + 1);
    ends[place]?.(written);
    await told;
    return /E'{([^}]*)}'::numeric\[\]\)$/.exec(sent[place] ?? '')?.[1];
  };
  const told = [
    await tell(before, COMMITTED),
    await tell(5n, { kind: 'unknown', reason: 'no answer' }),
    await tell(before, COMMITTED),
    await tell(before, COMMITTED),
  ];
  expect(told).toEqual([before === 0n ? 'NULL' : '3', '5', `${before}`, 'NULL']);
});

it('reports without an entry wait up to 64 MiB, too, and go in batches of at most as many', async () => {
  const { counting, ends, sent } = stage();
  const tell = (id: string) =>
    counting.count({ id, entries: [] }, 'memory').then(
      () => 'taken',
      () => 'refused',
    );
  for (let n = 0; n < 10_001; n += 1) await tell(`${n}`);
  await expect.poll(() => ends.length).toBe(1);
  const ids = /E'{([^}]*)}'::text\[\]/.exec(sent[0] ?? '')?.[1] ?? '';
  expect(ids.split(',')).toHaveLength(10_000);
  let outcome = 'taken';
  for (let n = 0; n < 700 && outcome === 'taken'; n += 1) outcome = await tell(`${n}-${'x'.repeat(100_000)}`);
  expect(outcome).toBe('refused');
});
