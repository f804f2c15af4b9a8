import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { compareEmbedded } from '../../src/embedded/play.js';
import { changesIn } from '../../src/lab/compare/changes.js';
import { changeOf } from '../../src/lab/compare/line-changes.js';
import { comparedResult } from '../../src/lab/compare/result.js';
import type { Scenario } from '../../src/lab/format/scenario.js';
import { readScenarioFiles, type ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { Recorder } from '../../src/lab/record/recorder.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { someOf } from '../whole.js';
import { revisionNamed } from './live-server.js';

const REVISIONS = ['earliest', 'dns', 'current'] as const;
type Name = (typeof REVISIONS)[number];

const PANELS = ['current-panel', 'dns-panel'] as const;
type Panel = (typeof PANELS)[number];

/** A row of the specification's versioning table: what each revision has of it, and where a panel's session meets it. */
interface Row {
  readonly has: Readonly<Record<Name, string>>;
  readonly places: Partial<Readonly<Record<Panel, readonly string[]>>>;
}

const both = (...places: readonly string[]) => ({ 'current-panel': places, 'dns-panel': places });

const VERSIONING: Readonly<Record<string, Row>> = {
  'Static panel and login': {
    has: { earliest: 'no', dns: 'yes', current: 'yes' },
    places: both('login operation'),
  },
  '`name` in snapshots': {
    has: { earliest: 'no', dns: 'yes', current: 'yes' },
    places: both('listUsers body /data/*/name'),
  },
  '`online` flag': {
    has: { earliest: 'counters', dns: 'counters', current: 'connections' },
    places: both('listUsers body /data/*/online'),
  },
  '`last_seen`': {
    has: { earliest: 'no', dns: 'no', current: 'null' },
    places: both('listUsers body /data/*/last_seen'),
  },
  'Share-link query': {
    has: { earliest: 'configured', dns: 'configured', current: '?type=udp' },
    places: both('subscribe body /data'),
  },
  'DNS endpoints': {
    has: { earliest: 'no', dns: 'yes', current: 'no' },
    places: { 'dns-panel': ['getDnsConfig operation', 'listDnsQueries operation', 'putDnsConfig operation'] },
  },
  'Audit, bulk keys, router rules': {
    has: { earliest: 'no', dns: 'no', current: 'yes' },
    places: { 'current-panel': ['addAudit operation', 'listAudit operation'] },
  },
};

const PAIRS = REVISIONS.flatMap((from) => REVISIONS.flatMap((to) => PANELS.map((panel) => [panel, from, to] as const)));

const OPTIONS = { timeoutMilliseconds: 10_000, isStopped: () => false };

describe('the recorded session of a released panel build', () => {
  const panels = new Map<string, ScenarioFile>();
  beforeAll(async () => {
    const found = await readScenarioFiles([join(ROOT, 'fixtures/recorded/panels')], createFileSystem());
    for (const each of found) if (each.kind === 'scenario') panels.set(each.name.replace('panels/', ''), each);
  });

  test.each(someOf(PAIRS, 4))('%s from %s to %s meets exactly what the specification says', async (panel, from, to) => {
    const file = panels.get(panel);
    expect(file).toBeDefined();
    if (file === undefined) return;
    const { differences, partedAt } = await compareEmbedded(file, { from, to }, OPTIONS);
    const rows = Object.values(VERSIONING).filter(({ has }) => has[from] !== has[to]);
    const [left, right] = [revisionNamed(from), revisionNamed(to)];
    const changes = changesIn([{ name: panel, scenario: file.scenario, differences }], { left, right });
    const places = changes.map((each) => `${each.operation} ${each.where}`);
    expect(places).toEqual(rows.flatMap((row) => row.places[panel] ?? []).sort());
    // Nothing but a change that one of them refused makes them part.
    expect(
      partedAt === null || rows.some((row) => row.places[panel]?.some((place) => /^(?:put|add)/.test(place))),
    ).toBe(true);
    for (const { operation, because } of changes) expect(because, operation).not.toBeNull();
  });
});

describe('a recorded subscriber', () => {
  const APP = 'v2rayNG/1.8.5 (Android 14; hunter2)';
  const link = 'ostp://6f1d2c3b4a596877@vpn.example.com:50000';
  const recorder = new Recorder({
    ...{ apiRoot: '/panel/api', base: '/panel', revision: '0.2.48', date: '2026-11-29', keepValues: false },
    traits: revisionNamed('dns'),
  });
  recorder.add({
    ...{ sequence: 1, client: 'c', method: 'GET', path: '/panel/api/subscribe/6f1d2c3b4a596877' },
    requestHeaders: new Map([
      ['user-agent', APP],
      ['accept', 'text/plain'],
    ]),
    requestBody: Buffer.alloc(0),
    status: 200,
    responseHeaders: new Map([['content-type', 'application/json']]),
    responseBody: Buffer.from(JSON.stringify({ ok: true, data: link })),
  });
  const scenario = recorder.scenario(1);
  const file: ScenarioFile = { kind: 'scenario', name: 'session', path: '', scenario, register: null };

  test('is known by the first word of its program, and its key stands on the cores that it is played on', async () => {
    expect(scenario.exchanges).toMatchObject([{ request: { headers: { 'user-agent': 'v2rayNG/1.8.5' } } }]);
    const { differences, unplayed } = await compareEmbedded(file, { from: '0.2.48', to: '0.2.96' }, OPTIONS);
    expect(unplayed).toEqual([]);
    const sides = { left: revisionNamed('dns'), right: revisionNamed('current') };
    expect(changesIn([{ name: 'session', scenario, differences }], sides)).toMatchObject([
      { client: 'v2rayNG/1.8.5', operation: 'subscribe', where: 'body /data', met: 1, calls: 1 },
    ]);
  });

  test('whose key nobody knows is not played, rather than equal', async () => {
    const unknown = { ...scenario, given: {} };
    const compared = await compareEmbedded({ ...file, scenario: unknown }, { from: '0.2.48', to: '0.2.96' }, OPTIONS);
    expect(comparedResult(file, compared)).toMatchObject({
      outcome: 'skipped',
      reason: 'step 1 is not played: <key:1> has no value yet: no answer before this step told one',
    });
  });
});

test('a client that writes the configuration back meets the other layout of the line that it moves to', async () => {
  const request = { method: 'GET', path: '/server/config' };
  const config = { mode: 'server', access_keys: ['alpha'] };
  const scenario: Scenario = {
    ...{ title: 't', revision: 'current', source: 'recorded', given: { config } },
    exchanges: [
      { operation: 'getConfig', request, response: { status: 200 } },
      { operation: 'putConfig', request: { ...request, method: 'PUT', body: config }, response: { status: 200 } },
    ],
  };
  const file: ScenarioFile = { kind: 'scenario', name: 's', path: '', scenario, register: null };
  const { differences } = await compareEmbedded(file, { from: '0.2.96', to: '0.3.21' }, OPTIONS);
  const sides = { left: revisionNamed('current'), right: revisionNamed('0.3.21') };
  const changes = changesIn([{ name: 's', scenario, differences }], sides);
  expect(changes.map(({ operation, where, because }) => `${operation} ${where} ${because}`)).toEqual(
    [
      'getConfig body /data/access_keys',
      'getConfig body /data/inbounds',
      'getConfig body /data/outbounds',
      'putConfig status',
    ].map((place) => `${place} file layout: access_keys → inbounds`),
  );
});

describe('a change between two lines', () => {
  const kind = (from: string, to: string, operation: string, where: string, expected: unknown, actual: unknown) =>
    changeOf({ step: 1, operation, where, expected, actual } as Parameters<typeof changeOf>[0], {
      left: revisionNamed(from),
      right: revisionNamed(to),
    });

  test.each([
    [
      'a read that is refused',
      '0.2.51',
      'dns',
      'listUsers',
      'status',
      200n,
      401n,
      'reads',
      'auth: session or static token → session token',
    ],
    [
      'a preflight that is not answered any more',
      '0.4.6',
      '0.4.7',
      'cors',
      'status',
      200n,
      405n,
      'reads',
      'other origins: may call → may not call',
    ],
    [
      'rules that the other layout has no place for',
      'current',
      '0.3.21',
      'putRules',
      'status',
      200n,
      400n,
      'gone',
      'file layout: access_keys → inbounds',
    ],
    [
      'a member that is gone',
      'current',
      'dns',
      'getUser',
      'body /data/last_seen',
      null,
      undefined,
      'gone',
      'snapshot: name, last_seen → name',
    ],
    ['what no record names', 'dns', 'current', 'getStatus', 'body /data/total_users', 1n, 2n, 'new', null],
  ] as const)('that is %s is told as that', (_, from, to, operation, where, expected, actual, wanted, because) => {
    expect(kind(from, to, operation, where, expected, actual)).toEqual({ kind: wanted, because });
  });
});
