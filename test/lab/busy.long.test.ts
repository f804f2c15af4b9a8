import { expect, onTestFinished, test } from 'vitest';
import { createFixedClock } from '../../src/embedded/stage.js';
import { startProxy } from '../../src/lab/record/proxy.js';
import { runHere } from '../commands/context.js';
import { PASSWORD, startLiveServer, TOKEN, USERNAME } from './live-server.js';

/** A server of which others change the counters with every answer that it gives, and the keys with every third. */
async function busyServer(revision: string) {
  const { app, origin } = await startLiveServer(revision, {}, { clock: createFixedClock() });
  const under: Promise<unknown>[] = [];
  let count = 0;
  const change = () => {
    count += 1;
    const bytes = BigInt(1000 + count);
    app.keyway.local?.keys.setCounters('foreign-1', { bytesUp: bytes, bytesDown: bytes, connections: 1n });
    if (count % 3 !== 0) return;
    const headers = { authorization: `Bearer ${TOKEN}` };
    under.push(
      app.inject({ method: 'POST', url: '/panel/api/users', headers, payload: { access_key: `busy-${count}` } }),
    );
    const url = `/panel/api/users/busy-${count - 9}`;
    if (count % 2 === 0 && count > 9) under.push(app.inject({ method: 'DELETE', url, headers }));
  };
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    onExchange: change,
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(async () => {
    await proxy.close();
    await Promise.all(under);
  });
  /** A pause in which what others had begun comes to its end, and they begin something else. */
  const pause = async () => {
    await Promise.all(under);
    change();
  };
  return { url: `${proxy.url}/panel`, pause };
}

test.each([
  ['0.2.96', []],
  ['0.3.21', ['--writes']],
])('a server of %s that others change all the time is compatible, asked with %j', async (revision, flags) => {
  const { url, pause } = await busyServer(revision);
  const argv = ['replay', '--target', url, '--revision', revision, '--username', USERNAME, '--verbose', ...flags];
  const ended = await runHere(argv, {
    environment: { KEYWAY_PASSWORD: PASSWORD, KEYWAY_TOKEN: TOKEN },
    wait: pause,
  });
  expect(ended.output).not.toMatch(/^(DIFFERENT|BROKEN)/m);
  expect(ended.complaints).toMatch(/others change the server meanwhile: keys that were not there before: \d+$/m);
  expect(ended.complaints).not.toContain('keyway replay: not as before');
  expect(ended.output).toContain('\ncompatible as far as seen: ');
  expect(ended.code).toBe(0);
});

test('a server that slows the guessing of tokens is told as that, not as one without a right token', async () => {
  const { origin } = await startLiveServer('0.2.96');
  for (let guess = 0; guess < 20; guess += 1)
    await fetch(`${origin}/panel/api/server/status`, { headers: { authorization: `Bearer guess-${guess}` } });
  const ended = await runHere(['replay', '--target', `${origin}/panel`, '--revision', '0.2.96'], {
    environment: { KEYWAY_TOKEN: TOKEN },
  });
  expect(ended.complaints).toMatch(/slows the guessing of tokens and does not look at this one: try again in \d+ s/);
  expect(ended.code).toBe(2);
});
