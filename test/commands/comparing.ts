import { expect } from 'vitest';
import { createFixedClock } from '../../src/embedded/stage.js';
import { folderForTest } from '../folder-for-test.js';
import { PASSWORD, SERVER_FILE, startLiveServer, TOKEN, USERNAME, unhurried } from '../lab/live-server.js';
import { CREDENTIALS } from '../stand-in/files.js';
import { standInOf } from '../stand-in/test-stand-in.js';
import { runHere } from './context.js';

/** The operator of both servers. */
export const environment = Object.fromEntries(
  ['LEFT', 'RIGHT'].flatMap((side) => [
    [`${side}_USERNAME`, USERNAME],
    [`${side}_PASSWORD`, PASSWORD],
    [`${side}_TOKEN`, TOKEN],
  ]),
);

/** What the operator of both servers has configured; revisions with a query of their own ignore it. */
const ANNOUNCED = { announced: { shareQuery: '?sni=example.org' } };

/** Compares two servers of their own. */
export async function compare(revisions: readonly [string, string], ...flags: readonly string[]) {
  const { wait } = unhurried();
  const left = await startLiveServer(revisions[0], {}, { ...ANNOUNCED, ...unhurried().server });
  const right = await startLiveServer(revisions[1], {}, { ...ANNOUNCED, ...unhurried().server });
  const folder = await folderForTest();
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

/** Compares `dns` with `current` by these scenarios, in which these changes of the table show; every one when left out. */
export async function expectVersioning(
  files: readonly string[],
  shown: readonly string[] = Object.values(VERSIONING).flat(),
): Promise<void> {
  const { left, right, ended } = await compare(['dns', 'current'], '--writes', ...files);
  expect(ended.complaints).not.toContain('could not');
  const changes = changesIn(ended.output.replaceAll(/[a-z]+:\/\/[^"?]*/g, '<link>'));
  expect(changes.toSorted()).toEqual(shown.toSorted());
  expect(ended.code).toBe(1);
  for (const server of [left, right]) expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
}

/** Compares a stand-in of a recorded server with a Keyway that serves its line over the same file. */
export async function compareWithServer(version: string, ...files: readonly string[]) {
  // Without looks at its file, by one of which a server of that line may take back a change that it has acknowledged.
  const standIn = await standInOf(version, { clock: createFixedClock(), reloadFactor: 0 });
  const { origin } = await startLiveServer(version, {}, unhurried().server);
  const sides = ['--left', `${standIn.origin}/panel`, '--right', origin, '--left-revision', version];
  const of = (side: string, { username, password, token }: typeof CREDENTIALS) => ({
    ...{ [`${side}_USERNAME`]: username, [`${side}_PASSWORD`]: password, [`${side}_TOKEN`]: token },
  });
  return runHere(['compare', ...sides, '--writes', ...files], {
    environment: { ...environment, ...of('LEFT', CREDENTIALS) },
    wait: unhurried().wait,
  });
}
