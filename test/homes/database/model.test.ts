import { expect, it } from 'vitest';
import { expectModelled, type Home } from '../../core/backend-model.js';
import { createKey, deleteKey, updateKey } from '../../ports/key-changes.js';
import type { Outside } from '../../ports/memory-backend.js';
import { tries } from '../../tries.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { openBackend, seesAll } from './gateways.js';

const EMPTY = Buffer.from('{ "mode": "server", "access_keys": [], "outbound": { "enabled": true, "rules": [] } }');

describeDatabase('the core over a database that another gateway changes, too', () => {
  it('does what the protocol says of keys and counters', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    const other = await openBackend(url);
    const outside = async (change: Outside): Promise<void> => {
      if ('put' in change) {
        const { accessKey, name, limitBytes } = change.put;
        await updateKey(other, accessKey, { name, limitBytes }).catch(() => createKey(other, change.put));
      } else if ('remove' in change) await deleteKey(other, change.remove).catch(() => undefined);
      await seesAll(backend);
    };
    const open = async (): Promise<Home> => {
      await backend.document.replace(EMPTY);
      await query(url, 'delete from keyway.reports');
      await query(url, 'delete from keyway.counters');
      return { backend, outside, leave: async () => undefined };
    };
    await expectModelled(open, tries(10));
    expect(backend.status().failure).toBe(null);
  });
});
