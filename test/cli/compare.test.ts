import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildIfOlder } from '../build.js';
import { PASSWORD, SERVER_FILE, startLiveServer, TOKEN, USERNAME } from '../replay/live-server.js';
import { runKeyway } from './process.js';

beforeAll(buildIfOlder, 240_000);

const environment = Object.fromEntries(
  ['LEFT', 'RIGHT'].flatMap((side) => [
    [`${side}_USERNAME`, USERNAME],
    [`${side}_PASSWORD`, PASSWORD],
    [`${side}_TOKEN`, TOKEN],
  ]),
);

async function compare(revisions: readonly [string, string], ...flags: readonly string[]) {
  const left = await startLiveServer(revisions[0]);
  const right = await startLiveServer(revisions[1]);
  const folder = await mkdtemp(join(tmpdir(), 'keyway-compare-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const sides = ['--left', left.origin, '--right', right.origin];
  const named = ['--left-revision', revisions[0], '--right-revision', revisions[1]];
  const ended = await runKeyway(['compare', ...sides, ...named, ...flags], { folder, environment });
  return { left, right, ended };
}

/** The summary's lines without how often they occur. */
function groupsIn(output: string): readonly string[] {
  const [, summary = ''] = output.split('What differs (left | right, an example each):\n');
  return summary
    .trim()
    .split('\n')
    .map((line) => line.trim().replace(/ \(scenarios: \d+\)$/, ''));
}

describe('keyway compare', () => {
  test('between dns and current lists exactly the differences of the versioning table', async () => {
    const { left, right, ended } = await compare(['dns', 'current'], '--destructive');
    expect(ended.complaints).not.toContain('could not');
    expect(groupsIn(ended.output)).toEqual([
      // Audit, bulk keys, router rules: current alone. DNS endpoints: dns alone.
      'addAudit operation: "not served" | "served"',
      'bulkCreateUsers operation: "not served" | "served"',
      'getDnsConfig operation: "served" | "not served"',
      'getRules operation: "not served" | "served"',
      // Auth: session token, against session token or static token.
      'getStatus status: 401 | 200',
      // `last_seen` and the `online` flag.
      'getUser body /data/last_seen: nothing | null',
      'getUser body /data/online: true | false',
      'listAudit operation: "not served" | "served"',
      'listDnsQueries operation: "served" | "not served"',
      'listUsers body /data/*/last_seen: nothing | null',
      'listUsers body /data/*/online: true | false',
      'putDnsConfig operation: "served" | "not served"',
      'putRules operation: "not served" | "served"',
      'refreshBlocklists operation: "served" | "not served"',
      // Share-link query.
      expect.stringMatching(/^subscribe body \/data: "ostp:\/\/.*:50000" \| "ostp:\/\/.*:50000\?type=udp"$/),
    ]);
    expect(ended.code).toBe(1);
    for (const server of [left, right]) expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
  });

  test('between two of the same revision finds nothing', async () => {
    const { ended } = await compare(['current', 'current'], '--writes');
    expect(ended.output).toContain('No differences.');
    expect(ended.output).toMatch(/\n[3-9]\d equal, 0 different/);
    expect(ended.code).toBe(0);
  });

  test('with a server that is down says which one and exits 2', async () => {
    const { origin } = await startLiveServer('current');
    const argv = ['compare', '--left', origin, '--right', 'http://127.0.0.1:1', '--left-revision', 'current'];
    const ended = await runKeyway(argv, { folder: '/', environment });
    expect(ended.complaints).toContain('--right http://127.0.0.1:1: nobody listens there');
    expect(ended.code).toBe(2);
  });
});
