import { expect, it } from 'vitest';
import type { KeptCounters } from '../../../src/core/keys/types.js';
import { MAX_U64 } from '../../../src/core/model.js';
import { forget } from '../../../src/homes/database/statements.js';
import { exportState } from '../../../src/homes/database/transfer.js';
import { createKey, resetKey } from '../../ports/key-changes.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { key, openBackend, report } from './gateways.js';
import { proxyForTest } from './proxy.js';

/** Nobody looks but for what somebody asks. */
const STILL = { pollMilliseconds: 600_000, listens: false };
const NOBODY = { ...report('again', 'a', 0n), entries: [] };

/** One whose looks are asked for, and another that has told of three connections, both with the key `a`. */
async function stage() {
  const url = await freshDatabase();
  const [one, other] = [await openBackend(url, STILL), await openBackend(url, STILL)];
  await createKey(one, key('a'));
  await one.count(NOBODY, 'durable');
  await other.count(report(null, 'a', 1n, 3n), 'durable');
  /** A report that was counted before is answered once all shows. */
  const look = () => one.count(NOBODY, 'durable');
  const connections = () => one.keys.get('a')?.counters?.connections;
  await look();
  expect(connections()).toBe(3n);
  return { url, one, other, look, connections };
}

/** As if nobody had heard of any gateway for so long. */
const age = (url: string, minutes: number) =>
  query(url, `update keyway.gateways set seen_at = seen_at - interval '${minutes} minutes'`);

/** As if so much time had gone by. */
const ageBatches = (url: string) => query(url, "update keyway.batches set at = at - interval '10 minutes'");

describeDatabase('the sum of connections', () => {
  it('stops at 2^64-1, also in an export', async () => {
    const { url, one, other, look, connections } = await stage();
    for (const each of [one, other]) await each.count(report(null, 'a', 1n, MAX_U64), 'durable');
    await look();
    expect(connections()).toBe(MAX_U64);
    const progress = { show() {}, clear() {} };
    const counters: KeptCounters[] = [];
    await exportState({ url, refused: () => {}, progress }, async (state) => {
      for await (const kept of state.counters) counters.push(kept);
    });
    expect(counters).toMatchObject([{ accessKey: 'a', connections: MAX_U64 }]);
  });

  it('is without those of a gateway that has ended, also where another tidies up before one looks', async () => {
    const { url, other, look, connections } = await stage();
    await other.close();
    await query(url, forget(100, 0));
    await look();
    expect(connections()).toBe(0n);
  });

  it('is without those of a gateway that ended while one stood still until it was forgotten', async () => {
    const { url, look, connections } = await stage();
    await age(url, 11);
    await query(url, forget(100, 0));
    await look();
    expect(connections()).toBe(0n);
  });

  it('is without those of a gateway that ended while one stood still until all was forgotten', async () => {
    const { url, one, look, connections } = await stage();
    await age(url, 11);
    const third = await openBackend(url, STILL);
    await third.count(report(null, 'a', 1n), 'durable');
    await ageBatches(url);
    await third.count(report(null, 'a', 1n), 'durable');
    await query(url, forget(100, 0));
    await look();
    expect(one.status().reloads).toBe(1);
    expect(connections()).toBe(0n);
  });

  it('has what is told again by a gateway that was forgotten, though it is the same', async () => {
    const { url, one, other, look, connections } = await stage();
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    await age(url, 11);
    await query(url, forget(100, 0));
    for (const each of [one, other]) {
      await each.count(report(null, 'a', 1n), 'durable');
      await each.count(NOBODY, 'durable');
    }
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    await other.count(report(null, 'a', 1n, 3n), 'durable');
    await look();
    expect(connections()).toBe(7n);
  });

  it('has what is told again by a gateway that was forgotten once it had fallen silent, though it is the same', async () => {
    const { url, one, look, connections } = await stage();
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    await look();
    await age(url, 2);
    await look();
    expect(connections()).toBe(0n);
    await age(url, 11);
    await query(url, forget(100, 0));
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    await look();
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    expect(connections()).toBe(4n);
  });

  it('has what is told again by a gateway that was forgotten and had read nothing but its own reports', async () => {
    const url = await freshDatabase();
    const one = await openBackend(url, { ...STILL, pollMilliseconds: 10 });
    await createKey(one, key('a'));
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    const { looks } = one.status();
    await expect.poll(() => one.status().looks).toBeGreaterThan(looks + 2);
    await age(url, 11);
    await query(url, forget(100, 0));
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    await expect.poll(() => one.status().reloads).toBeGreaterThan(0);
    await one.count(report(null, 'a', 1n, 4n), 'durable');
    const other = await openBackend(url, STILL);
    expect(other.keys.get('a')?.counters?.connections).toBe(4n);
  });

  it('has what is told again after a fail-over that lost it, though it is the same, also zero', async () => {
    const { url, one, look, connections } = await stage();
    const told = (value: bigint) => one.count(report(null, 'a', 1n, value), 'durable');
    const loseLast = async (value: bigint) => {
      await query(
        url,
        "delete from keyway.batches where number in (select number from keyway.heads where name = 'counters')",
      );
      await query(url, "update keyway.heads set number = number - 1 where name = 'counters'");
      await query(
        url,
        'delete from keyway.operations where number > (select number from keyway.heads where name = head)',
      );
      await query(url, `update keyway.connections set value = ${value} where value <> 3`);
      await look();
    };
    await told(1n);
    await told(4n);
    await loseLast(1n);
    expect(connections()).toBe(4n);
    await told(4n);
    expect(connections()).toBe(7n);
    await told(0n);
    await loseLast(4n);
    expect(connections()).toBe(7n);
    await told(0n);
    expect(connections()).toBe(3n);
  });

  it('has what is told again of a key that was reset before the answer came', async () => {
    const { url, other, look, connections } = await stage();
    const proxy = await proxyForTest(url);
    const third = await openBackend(proxy.url, STILL);
    proxy.standAround('count_usage', 'answer');
    const told = third.count(report(null, 'a', 1n, 4n), 'durable');
    await expect.poll(() => proxy.isStanding()).toBe(true);
    await expect.poll(async () => (await query(url, 'select from keyway.connections where value = 4')).length).toBe(1);
    await resetKey(other, 'a');
    await third.live?.key('nobody');
    proxy.goOn();
    await told;
    await third.count(report(null, 'a', 1n, 4n), 'durable');
    await look();
    expect(connections()).toBe(4n);
  });
});
