import { expect, test } from 'vitest';
import type { Answer } from '../../src/client/call.js';
import { Judge } from '../../src/shadow/judge.js';
import { operationNamed } from '../../src/wire/operations.js';
import { revisionNamed, startLiveServer, TOKEN } from '../replay/live-server.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { mirrored } from './mirrored.js';

const API = '/panel/api';

/** A clock that goes on by a second with each look. */
function hastyClock() {
  let looks = 0;
  const look = () => {
    looks += 1;
    return looks * 1000;
  };
  return { now: look, monotonic: look };
}

test('what two reads of the target itself show as noise is counted until it is known, and then no more', async () => {
  const target = await startLiveServer('current');
  let asked = 0;
  const noisy = await scriptedServer(async (request, response) => {
    asked += 1;
    const answer = await fetch(target.origin + request.url, { headers: { authorization: `Bearer ${TOKEN}` } });
    response.writeHead(answer.status, { 'content-type': 'application/json', 'access-control-allow-origin': '*' });
    const text = await answer.text();
    response.end(request.url?.endsWith('/users/foreign-2') ? text.replace('{"acc', `{"nonce":${asked},"acc`) : text);
  });
  const shadow = await mirrored(noisy.origin, { shadow: { line: 'current' }, clock: hastyClock() });
  for (let read = 0; read < 60; read += 1) await shadow.send('GET', `${API}/users/foreign-2`);
  expect(shadow.report().differences).toMatchObject([{ where: 'body /data/<text:1>', times: 50 }]);
  expect(shadow.report().rows).toMatchObject([{ different: 50, equal: 10 }]);
});

test('what is seldom different between two reads of the target is no noise', () => {
  const answer = (limit: number): Answer => ({
    status: 200,
    headers: new Map([['content-type', 'application/json']]),
    body: Buffer.from(JSON.stringify({ ok: true, data: { access_key: 'a', limit_bytes: limit } })),
    firstByteMilliseconds: 0,
  });
  const line = revisionNamed('current');
  const none = { target: '', shadow: '' };
  const oldEntries = { target: new Set<string>(), shadow: new Set<string>() };
  const judge = new Judge({ from: line, to: line, bases: none, oldEntries, expected: [] });
  const operation = operationNamed('getUser');
  const pair = { operation, method: 'GET', path: '/users/a', target: answer(1), unclear: new Set<string>() };
  for (const [first, second] of [...Array(5).fill([1, 1]), [1, 2], [2, 3]] as [number, number][])
    expect(judge.differences({ ...pair, again: [answer(first), answer(second)], shadow: answer(1) })).toEqual([]);
  const found = judge.differences({ ...pair, again: null, shadow: answer(9) });
  expect(found).toMatchObject([{ where: 'body /data/limit_bytes', expected: 1n, actual: 9n }]);
});
