import { expect, it, vi } from 'vitest';
import type { AccessKey } from '../../src/core/model.js';
import { describeDatabase, freshDatabase } from './database.js';
import { key, openBackend } from './gateways.js';

// One row, as whoever adds a column would write it; the database is made with it.
vi.mock('../../src/core/keys/key-fields.js', async (original) => {
  const { KEY_FIELDS } = await original<typeof import('../../src/core/keys/key-fields.js')>();
  return { KEY_FIELDS: { ...KEY_FIELDS, madeUp: { kind: 'u64', member: 'made_up', noted: 'made_up' } } };
});

/** A record with the made-up column, of which the types say nothing. */
const made = (accessKey: string, madeUp: bigint | null): AccessKey => Object.assign(key(accessKey), { madeUp });

describeDatabase('a made-up column', () => {
  it('is kept by a database, told to other gateways, and in the configuration that is read and put', async () => {
    const url = await freshDatabase();
    const [one, other] = [await openBackend(url), await openBackend(url)];
    await one.createKey(made('a', 2n ** 64n - 1n));
    await one.updateKey('a', { limitBytes: 5n });
    expect(one.keys.get('a')).toMatchObject({ madeUp: 2n ** 64n - 1n, limitBytes: 5n });
    await expect.poll(() => other.keys.get('a')).toMatchObject({ madeUp: 2n ** 64n - 1n, limitBytes: 5n });
    await one.updateKey('a', Object.assign({ limitBytes: 5n }, { madeUp: 7n }));
    await expect.poll(() => other.keys.get('a')).toMatchObject({ madeUp: 7n });
    const text = (await other.document.text()).toString();
    expect(JSON.parse(text).access_keys).toEqual([{ access_key: 'a', limit_bytes: 5, made_up: 7 }]);
    await other.document.replace(Buffer.from(text.replace(/("made_up": *)7/, '$18')));
    await expect.poll(() => one.keys.get('a')).toMatchObject({ madeUp: 8n, limitBytes: 5n });
    await one.close();
    const again = await openBackend(url);
    expect(again.keys.get('a')).toMatchObject({ madeUp: 8n, limitBytes: 5n });
  });
});
