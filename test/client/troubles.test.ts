import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../../src/client/upstream-error.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { BY_LOGIN, call, envelope, handClock, keptLog, STATUS } from './called-server.js';

const fails = (asked: Promise<unknown>) => expect(asked).rejects.toBeInstanceOf(UpstreamError);

/** A server of which some paths are broken. */
async function partlyBroken() {
  const broken = new Set<string>();
  const { origin } = await scriptedServer((request, response) => {
    const [path = ''] = (request.url ?? '').replace('/panel/api', '').split('?');
    if (broken.has(`${request.method} ${path}`)) response.end('<html>');
    else if (path === '/server/status') response.end(envelope(STATUS));
    else if (path === '/users' && request.method === 'GET') response.end(envelope([]));
    else if (path === '/server/config' && request.method === 'GET') response.end(envelope({ mode: 'server' }));
    else response.end(envelope('done'));
  });
  return { origin, broken };
}

const things = (server: ReturnType<typeof call>) => server.troubles().map(({ of, kind }) => `${of} ${kind}`);

describe('the health of a server', () => {
  it('has a broken list, however well the status answers, until a list answers', async () => {
    const { origin, broken } = await partlyBroken();
    const server = call(origin);
    broken.add('GET /users');
    await fails(server.listUsers());
    for (let i = 0; i < 3; i += 1) await server.status();
    expect(things(server)).toEqual(['lists away']);
    broken.clear();
    await server.listUsers();
    expect(things(server)).toEqual([]);
  });

  it('has writes and configuration that failed for a minute, whatever else answers', async () => {
    const { origin, broken } = await partlyBroken();
    const clock = handClock();
    const log = keptLog();
    const server = call(origin, { clock, log });
    broken.add('POST /users').add('GET /server/config');
    await fails(server.createUser({ accessKey: 'a', name: null, limitBytes: null }));
    await fails(server.getConfig());
    await server.status();
    await server.listUsers();
    expect(things(server)).toEqual(['writes away', 'configuration away']);
    clock.pass(59_999);
    expect(things(server)).toHaveLength(2);
    clock.pass(1);
    expect(things(server)).toEqual([]);
    const said = log.lines.filter((line) => /does not answer|answers again/.test(line));
    expect(said.map((line) => line.split(' ')[0])).toEqual(['warn', 'info']);
  });

  it.each([-3_600_000, 3_600_000])('tells for how long it was away where the clock is set by %i ms', async (set) => {
    const { origin, broken } = await partlyBroken();
    const clock = handClock();
    const log = keptLog();
    const server = call(origin, { clock, log });
    broken.add('GET /users');
    await fails(server.listUsers());
    clock.pass(90_000);
    clock.set(set);
    broken.clear();
    await server.listUsers();
    expect(log.lines.at(-1)).toMatch(/^info the server answers again .*"seconds":90}$/);
  });

  it('has a sign-in that is no answer as such', async () => {
    const { origin } = await scriptedServer((request, response) => {
      if (request.url?.endsWith('/login')) response.end('<html>');
      else response.writeHead(401).end('{"ok":false,"error":"unauthorized"}');
    });
    const server = call(origin, { credentials: BY_LOGIN });
    await fails(server.listUsers());
    expect(things(server)).toEqual(['sign-in away']);
  });

  it('has a list that the server refuses in its own words', async () => {
    const { origin } = await scriptedServer((request, response) => {
      if (request.url?.endsWith('/status')) response.end(envelope(STATUS));
      else response.writeHead(400).end('{"ok":false,"error":"user not found"}');
    });
    const server = call(origin);
    await fails(server.listUsers());
    expect(things(server)).toEqual(['lists away']);
  });
});
