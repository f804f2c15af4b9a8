import { expect, it } from 'vitest';
import { ownStage } from '../../own-api/stage.js';
import { describeDatabases, freshDatabase } from './database.js';

async function twoGateways() {
  const options = { database: { url: await freshDatabase() }, loginGuard: { failures: 5, window: 300_000 } };
  return Promise.all([ownStage(options), ownStage(options)]);
}

const dataOf = ({ body }: { readonly body: unknown }) => (body as { readonly data: unknown }).data;

describeDatabases('one caller of several gateways', () => {
  it('is let in by tokens that another gateway has just made, however many at once, and wrong ones wait as ever', async () => {
    const [one, other] = await twoGateways();
    const show = (token: string) => other.call('GET /keys', { headers: { authorization: `Bearer ${token}` } });
    const tokens: string[] = [];
    const statuses: number[] = [];
    for (let made = 0; made < 60; made += 1) {
      const { token } = dataOf(await one.call('POST /tokens', { body: { name: `t${made}`, may: 'relay' } })) as {
        readonly token: string;
      };
      tokens.push(token);
      statuses.push((await show(token)).status);
    }
    expect(statuses).toEqual(Array(60).fill(200));
    const wrong = await Promise.all(Array.from({ length: 20 }, (_, n) => show(`kw_${String(n).padStart(43, 'x')}`)));
    expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([401]));
    expect((await show(`kw_${'y'.repeat(43)}`)).headers['retry-after']).toBeDefined();
    // It was let in with this one.
    expect((await show(tokens.at(-1) ?? '')).status).toBe(200);
  });

  it('goes on with events at another gateway, which may not have heard of them yet', async () => {
    const [one, other] = await twoGateways();
    let cursor = (dataOf(await one.call('GET /events')) as { readonly cursor: string }).cursor;
    for (let round = 0; round < 10; round += 1) {
      await one.call('POST /keys/batch?wait=30', { body: { items: [{ op: 'create' }] } });
      const waited = await one.call(`GET /events?since=${cursor}&wait=30`);
      const next = dataOf(waited) as { readonly cursor: string; readonly whole: boolean };
      expect(next.whole).toBe(false);
      cursor = next.cursor;
      expect(dataOf(await other.call(`GET /events?since=${cursor}`))).toMatchObject({ whole: false });
    }
    expect(dataOf(await other.call('GET /events?since=9999999999999-00000000'))).toMatchObject({ whole: true });
  });
});
