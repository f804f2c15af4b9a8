import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { until } from '../feed/stage.js';
import { PASSWORD, SERVER_FILE, startLiveServer, TOKEN, USERNAME, unhurried } from '../replay/live-server.js';
import { runHere } from './context.js';
import { startKeyway } from './process.js';

beforeAll(buildIfOlder, 240_000);

const environment = Object.fromEntries(
  ['LEFT', 'RIGHT'].flatMap((side) => [
    [`${side}_USERNAME`, USERNAME],
    [`${side}_PASSWORD`, PASSWORD],
    [`${side}_TOKEN`, TOKEN],
  ]),
);

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-compare-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What the operator of both servers has configured; revisions with a query of their own ignore it. */
const ANNOUNCED = { announced: { shareQuery: '?sni=example.org' } };

async function compare(revisions: readonly [string, string], ...flags: readonly string[]) {
  const { wait } = unhurried();
  const left = await startLiveServer(revisions[0], {}, { ...ANNOUNCED, ...unhurried().server });
  const right = await startLiveServer(revisions[1], {}, { ...ANNOUNCED, ...unhurried().server });
  const folder = await emptyFolder();
  const sides = ['--left', left.origin, '--right', right.origin];
  const named = ['--left-revision', revisions[0], '--right-revision', revisions[1]];
  const ended = await runHere(['compare', ...sides, ...named, ...flags], { folder, environment, wait });
  return { left, right, ended };
}

/** The summary's changes without how often they occur and what they come from. */
function changesIn(output: string): readonly string[] {
  const [, summary = ''] = output.split('What differs (left → right), by client:\n');
  const changes = summary.split('\n').filter((line) => line.startsWith('    '));
  return [...new Set(changes.map((line) => line.trim().replace(/, \d+ of \d+ calls(?: {3}\(.*\))?$/, '')))];
}

const servedByDns = (...operations: readonly string[]) => operations.map((name) => `${name}: not served`);
const servedByCurrent = (...operations: readonly string[]) => operations.map((name) => `${name}: served`);

/** The scenarios that were written for the two, and those that were recorded of servers of them. */
const OF_BOTH = ['dns', 'current', 'recorded/0.2.48', 'recorded/0.2.96'].map((name) => join(ROOT, 'fixtures', name));

/** The rows of the versioning table, and what `dns` and `current` differ in by each: of what replaces nothing on a server. */
const VERSIONING: Readonly<Record<string, readonly string[]>> = {
  'API path prefix': [],
  'Static panel and login': [],
  // The static token opens the API of the one alone.
  Auth: ['getStatus status: 401 → 200'],
  '`name` in snapshots': [],
  '`online` flag': ['getUser body /data/online: true → false', 'listUsers body /data/*/online: true → false'],
  '`last_seen`': ['getUser body /data/last_seen: nothing → null', 'listUsers body /data/*/last_seen: nothing → null'],
  'Share-link query': ['subscribe body /data: "<link>?sni=example.org" → "<link>?type=udp"'],
  'DNS endpoints': servedByDns('getDnsConfig', 'listDnsQueries', 'refreshBlocklists'),
  'Audit, bulk keys, router rules': servedByCurrent('listAudit', 'bulkCreateUsers', 'getRules'),
};

describe('keyway compare', () => {
  test('between dns and current lists exactly the differences of the versioning table', async () => {
    const { left, right, ended } = await compare(['dns', 'current'], '--writes', ...OF_BOTH);
    expect(ended.complaints).not.toContain('could not');
    const changes = changesIn(ended.output.replaceAll(/ostp:\/\/[^"?]*/g, '<link>'));
    expect(changes.toSorted()).toEqual(Object.values(VERSIONING).flat().sort());
    expect(ended.code).toBe(1);
    for (const server of [left, right]) expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
  }, 240_000);

  test('ended by SIGINT removes its keys from both servers', async () => {
    const servers = [await startLiveServer('dns'), await startLiveServer('current')];
    const keys = servers.map((server) => server.keys());
    const sides = servers.flatMap(({ origin }, index) => [index === 0 ? '--left' : '--right', origin]);
    const argv = ['compare', ...sides, '--left-revision', 'dns', '--right-revision', 'current', '--writes'];
    const running = startKeyway(argv, { folder: await emptyFolder(), environment });
    // Of each, keys stand there at some moment.
    await Promise.all(servers.map((server, index) => until(() => server.keys().length > (keys[index]?.length ?? 0))));
    running.child.kill('SIGINT');
    const ended = await running.ended;
    expect(ended.complaints).toContain('interrupted after');
    expect(ended.code).not.toBe(0);
    expect(servers.map((server) => server.keys())).toEqual(keys);
    for (const server of servers) expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
  });

  test('between two of the same revision finds nothing', async () => {
    const { ended } = await compare(['current', 'current'], '--writes', join(ROOT, 'fixtures/current'));
    expect(ended.output).toContain('No differences.');
    expect(ended.output).toMatch(/\n[1-9]\d equal, 0 different/);
    expect(ended.code).toBe(0);
  }, 240_000);

  test('with a server that is down says which one and exits 2', async () => {
    const { origin } = await startLiveServer('current');
    const argv = ['compare', '--left', origin, '--right', 'http://127.0.0.1:1', '--left-revision', 'current'];
    const ended = await runHere(argv, { folder: '/', environment });
    expect(ended.complaints).toContain('--right http://127.0.0.1:1: nobody listens there');
    expect(ended.code).toBe(2);
  });
});
