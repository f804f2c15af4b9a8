import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isPbkdf2Password, sha256Hash } from '../../src/core/password.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';
import { runHere } from './context.js';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'keyway.jsonc'));
});

const file = (name = 'keyway.jsonc') => readFile(join(folder, name), 'utf8');
const set = (secrets: readonly (string | null)[], argv: readonly string[] = []) =>
  runHere(['set-password', ...argv], { folder, terminal: true, secrets });

describe('keyway set-password', () => {
  it.each([
    'server.jsonc',
    'server-0.3.21.jsonc',
  ])('writes the hash into %s, and nothing else of it changes', async (sample) => {
    await copyFile(join(ROOT, 'fixtures/samples', sample), join(folder, 'keyway.jsonc'));
    const before = await file();
    const { code, output, complaints } = await set(['a new one', 'a new one']);
    expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
    expect(output).toContain('every session has ended');
    expect(await file()).toBe(
      before.replace(/"password_hash": "[0-9a-f]{64}"/, `"password_hash": "${sha256Hash('a new one')}"`),
    );
    const kept = await runHere(['config', 'list', '--json'], { folder });
    expect(JSON.parse(kept.output)).toHaveLength(1);
  });

  it('is live at once in a Keyway that serves the file, and ends its sessions', async () => {
    const served = await serveHere(['serve', '--bind', '127.0.0.1:0'], { folder });
    const api = `${await served.url}/panel/api`;
    const login = async (password: string) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ username: 'admin', password });
      const answer = await fetch(`${api}/login`, { method: 'POST', headers, body });
      return ((await answer.json()) as { data?: { token: string } }).data?.token ?? null;
    };
    const session = await login('password');
    const status = async () =>
      (await fetch(`${api}/server/status`, { headers: { authorization: `Bearer ${session}` } })).status;
    expect(await status()).toBe(200);
    expect((await set(['a new one', 'a new one'])).code).toBe(0);
    expect(await status()).toBe(401);
    expect(await login('password')).toBeNull();
    expect(await login('a new one')).toMatch(/./);
  });

  it('lists the devices that have a token of their own, and ends them where that is wanted', async () => {
    const served = await serveHere(['serve', '--bind', '127.0.0.1:0'], { folder });
    const make = async (body: object) => {
      const headers = { authorization: 'Bearer sample-static-token', 'content-type': 'application/json' };
      const url = `${await served.url}/panel/keyway/v1/tokens`;
      expect((await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status).toBe(200);
    };
    await make({ name: 'phone', may: 'all', label: 'Anna’s phone' });
    await make({ name: 'bot', may: 'keys' });
    const change = (line: string) =>
      runHere(['set-password'], { folder, terminal: true, secrets: ['a new one', 'a new one'], lines: [line] });
    const names = async () => (await runHere(['token', 'list', '--json'], { folder })).output.match(/"name": "\w+"/g);
    const kept = await change('');
    expect(kept.output).toContain('  phone  Anna’s phone\nTo end one: keyway token remove NAME\n');
    expect(kept.output).not.toContain('bot');
    expect(await names()).toHaveLength(2);
    expect((await change('y')).output).toContain('Ended: phone\n');
    expect(await names()).toEqual(['"name": "bot"']);
    const piped = await runHere(['set-password'], { folder, piped: 'another\n' });
    expect([piped.code, piped.complaints]).toEqual([0, '']);
    await served.stop();
  });

  it('lists no device whose token has expired', async () => {
    const token = (label: string, expires_at: number) =>
      JSON.stringify({ digest: label, may: 'all', created_at: 0, made_by: 'session', expires_at, label });
    const records = [
      ['tokens', 'old', token('Lost phone', 1_000)],
      ['tokens', 'new', token('Laptop', 32_503_680_000_000)],
    ];
    await set(['one', 'one']);
    await writeFile(join(folder, 'keyway.jsonc.keyway/records.jsonl'), `${JSON.stringify(records)}\n`);
    const { output } = await set(['two', 'two']);
    expect(output).toContain('stay signed in:\n  new  Laptop\n');
    expect(output).not.toContain('Lost phone');
  });

  it('writes the form that the file holds, or that --for asks for', async () => {
    const hashNow = async () => /"password_hash": "([^"]*)"/.exec(await file())?.[1] ?? '';
    expect((await set(['one', 'one'], ['--for', '0.4.7'])).code).toBe(0);
    expect(await isPbkdf2Password('one', await hashNow())).toBe(true);
    expect((await set(['two', 'two'])).code).toBe(0);
    expect(await isPbkdf2Password('two', await hashNow())).toBe(true);
    expect((await set(['two', 'two'], ['--for', '0.4.6'])).code).toBe(0);
    expect(await hashNow()).toBe(sha256Hash('two'));
    expect((await set(['three', 'three'])).code).toBe(0);
    expect(await hashNow()).toBe(sha256Hash('three'));
    expect(await set(['x', 'x'], ['--for', 'someday'])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('--for: '),
    });
  });

  it.each([
    ['two that differ', ['one', 'two'], 'the two passwords differ'],
    ['one broken off', [null], 'broken off'],
    ['an empty one', [''], 'no password was given'],
  ])('of %s changes nothing', async (_name, secrets, words) => {
    const before = await file();
    expect(await set(secrets)).toMatchObject({ code: 1, complaints: expect.stringContaining(words) });
    expect(await file()).toBe(before);
  });

  it('of a file without a username asks for one before it asks for anything else', async () => {
    await writeFile(join(folder, 'keyway.jsonc'), '{"mode": "server", "api": {"enabled": true}}');
    expect((await set([])).complaints).toContain('give it with --username');
    expect((await set(['new', 'new'], ['--username', 'me'])).code).toBe(0);
    expect(JSON.parse(await file())).toMatchObject({ api: { username: 'me', password_hash: sha256Hash('new') } });
    await writeFile(join(folder, 'keyway.jsonc'), '{"mode": "server"}');
    expect((await set([])).complaints).toContain('api: expected an object');
  });
});
