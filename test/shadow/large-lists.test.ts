import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { SERVER_FILE, startLiveServer } from '../replay/live-server.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { mirrored, second } from './mirrored.js';

const API = '/panel/api';

/** A server of this line whose list is above 1 MiB. */
async function largeServer(line: string) {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-large-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const configPath = join(folder, 'server.json');
  const names = Array.from({ length: 9_000 }, (_, index) => `key-${index}-${'x'.repeat(24)}`);
  const access_keys = names.map((access_key, index) => ({ access_key, name: `} "${index}`, limit_bytes: index }));
  await writeFile(configPath, JSON.stringify({ ...JSON.parse(SERVER_FILE), access_keys }));
  return startLiveServer(line, {}, { configPath });
}

test('a list above 1 MiB that the shadow refuses to a client is told as any other', async () => {
  const target = await largeServer('earliest');
  const shadow = await mirrored(target.origin, { shadow: { line: '0.2.48' } });
  await shadow.send('GET', '/api/users');
  const [difference] = shadow.report().differences;
  expect(difference).toMatchObject({ operation: 'listUsers', where: 'status', kind: 'reads' });
  expect(difference?.because).toMatch(/^auth: /);
});

test('a list above 1 MiB shows what its elements have more or less on the other line', async () => {
  const target = await largeServer('0.2.60');
  const shadow = await mirrored(target.origin, { shadow: { line: '0.2.96' } });
  await shadow.send('GET', `${API}/users`);
  expect(shadow.report()).toMatchObject({ compared: 1, notes: [] });
  const [difference, ...others] = shadow.report().differences;
  expect(others).toEqual([]);
  expect(difference).toMatchObject({ where: 'body /data/*/last_seen', explainedBy: 'lines' });
});

test('a list above 1 MiB instead of which a page comes is told', async () => {
  const target = await largeServer('current');
  const how = { isBroken: false };
  const { origin } = await scriptedServer(async (request, response) => {
    const { authorization = '' } = request.headers;
    const answer = await fetch(target.origin + request.url, { headers: { authorization } });
    const type = how.isBroken ? 'text/html' : 'application/json';
    response.writeHead(200, { 'content-type': type, 'access-control-allow-origin': '*' });
    response.end(how.isBroken ? '<html>' : await answer.text());
  });
  const shadow = await mirrored(target.origin, { shadow: second(origin) });
  await shadow.send('GET', `${API}/users`);
  expect(shadow.report()).toMatchObject({ compared: 1, differences: [], notes: [] });
  how.isBroken = true;
  await shadow.send('GET', `${API}/users`);
  expect(shadow.report().compared).toBe(2);
  expect(shadow.unexplained()).toContain('listUsers header content-type');
});

test('a list that is above 1 MiB without its compression is held together key by key, as any such', async () => {
  const { origin } = await largeServer('current');
  const target = await scriptedServer(async (request, response) => {
    const { authorization = '', 'accept-encoding': coding = '' } = request.headers;
    const answer = await fetch(origin + request.url, { headers: { authorization } });
    const body = Buffer.from(await answer.arrayBuffer());
    const common = { 'content-type': 'application/json', 'access-control-allow-origin': '*' };
    response.writeHead(answer.status, coding === 'gzip' ? { ...common, 'content-encoding': coding } : common);
    response.end(coding === 'gzip' ? gzipSync(body) : body);
  });
  const listsFor = async (coding: string) => {
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' } });
    const before = target.seen.length;
    await shadow.send('GET', `${API}/users`, undefined, { 'accept-encoding': coding });
    expect(shadow.report()).toMatchObject({ compared: 1, differences: [], notes: [] });
    return target.seen.slice(before).filter((each) => each === `GET ${API}/users`).length;
  };
  // One that is held together member by member is asked of the target a second time.
  expect(await listsFor('gzip')).toBe(await listsFor('identity'));
});
