import { expect, it, vi } from 'vitest';
import { FILE_LIMITS } from '../../../src/core/file-limits.js';
import type { AccessKey } from '../../../src/core/model.js';
import { readDocument } from '../../../src/document/document.js';
import { createMemoryFiles } from '../../../src/platform/memory-files.js';
import { runHere } from '../../commands/context.js';
import { createKey, updateKey } from '../../ports/key-changes.js';
import { bareDatabase, describeDatabase } from './database.js';
import { key, openBackend } from './gateways.js';

// One row, as whoever adds a column would write it; the database is made with it.
vi.mock('../../../src/core/keys/key-fields.js', async (original) => {
  const { KEY_FIELDS } = await original<typeof import('../../../src/core/keys/key-fields.js')>();
  return { KEY_FIELDS: { ...KEY_FIELDS, madeUp: { kind: 'u64', member: 'made_up', noted: 'made_up' } } };
});

/** A record with the made-up column, of which the types say nothing. */
const made = (accessKey: string, madeUp: bigint | null): AccessKey => Object.assign(key(accessKey), { madeUp });

describeDatabase('a made-up column', () => {
  it('is kept by a database, told to other gateways, and in the configuration that is read and put', async () => {
    const url = await bareDatabase();
    const [one, other] = [await openBackend(url), await openBackend(url)];
    await createKey(one, made('a', 2n ** 64n - 1n));
    await updateKey(one, 'a', { limitBytes: 5n });
    expect(one.keys.get('a')).toMatchObject({ madeUp: 2n ** 64n - 1n, limitBytes: 5n });
    await expect.poll(() => other.keys.get('a')).toMatchObject({ madeUp: 2n ** 64n - 1n, limitBytes: 5n });
    await updateKey(one, 'a', Object.assign({ limitBytes: 5n }, { madeUp: 7n }));
    await expect.poll(() => other.keys.get('a')).toMatchObject({ madeUp: 7n });
    const text = (await other.document.text()).toString();
    expect(JSON.parse(text).access_keys).toEqual([{ access_key: 'a', limit_bytes: 5, made_up: 7 }]);
    await other.document.replace(Buffer.from(text.replace(/("made_up": *)7/, '$18')));
    await expect.poll(() => one.keys.get('a')).toMatchObject({ madeUp: 8n, limitBytes: 5n });
    await one.close();
    const again = await openBackend(url);
    expect(again.keys.get('a')).toMatchObject({ madeUp: 8n, limitBytes: 5n });
  });

  it('comes into a database with the import of a file, and out of it with an export', async () => {
    const url = await bareDatabase();
    const fileSystem = createMemoryFiles();
    await fileSystem.makeFolder('/etc', 0o700);
    const text = '{"mode":"server","access_keys":["b",{"access_key":"a","made_up":18446744073709551615}]}';
    await fileSystem.create('/etc/in.jsonc', Buffer.from(text), 0o600);
    const run = (command: string, config: string) =>
      runHere(['database', command, '--config', config], { fileSystem, environment: { KEYWAY_DATABASE_URL: url } });
    await (await openBackend(url)).close();
    expect(await run('import', '/etc/in.jsonc')).toMatchObject({ complaints: '', code: 0 });
    const backend = await openBackend(url);
    expect([...backend.keys.entries()]).toMatchObject([made('b', null), made('a', 2n ** 64n - 1n)]);
    await updateKey(backend, 'b', Object.assign({ limitBytes: null }, { madeUp: 3n }));
    await backend.close();
    expect(await run('export', '/etc/out.jsonc')).toMatchObject({ complaints: '', code: 0 });
    const exported = await fileSystem.read('/etc/out.jsonc', FILE_LIMITS.configuration);
    expect(readDocument(exported).configuration.keys).toEqual([made('b', 3n), made('a', 2n ** 64n - 1n)]);
  });
});
