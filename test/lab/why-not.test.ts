import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readScenarioFiles, type ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { someOf } from '../whole.js';
import { playerOn, startLiveServer, TOKEN } from './live-server.js';

async function scenarioNamed(name: string): Promise<ScenarioFile> {
  const [file] = await readScenarioFiles([join(ROOT, `fixtures/${name}.json`)], createFileSystem());
  if (file?.kind !== 'scenario') throw new Error(`no scenario ${name}`);
  return file;
}

/** Scenarios that are not played on a server with token, operator, file and keys, what is permitted, and the reason. */
const REASONS: readonly (readonly [string, '--writes' | 'reads alone', string])[] = [
  ['current/create-user', 'reads alone', 'makes or changes keys: needs --writes'],
  ['current/subscribe-dns-no-query', 'reads alone', 'needs keys of its own: needs --writes'],
  ['current/unmatched', 'reads alone', 'sends a request that may change something: needs --writes'],
  ['current/config-replace', '--writes', 'not seen, because that replaces the configuration'],
  ['current/rules', '--writes', 'not seen, because that replaces the outbound rules'],
  ['dns/dns-lists', '--writes', 'not seen, because that replaces the DNS settings'],
  ['dns/dns-config', '--writes', 'stands for what Keyway alone does, where the specification leaves it open'],
  ['current/audit', '--writes', 'not seen, because that adds to the audit list, which drops its oldest entry'],
  ['current/config-read', '--writes', 'not seen, because that replaces the configuration'],
  [
    'current/subscribe-dns-no-query',
    '--writes',
    'needs DNS to be on: not seen, because that replaces the configuration',
  ],
  ['current/get-user', '--writes', 'needs traffic counters, which the API cannot give'],
  ['current/counters-first-usage', '--writes', 'step 4 needs traffic, which the API cannot give'],
  ['current/hand-edit-rules', '--writes', 'step 2 edits the file by hand, which the API cannot do'],
  ['current/rules-write-failure', '--writes', 'step 1 breaks the file, which the API cannot do'],
  ['v1/tokens', '--writes', "calls Keyway's own interface (v1.listTokens), which is no revision's"],
  ['v1/usage', 'reads alone', "calls Keyway's own interface (v1.getKey), which is no revision's"],
  ['current/auth-open', '--writes', 'needs an open API; this one asks for a credential'],
  ['current/login-half-configured', '--writes', 'needs a server whose login is not configured'],
  ['current/webpath', '--writes', 'needs its own web path, /a/b'],
  ['lines/0.4.7-share', '--writes', 'not seen, because that replaces the configuration'],
  ['recorded/0.4.7/share-domain', '--writes', 'not seen, because that replaces the configuration'],
  ['recorded/0.4.7/dns-file-legacy-partial', 'reads alone', 'not seen, because that replaces the configuration'],
  ['recorded/0.4.7/throttle', 'reads alone', 'not seen, because that locks out those who sign in'],
  [
    'dns/subscribe-query',
    '--writes',
    `needs the share link's query "?sni=example.org", which is set at the server's start`,
  ],
];

describe('on a live server', () => {
  test.each(someOf(REASONS, 4))('%s with %s is skipped: %s', async (name, permitted, reason) => {
    const file = await scenarioNamed(name);
    const server = await startLiveServer(file.scenario.revision);
    const player = await playerOn(server.origin, file.scenario.revision, { writes: permitted === '--writes' });
    expect(await player.play(file, {})).toMatchObject({ outcome: 'skipped', reason, differences: [] });
    expect((await player.finish()).left).toEqual([]);
  });

  test.each([
    ['current/login', { token: TOKEN, operator: null }, 'signs in: needs --username and the password'],
    ['current/create-user', { token: null, operator: null }, 'needs --token, or --username and the password'],
  ])('%s with the credentials %j is skipped: %s', async (name, credentials, reason) => {
    const file = await scenarioNamed(name);
    const server = await startLiveServer('current');
    const player = await playerOn(server.origin, 'current', { writes: true, credentials });
    expect(await player.play(file, {})).toMatchObject({ outcome: 'skipped', reason });
    expect((await player.finish()).left).toEqual([]);
  });

  test('that has a file, a read of none is not played', async () => {
    const { scenario } = await scenarioNamed('current/run-time-only');
    const server = await startLiveServer('current');
    const player = await playerOn(server.origin, 'current');
    const reads = scenario.exchanges.filter((step) => 'operation' in step && step.operation === 'getConfig');
    expect(reads).not.toEqual([]);
    expect(player.whyNot({ ...scenario, covers: [], exchanges: reads })).toBe(
      'needs a server without a configuration file',
    );
    expect((await player.finish()).left).toEqual([]);
  });

  test('whose answers are compared with those of another, no query of its links is a reason', async () => {
    const file = await scenarioNamed('dns/subscribe-query');
    const server = await startLiveServer('dns');
    const player = await playerOn(server.origin, 'dns', { writes: true, isCompared: true });
    expect(player.whyNot(file.scenario)).toBeNull();
    expect((await player.finish()).left).toEqual([]);
  });
});

describe('a scenario that makes keys', () => {
  test('and meets answers that it did not expect leaves none of them behind', async () => {
    const file = await scenarioNamed('current/create-user');
    const exchanges = file.scenario.exchanges.map((step) =>
      'response' in step ? { ...step, response: { ...step.response, status: 599 } } : step,
    );
    const server = await startLiveServer('current');
    const keys = server.keys();
    const player = await playerOn(server.origin, 'current', { writes: true });
    const result = await player.play({ ...file, scenario: { ...file.scenario, covers: [], exchanges } }, {});
    expect(result.differences.filter(({ where }) => where === 'status')).toHaveLength(exchanges.length);
    expect(server.keys()).toEqual(keys);
    expect((await player.finish()).left).toEqual([]);
  });

  test('and is interrupted leaves none of them behind', async () => {
    const file = await scenarioNamed('current/create-user');
    const server = await startLiveServer('current');
    const keys = server.keys();
    const player = await playerOn(server.origin, 'current', { writes: true });
    let most = 0;
    const onStep = () => {
      most = Math.max(most, server.keys().length);
    };
    await player.play(file, { onStep, isStopped: () => most > keys.length });
    expect(most).toBeGreaterThan(keys.length);
    expect(server.keys()).toEqual(keys);
    expect((await player.finish()).left).toEqual([]);
  });
});
