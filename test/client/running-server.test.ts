import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { startLiveServer } from '../lab/live-server.js';
import { someOf } from '../whole.js';
import { call, keptLog } from './called-server.js';

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
