import { describe, expect, test } from 'vitest';
import { playEmbedded } from '../../src/embedded/play.js';
import { stageScenario } from '../../src/embedded/stage.js';
import { exchangesOf, type Scenario } from '../../src/lab/format/scenario.js';
import { playScenario } from '../../src/lab/play/play.js';
import { scenariosOf } from '../acceptance/pack.js';
import { PATIENT } from '../acceptance/stage.js';

const JSON_BODY = { 'content-type': 'application/json' };

/** Asks an open API for everything that a server makes up itself: keys, ids, times, its uptime. */
const SCENARIO: Scenario = {
  title: 'what a server makes up',
  revision: 'current',
  source: 'spec',
  given: {
    config: { mode: 'server', access_keys: ['alpha'] },
    counters: [
      { access_key: 'alpha', bytes_up: 18446744073709551615n, bytes_down: 9007199254740993n, connections: 2n },
    ],
  },
  exchanges: [
    {
      operation: 'createUser',
      request: { method: 'POST', path: '/users', headers: JSON_BODY, body: {} },
      response: { status: 200 },
    },
    {
      operation: 'bulkCreateUsers',
      request: { method: 'POST', path: '/users/bulk', headers: JSON_BODY, body: { count: 3n } },
      response: { status: 200 },
    },
    {
      operation: 'addAudit',
      request: {
        method: 'POST',
        path: '/audit',
        headers: JSON_BODY,
        body: { eventEn: 'a', eventRu: 'b', success: true },
      },
      response: { status: 200 },
    },
    ...['/audit', '/users', '/server/status'].map((path) => ({
      operation: 'read',
      request: { method: 'GET', path },
      response: { status: 200 },
    })),
  ],
};

/** Every answer's body, played on an embedded core of its own. */
async function answers(files: 'disk' | 'memory'): Promise<readonly string[]> {
  const staged = await stageScenario(SCENARIO, 'current', { files });
  const bodies: string[] = [];
  try {
    await playScenario(SCENARIO, { ...staged, ...PATIENT, onStep: ({ answer }) => bodies.push(String(answer?.body)) });
  } finally {
    await staged.close();
  }
  return bodies;
}

describe('an embedded core', () => {
  test("is asked by a scenario of Keyway's own interface, and a difference names the call", async () => {
    const [packed] = scenariosOf('v1').filter(({ name }) => name === 'keys');
    if (packed === undefined) throw new Error('no scenario v1/keys');
    const { file: path, name, scenario } = packed;
    const play = (played: Scenario) =>
      playEmbedded(
        { kind: 'scenario', name, path, scenario: played, register: null },
        { revision: null, timeoutMilliseconds: 10_000, isStopped: () => false },
      );
    expect(await play(scenario)).toMatchObject({ outcome: 'equal', differences: [] });
    const [first] = exchangesOf(scenario);
    if (first === undefined) throw new Error('a scenario without exchanges');
    const { then: _, ...begun } = scenario;
    const other = { ...begun, exchanges: [{ ...first, response: { status: 202 } }] };
    expect(await play(other)).toMatchObject({
      outcome: 'different',
      differences: [{ step: 1, request: 'GET {base}/keyway/v1/keys', where: 'status' }],
    });
  });

  test('answers the same bytes every time: its clock and its randomness are fixed, wherever its files are', async () => {
    const first = await answers('memory');
    expect(first).toHaveLength(6);
    for (const body of first) expect(body).toContain('"ok":true');
    expect(await answers('memory')).toEqual(first);
    expect(await answers('disk')).toEqual(first);
  });

  test('stands in the given state, counters included, exactly', async () => {
    const users = (await answers('memory'))[4];
    expect(users).toMatch(/"bytes_up":18446744073709551615,"bytes_down":9007199254740993,"connections":2/);
  });
});
