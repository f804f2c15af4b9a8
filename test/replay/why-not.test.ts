import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFileSystem } from '../../src/platform/file-system.js';
import type { Permissions } from '../../src/replay/live/why-not.js';
import { readScenarioFiles, type ScenarioFile } from '../../src/replay/play/scenario-files.js';
import { ROOT } from '../clone.js';
import { playerOn, startLiveServer, TOKEN } from './live-server.js';

const NOTHING: Permissions = { writes: false, destructive: false };
const WRITES: Permissions = { writes: true, destructive: false };
const EVERYTHING: Permissions = { writes: true, destructive: true };

async function scenarioNamed(name: string): Promise<ScenarioFile> {
  const [file] = await readScenarioFiles([join(ROOT, `fixtures/${name}.json`)], createFileSystem());
  if (file?.kind !== 'scenario') throw new Error(`no scenario ${name}`);
  return file;
}

/** Scenarios that are not played on a server with token, operator, file and keys, what is permitted, and the reason. */
const REASONS: readonly (readonly [string, Permissions, string])[] = [
  ['current/create-user', NOTHING, 'makes or changes keys: needs --writes'],
  ['current/subscribe-dns-no-query', NOTHING, 'needs keys of its own: needs --writes'],
  ['current/unmatched', NOTHING, 'sends a request that may change something: needs --writes'],
  ['current/config-replace', WRITES, 'replaces the configuration: needs --destructive'],
  ['current/rules', WRITES, 'replaces the outbound rules: needs --destructive'],
  ['dns/dns-lists', WRITES, 'replaces the DNS settings: needs --destructive'],
  ['dns/dns-config', EVERYTHING, 'stands for what Keyway alone does, where the specification leaves it open'],
  ['current/audit', WRITES, 'adds to the audit list, which drops its oldest entry: needs --destructive'],
  ['current/config-read', WRITES, 'needs its own configuration there: needs --destructive'],
  ['current/subscribe-dns-no-query', WRITES, 'needs DNS to be on: needs --destructive'],
  ['current/get-user', EVERYTHING, 'needs traffic counters, which the API cannot give'],
  ['current/counters-first-usage', EVERYTHING, 'step 4 needs traffic, which the API cannot give'],
  ['current/hand-edit-rules', EVERYTHING, 'step 2 edits the file by hand, which the API cannot do'],
  ['current/rules-write-failure', EVERYTHING, 'step 1 breaks the file, which the API cannot do'],
  ['v1/tokens', EVERYTHING, "calls Keyway's own interface (v1.listTokens), which is no revision's"],
  ['v1/usage', NOTHING, "calls Keyway's own interface (v1.getKey), which is no revision's"],
  ['current/auth-open', EVERYTHING, 'needs an open API; this one asks for a credential'],
  ['current/login-half-configured', EVERYTHING, 'needs a server whose login is not configured'],
  ['current/run-time-only', EVERYTHING, 'needs a server without a configuration file'],
  ['current/webpath', EVERYTHING, 'needs its own web path, /a/b'],
  ['current/config-read', EVERYTHING, 'compares the file byte for byte, which the API does not show'],
  [
    'current/config-replace-malformed',
    EVERYTHING,
    'replaces the file with exact bytes, which would drop the keys of others',
  ],
  [
    'dns/subscribe-query',
    EVERYTHING,
    `needs the share link's query "?sni=example.org", which is set at the server's start`,
  ],
];

describe('on a live server', () => {
  test.each(REASONS)('%s with %j is skipped: %s', async (name, permissions, reason) => {
    const file = await scenarioNamed(name);
    const server = await startLiveServer(file.scenario.revision);
    const player = await playerOn(server.origin, file.scenario.revision, { permissions });
    expect(await player.play(file, {})).toMatchObject({ outcome: 'skipped', reason, differences: [] });
    expect((await player.finish()).left).toEqual([]);
  });

  test.each([
    ['current/login', { token: TOKEN, operator: null }, 'signs in: needs --username and the password'],
    ['current/create-user', { token: null, operator: null }, 'needs --token, or --username and the password'],
  ])('%s with the credentials %j is skipped: %s', async (name, credentials, reason) => {
    const file = await scenarioNamed(name);
    const server = await startLiveServer('current');
    const player = await playerOn(server.origin, 'current', { permissions: EVERYTHING, credentials });
    expect(await player.play(file, {})).toMatchObject({ outcome: 'skipped', reason });
    expect((await player.finish()).left).toEqual([]);
  });

  test('whose answers are compared with those of another, no query of its links is a reason', async () => {
    const file = await scenarioNamed('dns/subscribe-query');
    const server = await startLiveServer('dns');
    const player = await playerOn(server.origin, 'dns', { permissions: EVERYTHING, isCompared: true });
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
    const player = await playerOn(server.origin, 'current', { permissions: WRITES });
    const result = await player.play({ ...file, scenario: { ...file.scenario, covers: [], exchanges } }, {});
    expect(result.differences.filter(({ where }) => where === 'status')).toHaveLength(exchanges.length);
    expect(server.keys()).toEqual(keys);
    expect((await player.finish()).left).toEqual([]);
  });

  test('and is interrupted leaves none of them behind', async () => {
    const file = await scenarioNamed('current/create-user');
    const server = await startLiveServer('current');
    const keys = server.keys();
    const player = await playerOn(server.origin, 'current', { permissions: WRITES });
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
