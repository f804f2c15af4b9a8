import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../clone.js';
import { until } from '../feed/stage.js';
import { SERVER_FILE, startLiveServer } from '../lab/live-server.js';
import { WHOLE } from '../whole.js';
import { compareWithServer, environment, expectVersioning } from './comparing.js';
import { runHere } from './context.js';

/** Scenarios in which most rows of the versioning table show; all do in the long test. */
const OF_ROWS = ['dns/auth', 'dns/create-user', 'dns/subscribe', 'current/bulk-create-users'].map((name) =>
  join(ROOT, 'fixtures', `${name}.json`),
);
const SHOWN = [
  'bulkCreateUsers: served',
  'getStatus status: 401 → 200',
  'getUser body /data/last_seen: nothing → null',
  'getUser body /data/online: true → false',
  'subscribe body /data: "<link>?sni=example.org" → "<link>?type=udp"',
];

describe('keyway compare', () => {
  test('between dns and current lists exactly the differences of the versioning table', () =>
    expectVersioning(OF_ROWS, SHOWN));

  test('of a server with a Keyway of its line knows where Keyway differs from it, and takes keys of the run for nobody else’s', async () => {
    const names = ['malformed', 'unmatched', 'list-and-read'].map((name) =>
      join(ROOT, 'fixtures/recorded/0.2.96', `${name}.json`),
    );
    const ended = await compareWithServer('0.2.96', ...names);
    expect(ended.output).toMatch(/^equal {5}.*malformed: .* \(\d+ known divergences\)$/m);
    expect(ended.output).toContain('No differences.');
    expect(ended.code).toBe(0);
  });

  test('signs in on both servers by their own passwords where that of the scenario is salted', async () => {
    const ended = await compareWithServer('0.4.7', join(ROOT, 'fixtures/recorded/0.4.7/pbkdf2.json'));
    expect(ended.output).toMatch(/^equal {5}.*pbkdf2: /m);
    expect(ended.code).toBe(0);
  });

  if (WHOLE)
    test('that is stopped removes its keys from both servers', async () => {
      const servers = [await startLiveServer('dns'), await startLiveServer('current')];
      const keys = servers.map((server) => server.keys());
      const sides = servers.flatMap(({ origin }, index) => [index === 0 ? '--left' : '--right', origin]);
      const argv = ['compare', ...sides, '--left-revision', 'dns', '--right-revision', 'current', '--writes'];
      // Of each, keys stand there at some moment.
      const haveKeys = servers.map((server, index) => until(() => server.keys().length > (keys[index]?.length ?? 0)));
      const untilStopped = () => Promise.all(haveKeys).then(() => 'SIGINT');
      const ended = await runHere(argv, { environment, untilStopped });
      expect(ended.complaints).toContain('interrupted after');
      expect(ended.code).not.toBe(0);
      expect(servers.map((server) => server.keys())).toEqual(keys);
      for (const server of servers) expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
    });

  test('with a server that is down says which one and exits 2', async () => {
    const { origin } = await startLiveServer('current');
    const argv = ['compare', '--left', origin, '--right', 'http://127.0.0.1:1', '--left-revision', 'current'];
    const ended = await runHere(argv, { folder: '/', environment });
    expect(ended.complaints).toContain('--right http://127.0.0.1:1: nobody listens there');
    expect(ended.code).toBe(2);
  });
});
