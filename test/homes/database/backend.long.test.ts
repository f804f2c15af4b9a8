import { expect, it } from 'vitest';
import { describeDatabase, freshDatabase } from './database.js';
import { openBackend, seesAll } from './gateways.js';

describeDatabase('two gateways over one database', () => {
  it('read everything anew where more has changed than is read key by key', async () => {
    const url = await freshDatabase();
    const [one, other] = [await openBackend(url), await openBackend(url)];
    const keys = Array.from({ length: 50_001 }, (_, n) => `key-${n}`);
    await one.document.put(Buffer.from(JSON.stringify({ mode: 'server', access_keys: keys })));
    await seesAll(other);
    expect([one.keys.size, other.keys.size]).toEqual([50_001, 50_001]);
    expect([one.status().reloads, other.status().reloads]).toEqual([1, 1]);
  });
});
