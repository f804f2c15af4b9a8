import { expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../../src/index.js';
import { startLiveServer, TOKEN } from '../../lab/live-server.js';
import { createLeapingClock } from './stage.js';

/** Milliseconds that a list may be known before it is asked for again, whatever the last one cost. */
const DUE = 60_000;

it.each([
  ['answered as last known, with its Age in whole seconds, where that is asked for', true],
  ['answered 502 otherwise', false],
])('a list of a server that is away is %s', async (_what, serveStale) => {
  const server = await startLiveServer('current');
  const clock = createLeapingClock();
  const upstream = { url: `${server.origin}/panel`, token: TOKEN };
  const app = await createGateway({ mounts: [{ revision: 'current' }], upstream, serveStale, clock });
  onTestFinished(() => app.close());
  const list = (headers = {}) =>
    app.inject({ url: '/panel/api/users', headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
  clock.leap(DUE);
  const fresh = await list();
  expect([fresh.statusCode, fresh.headers.age]).toEqual([200, undefined]);
  await server.close();
  clock.leap(DUE);
  const answers = [await list(), await list({ 'accept-encoding': 'gzip' })];
  if (!serveStale) {
    expect(answers.map(({ statusCode, headers }) => [statusCode, headers.age])).toEqual([
      [502, undefined],
      [502, undefined],
    ]);
    return;
  }
  expect(answers[0]?.json()).toEqual(fresh.json());
  expect(answers.map(({ statusCode, headers }) => [statusCode, headers['content-encoding']])).toEqual([
    [200, undefined],
    [200, 'gzip'],
  ]);
  for (const { headers } of answers) {
    expect(headers.age).toMatch(/^\d+$/);
    expect(Number(headers.age)).toBeGreaterThanOrEqual(DUE / 1000);
    // Real time goes on, too; in milliseconds it would be a thousand times as much.
    expect(Number(headers.age)).toBeLessThan((10 * DUE) / 1000);
  }
});
