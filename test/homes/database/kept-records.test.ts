import { expect, it } from 'vitest';
import type { RecordChange } from '../../../src/core/kept-records.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabases, freshDatabase, query } from './database.js';
import { key, openBackend, seesAll } from './gateways.js';

const put = (id: string, body: string | null, expected?: string | null): RecordChange => ({
  kind: 'tokens',
  id,
  body,
  ...(expected === undefined ? {} : { expected }),
});

describeDatabases('records of Keyway itself', () => {
  it('are found again as they were spelled, and by the other gateways within a second', async () => {
    const url = await freshDatabase();
    const [one, other] = [await openBackend(url), await openBackend(url)];
    const told: unknown[] = [];
    other.records.onChange('tokens', (ids) => told.push(...ids));
    const body = '{"n":18446744073709551615,  "t":"\\u0000 \' \\\\ \u2028"}';
    expect(await one.records.change([put('a', body), { kind: 'jobs', id: 'a', body: '[]' }])).toBe(true);
    expect(one.records.of('tokens').get('a')).toBe(body);
    await expect.poll(() => other.records.of('tokens').get('a')).toBe(body);
    await one.records.change([put('a', null), put('b', '1')]);
    expect([...one.records.of('tokens')]).toEqual([['b', '1']]);
    await expect.poll(() => [...other.records.of('tokens')]).toEqual([['b', '1']]);
    expect(told).toEqual(['a', 'a', 'b']);
    const third = await openBackend(url);
    expect([...third.records.of('tokens')]).toEqual([['b', '1']]);
    expect([...third.records.of('jobs')]).toEqual([['a', '[]']]);
  });

  it('change all or none, and of two gateways that expect the same one alone changes them', async () => {
    const url = await freshDatabase();
    const [one, other] = [await openBackend(url), await openBackend(url)];
    const made = await Promise.all([one, other].map(({ records }) => records.change([put('a', '1', null)])));
    expect(made.toSorted()).toEqual([false, true]);
    expect(await other.records.change([put('b', '1'), put('a', '2', '3')])).toBe(false);
    expect(other.records.of('tokens').has('b')).toBe(false);
    expect(await other.records.change([put('b', '1'), put('a', '2', '1')])).toBe(true);
    expect(await one.records.change([put('a', null, '2')])).toBe(true);
    expect(await one.records.change([put('a', null, null)])).toBe(true);
  });

  it('are all read anew where the database has lost what was seen', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    await backend.records.change([put('a', '1'), put('b', '1')]);
    await query(url, "delete from keyway.kept_records where id = 'b'");
    await query(url, "update keyway.operations set id = gen_random_uuid() where head = 'state'");
    await expect.poll(() => [...backend.records.of('tokens')]).toEqual([['a', '1']]);
  });

  it('leave nothing once they were removed and every gateway has had the time to see it', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    await backend.records.change([put('a', '1'), put('b', '1')]);
    await backend.records.change([put('a', null)]);
    await createKey(backend, key('later'));
    await seesAll(backend);
    await query(url, "update keyway.operations set at = at - interval '2 hours'");
    await query(url, "select keyway.forget(10, interval '1 day')");
    expect(await query(url, 'select id from keyway.kept_records')).toEqual([{ id: 'b' }]);
  });

  it('do not change while the database takes no writes', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    await query(url, 'drop function keyway.change_records');
    await expect(backend.records.change([put('a', '1')])).rejects.toMatchObject({ code: 'saveFailed' });
    expect(backend.records.of('tokens').size).toBe(0);
  });
});
