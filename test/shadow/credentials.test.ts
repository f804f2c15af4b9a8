import { describe, expect, test } from 'vitest';
import { PASSWORD, startLiveServer, TOKEN, USERNAME } from '../replay/live-server.js';
import { bytesOf, scriptedServer } from '../stand-in/scripted-server.js';
import { mirrored, second } from './mirrored.js';

const API = '/panel/api';

describe('the credential of a client', () => {
  test('is gone by where the target has looked at it, not where it asks for none', async () => {
    const target = await startLiveServer('current');
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' } }, null);
    const wrong = { authorization: 'Bearer wrong' };
    for (const path of ['/subscribe/foreign-1', '/audit']) await shadow.send('GET', API + path, undefined, wrong);
    expect(shadow.report()).toMatchObject({ shadow: null, notes: [] });
    expect(shadow.report().rows.map(({ leftOut }) => leftOut)).toEqual([
      { 'no credential yet': 1 },
      { 'no credential yet': 1 },
    ]);
    await shadow.send('GET', `${API}/users`);
    await shadow.send('GET', `${API}/audit`, undefined, wrong);
    await shadow.send('GET', `${API}/users`);
    await shadow.mirror.follow();
    expect(shadow.report()).toMatchObject({ compared: 2, differences: [], notes: [] });
  });

  test('which is a named token is let in by an embedded core, and does not stand for the whole list', async () => {
    const target = await startLiveServer('current');
    const { token } = await namedToken(target.origin, 'create');
    const shadow = await mirrored(target.origin, { shadow: { line: 'current' }, followEvery: 0 }, null);
    const named = { authorization: `Bearer ${token}` };
    await shadow.send('POST', `${API}/users`, { access_key: 'own' }, named);
    expect(shadow.report()).toMatchObject({ shadow: null, notes: [] });
    await shadow.send('GET', `${API}/server/config`);
    await shadow.send('GET', `${API}/users`, undefined, named);
    await shadow.send('GET', `${API}/users/own`, undefined, named);
    await shadow.mirror.follow();
    await shadow.send('GET', `${API}/users`);
    expect(shadow.report()).toMatchObject({ compared: 2, differences: [], notes: [] });
    const reason = 'a named token, which may see some of the keys alone';
    expect(shadow.report().rows.map(({ leftOut }) => leftOut[reason])).toContain(1);
  });
});

async function namedToken(origin: string, may: string): Promise<{ token: string }> {
  const answer = await fetch(`${origin}/panel/keyway/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bot', may }),
  });
  const { data } = (await answer.json()) as { data: { token: string } };
  return data;
}

test('the report names neither a web path nor an operator where nothing could begin', async () => {
  const target = await startLiveServer('current');
  const elsewhere = await mirrored(target.origin, {
    target: { origin: target.origin, webpath: '/secret-path', revision: null, token: TOKEN, ca: null },
    shadow: { line: 'current' },
  });
  expect(elsewhere.report().notes).toEqual([expect.stringContaining('the shadow could not begin: ')]);
  const credentials = { token: null, operator: { username: USERNAME, password: 'wrong' } };
  const refused = await mirrored(target.origin, { shadow: { ...second(target.origin), credentials } });
  expect(refused.report().notes).toEqual([expect.stringContaining('the shadow could not begin: ')]);
  const text = JSON.stringify([elsewhere.report(), refused.report()]);
  for (const secret of ['secret-path', USERNAME]) expect(text).not.toContain(secret);
});

test('the report does not name the operator whom a second server lets in no more', async () => {
  const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
  const how = { isClosed: false };
  const { origin } = await scriptedServer(async (request, response) => {
    const { method = '', url, headers } = request;
    const body = await bytesOf(request);
    const { authorization = '', 'content-type': type = 'text/plain' } = headers;
    const content = method === 'GET' ? {} : { body: body.toString() };
    const answer = await fetch(other.origin + url, {
      method,
      headers: { authorization, 'content-type': type },
      ...content,
    });
    response.writeHead(how.isClosed ? 401 : answer.status, { 'content-type': 'application/json' });
    response.end(how.isClosed ? '{"ok":false,"error":"Unauthorized"}' : await answer.text());
  });
  const credentials = { token: null, operator: { username: USERNAME, password: PASSWORD } };
  const shadow = await mirrored(target.origin, { shadow: { ...second(origin), credentials }, followEvery: 0 });
  await shadow.send('GET', `${API}/users`);
  how.isClosed = true;
  await shadow.send('GET', `${API}/users`);
  await shadow.mirror.follow();
  const why = 'it refuses its own credential';
  expect(shadow.report().notes).toEqual([`the keys of both could not be held together: ${why}`]);
  expect(shadow.report().rows).toMatchObject([{ leftOut: { [`the shadow could not be asked: ${why}`]: 1 } }]);
  expect(JSON.stringify(shadow.report())).not.toContain(USERNAME);
});
