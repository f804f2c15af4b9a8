import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { startLiveServer } from '../lab/live-server.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { someOf } from '../whole.js';
import { BY_TOKEN, call, envelope, keptLog, STATUS } from './called-server.js';

describe.each(someOf(REVISIONS, 2).map((revision) => ({ id: revision.id, revision })))('a running server of $id', ({
  revision,
}) => {
  it('is found out by its version, and lets Keyway in', async () => {
    const { origin } = await startLiveServer(revision.reportedVersion);
    const log = keptLog();
    const server = call(origin, { log });
    expect([server.line(), server.version(), server.troubles()]).toEqual([null, null, []]);
    const { value } = await server.status();
    expect(value).toMatchObject({ version: revision.reportedVersion, activeUsers: 1n, totalUsers: 2n });
    expect([server.line()?.id, server.version(), server.troubles()]).toEqual([
      revision.id,
      revision.reportedVersion,
      [],
    ]);
    expect(log.lines.filter((line) => line.includes('was measured'))).toHaveLength(
      revision.recordedFrom === null ? 1 : 0,
    );
  });

  it('tells how it announces itself', async () => {
    const announced = { host: 'vpn.example', port: 443, shareScheme: 'ostp', shareQuery: '?a=b&c=d' };
    const { origin } = await startLiveServer(revision.id, {}, { announced });
    const { value } = await call(origin).subscription('foreign-1');
    const { shareQuery } = revision;
    expect(value).toMatchObject({ host: 'vpn.example', port: 443, shareScheme: 'ostp' });
    // What is read gives the same link again.
    expect(shareQuery.query(value?.shareQuery ?? '', value?.ownDns ?? false)).toBe(shareQuery.query('?a=b&c=d', false));
  });
});

it.each([
  ['.', '%2E'],
  ['..', '%2E%2E'],
  ['a/..', 'a%2F..'],
])('a request about the key %s has %s in its path', async (key, inPath) => {
  const { origin, seen } = await scriptedServer((request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(envelope(request.url?.endsWith('/status') ? STATUS : null)),
  );
  await call(origin, { credentials: BY_TOKEN }).deleteUser(key);
  expect(seen).toContain(`DELETE /panel/api/users/${inPath}`);
});
