import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { keyDigest } from '../../src/core/key-digest.js';
import { readDocument } from '../../src/document/document.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';

const NAME = 'server-0.3.21.jsonc';
const JSON_BODY = { 'content-type': 'application/json' };
const TOKEN = { authorization: 'Bearer sample-static-token' };

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples', NAME), join(folder, NAME));
});

async function serve(...argv: string[]) {
  const served = await serveHere(['serve', '--config', NAME, '--bind', '127.0.0.1:0', ...argv], { folder });
  return { url: await served.url, log: served.log };
}

async function ask(url: string, init: RequestInit = {}): Promise<{ status: number; data: unknown; error: unknown }> {
  const response = await fetch(url, init);
  const { data, error } = (await response.json()) as { data?: unknown; error?: unknown };
  return { status: response.status, data, error };
}

describe("keyway serve of a new server's file", () => {
  it('gives an old panel and a new one the same keys, and writes theirs to the inbound', async () => {
    const { url } = await serve('--revision', '0.2.46', '--revision', 'current@new');
    const login = await ask(`${url}/panel/api/login`, {
      method: 'POST',
      headers: JSON_BODY,
      body: '{"username":"admin","password":"password"}',
    });
    const session = { authorization: `Bearer ${(login.data as { token: string }).token}` };
    const before = await readFile(join(folder, NAME), 'utf8');
    await ask(`${url}/panel/api/users`, {
      method: 'POST',
      headers: { ...session, ...JSON_BODY },
      body: '{"access_key":"from-the-old","name":"Old"}',
    });
    const listed = await ask(`${url}/new/api/users`, { headers: TOKEN });
    expect(listed.data).toHaveLength(4);
    expect(listed.data).toContainEqual(expect.objectContaining({ access_key: 'from-the-old', name: 'Old' }));
    await ask(`${url}/new/api/users/from-the-old`, { method: 'DELETE', headers: TOKEN });
    expect((await ask(`${url}/panel/api/users`, { headers: session })).data).toHaveLength(3);
    await ask(`${url}/new/api/users`, {
      method: 'POST',
      headers: { ...TOKEN, ...JSON_BODY },
      body: '{"access_key":"n"}',
    });
    expect(await readFile(join(folder, NAME), 'utf8')).toBe(
      before.replace('53687091200 } // 50 GiB', '53687091200 }, // 50 GiB\n        { "key": "n" }'),
    );
    expect((await ask(`${url}/new/api/router/rules`, { headers: TOKEN })).data).toHaveLength(2);
  });

  it('says at start how the root list differs, keys as digests', async () => {
    const { log } = await serve();
    const records = await log();
    const warnings = records.flatMap(({ level, msg }) => (level === 'warn' ? [String(msg)] : []));
    expect(warnings).toContain(`access_keys: 1 key stands only there: ${keyDigest('made-in-the-panel')}`);
    expect(warnings.join('\n')).toContain(keyDigest('0c9e8d7f6a5b4c3d2e1f00112233ff44'));
    expect(warnings.join('\n')).toContain(keyDigest('guest-2026'));
    expect(JSON.stringify(records)).not.toContain('made-in-the-panel');
  });

  it("refuses an old panel's copy", async () => {
    const { url } = await serve();
    const body = '{"mode":"server","access_keys":[],"api":{"enabled":true,"token":"sample-static-token"}}';
    const before = await readFile(join(folder, NAME));
    const { status, error } = await ask(`${url}/panel/api/server/config`, {
      method: 'PUT',
      headers: { ...TOKEN, ...JSON_BODY },
      body,
    });
    expect({ status, error }).toEqual({ status: 400, error: expect.stringContaining('"ostp"') });
    expect(await readFile(join(folder, NAME))).toEqual(before);
    expect(readDocument(before).configuration.keys).toHaveLength(3);
  });
});
