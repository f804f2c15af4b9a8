import { expect, it } from 'vitest';
import { allJobs, jobIn } from '../../../src/own-api/job-records.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { ownStage } from '../../own-api/stage.js';
import { describeDatabase, freshDatabase } from './database.js';
import { startProxy } from './proxy.js';

/** Milliseconds for which a holder of the lease may say nothing. */
const LEASE = 10_000;

describeDatabase('a batch over a database', () => {
  it('of a gateway that is gone in the middle of it is taken over by another one once the lease is over, and each item is done once', async () => {
    const url = await freshDatabase();
    const proxy = await startProxy(url);
    const first = await ownStage({ database: { url: proxy.url } });
    const ahead = { milliseconds: 0 };
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead.milliseconds };
    const second = await ownStage({ database: { url }, clock });
    const { records } = second.app.keyway.home.backend;
    // The first is cut off for good with the first of its work, before the second one sees that.
    first.app.keyway.home.backend.records.onChange('jobs', (ids) => {
      if (ids.some((id) => id.startsWith('out/'))) proxy.refuse(true);
    });
    const items = Array.from({ length: 10_000 }, (_, n) => ({ op: 'create', access_key: `key-${n}` }));
    const begun = await first.call('POST /keys/batch', { body: { items } });
    expect(begun.status).toBe(202);
    const path = `GET /jobs/${Object(begun.body).data.id}?limit=1`;
    const seen = async () => Object((await second.call(path)).body).data;
    await expect.poll(async () => Number((await seen()).done), { timeout: 60_000 }).toBeGreaterThan(0);
    expect(await seen()).toMatchObject({ state: 'running' });
    ahead.milliseconds += LEASE;
    await expect.poll(async () => (await seen()).state, { timeout: 60_000 }).toBe('done');
    expect(await seen()).toMatchObject({ total: 10_000n, done: 10_000n, failed: 0n });
    expect(second.app.keyway.core.keys.size).toBe(10_000);
    // The end of a job is put into the audit list behind its last state.
    const [job] = allJobs(records);
    await expect.poll(() => jobIn(records, job?.id ?? '')?.isTold).toBe(true);
    const entries = await second.app.keyway.core.audit.list();
    expect(entries.filter(({ eventEn }) => eventEn.startsWith('Batch '))).toHaveLength(1);
  }, 180_000);
});
