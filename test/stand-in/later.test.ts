import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { apiOf, CREDENTIALS, ROOT_LIST_FILE } from './files.js';
import type { StandIn, StandInOptions } from './stand-in.js';
import { keysOf, standInOf } from './test-stand-in.js';

/** What is known of servers from 0.4.0 on, one fact a test (../shared/lines-0.4.md); 0.4.6 and 0.4.7 were recorded as well. */

const QUIET: Partial<StandInOptions> = { reloadFactor: 0, pauseMilliseconds: 0 };
const LATER = ['0.4.6', '0.4.7'];

async function stage(line: string, text = ROOT_LIST_FILE, options: Partial<StandInOptions> = {}) {
  const folder = await folderForTest();
  const file = join(folder, 'server.jsonc');
  await writeFile(file, text);
  const standIn = await standInOf(line, { ...QUIET, ...options, file }, text);
  return { standIn, folder, file, api: apiOf(standIn) };
}

const send = ({ origin, paths }: StandIn, path: string, init: RequestInit = {}) =>
  fetch(`${origin}${paths.api}${path}`, init);

describe.each(LATER)('a server of %s', (line) => {
  test('starts no API where nobody could sign in, whatever the token is worth', async () => {
    const open = ROOT_LIST_FILE.replace(CREDENTIALS.token, ' ').replace('"admin"', '""');
    await expect(stage(line, open)).rejects.toThrow('the API is not started');
  });

  test('counts live connections, which fall, and of one that a reset forgot nothing', async () => {
    const { standIn, api } = await stage(line);
    const online = async () => ((await api('GET', '/users/alpha')).data as { readonly online: boolean }).online;
    standIn.count('alpha', { connections: 1n });
    expect(await online()).toBe(true);
    standIn.count('alpha', { connections: -1n });
    expect(await online()).toBe(false);
    standIn.count('alpha', { connections: 1n });
    await api('POST', '/users/alpha/reset');
    standIn.count('alpha', { connections: -1n });
    expect(await online()).toBe(false);
  });

  test('drops all keys where the list is missing, and none where an element is odd', async () => {
    const { standIn, file } = await stage(line);
    await writeFile(file, ROOT_LIST_FILE.replace('"alpha"', '5'));
    await standIn.reload();
    expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
    await rm(file);
    await writeFile(file, ROOT_LIST_FILE.replace('"access_keys"', '"other"'));
    await standIn.reload();
    expect(keysOf(standIn)).toEqual([]);
  });

  test('writes DNS settings with a copy of the file before, and replaces all of them', async () => {
    const { api, folder, file } = await stage(line);
    expect((await api('PUT', '/dns/settings', { upstreams: ['tls://9.9.9.9'], enabled: true })).data).toBe(true);
    expect((await api('GET', '/dns/settings')).data).toMatchObject({ upstreams: ['tls://9.9.9.9'], cache_size: 10000 });
    expect(await readFile(join(folder, 'server.json.bak'), 'utf8')).toBe(ROOT_LIST_FILE);
    expect(JSON.parse(await readFile(file, 'utf8')).dns.enabled).toBe(true);
    const refused = await api('PUT', '/dns/settings', { enabled: true, upstreams: [] });
    expect(refused.error).toBe('dns.upstreams must name at least one upstream resolver');
    expect((await api('GET', '/dns/meta')).ok).toBe(true);
  });
});

describe('what 0.4.7 does and 0.4.6 does not', () => {
  test.each([
    ['0.4.6', 'text/html'],
    ['0.4.7', 'application/json'],
  ])('overnet of %s is answered as %s', async (line, type) => {
    const { standIn } = await stage(line);
    const answer = await send(standIn, '/overnet', { headers: { authorization: `Bearer ${CREDENTIALS.token}` } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
  });
});

test('a beta that reports 0.4.6 may lack its members, its DNS routes and its counters', async () => {
  const { standIn, api } = await stage('0.4.6', ROOT_LIST_FILE, { lacking: ['endpoint', 'dns', 'counters'] });
  expect(Object.keys((await api('GET', '/server/status')).data as object)).toHaveLength(4);
  expect((await send(standIn, '/dns/meta')).headers.get('content-type')).toBe('text/html');
  standIn.count('alpha', { up: 5n });
  await standIn.restart();
  expect((await api('GET', '/users/alpha')).data).toMatchObject({ bytes_up: 0 });
});
