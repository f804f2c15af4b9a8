import { describe, expect, onTestFinished, test } from 'vitest';
import { createCaller } from '../../../src/client/caller.js';
import { createGateway } from '../../../src/index.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { runHere } from '../../commands/context.js';
import { CREDENTIALS } from '../../stand-in/files.js';
import { bytesOf, scriptedServer } from '../../stand-in/scripted-server.js';
import { LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';

const HOUR = 3_600_000;
const OF_CONNECTION = ['host', 'connection', 'content-length'];
const { token, username, password } = CREDENTIALS;

const clockOff = (milliseconds: number) => ({ ...systemClock, now: () => systemClock.now() + milliseconds });

/** A stand-in whose clock, and the `Date` of whose answers, is off by so much. */
async function serverOff(line: string, milliseconds: number) {
  const clock = clockOff(milliseconds);
  const standIn = await standInOf(line, { ...LOSES_NOTHING, clock });
  const caller = createCaller({ origin: standIn.origin, timeoutMilliseconds: 10_000, connections: 4 });
  onTestFinished(() => caller.close());
  const { origin } = await scriptedServer(async (request, response) => {
    const { method = '', url = '' } = request;
    const body = await bytesOf(request);
    const kept = Object.entries(request.headers).filter(([name]) => !OF_CONNECTION.includes(name));
    const headers = new Map(kept.map(([name, value]) => [name, String(value)]));
    const answer = await caller.send({ method, path: url, headers, body: body.length === 0 ? undefined : body });
    const own = { ...Object.fromEntries(answer.headers), date: new Date(clock.now()).toUTCString() };
    response.writeHead(answer.status, own).end(answer.body);
  });
  return { standIn, origin };
}

describe.each([
  ['an hour behind', '0.2.96', -HOUR],
  ['an hour ahead', '0.3.21', HOUR],
] as const)('a server whose clock is %s, of %s,', (_, line, milliseconds) => {
  test('is compatible with its own line, by reads and with keys of its own', async () => {
    const { standIn, origin } = await serverOff(line, milliseconds);
    const before = standIn.keys();
    const argv = ['replay', '--target', `${origin}/panel`, '--revision', line, '--username', username, '--writes'];
    const ended = await runHere(argv, { environment: { KEYWAY_PASSWORD: password, KEYWAY_TOKEN: token } });
    expect(ended.output).toContain('\ncompatible as far as seen: ');
    expect(ended.code).toBe(0);
    expect(standIn.keys()).toHaveLength(before.length);
  });

  test('is stood in front of like any other, also when it restarts', async () => {
    const { standIn, origin } = await serverOff(line, milliseconds);
    const app = await createGateway({
      mounts: [{ revision: 'current' }],
      upstream: { url: `${origin}/panel`, token },
      listener: { token: 'front' },
    });
    onTestFinished(() => app.close());
    const ask = async (method: 'GET' | 'POST', url: string, payload?: object) => {
      const headers = { authorization: 'Bearer front' };
      const answer = await app.inject({ method, url: `/panel/api${url}`, headers, ...(payload && { payload }) });
      return { status: answer.statusCode, data: answer.json().data };
    };
    expect((await ask('POST', '/users', { access_key: 'made', name: 'Made' })).status).toBe(200);
    const keys = (await ask('GET', '/users')).data.map((key: { access_key: string }) => key.access_key);
    expect(keys).toContain('made');
    expect(standIn.keys().map(({ accessKey }) => accessKey)).toContain('made');
    await standIn.restart();
    const { data } = await ask('GET', '/server/status');
    expect(data.uptime_seconds).toBeLessThan(60);
    expect(await app.keyway.backend.problems()).toEqual([]);
  });
});
