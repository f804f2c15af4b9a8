import type { RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readScenario, type Scenario } from '../../src/lab/format/scenario.js';
import type { ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { WHOLE } from '../whole.js';
import { playerOn, startLiveServer } from './live-server.js';
import { describePack } from './target-packs.js';

describePack('current', WHOLE ? ['current', 'recorded/0.2.96'] : ['current']);

const STATUS_SCENARIO: Scenario = readScenario(
  JSON.stringify({
    title: 'a status without a credential',
    revision: 'current',
    source: 'recorded',
    given: {},
    exchanges: [
      {
        operation: 'getStatus',
        request: { method: 'GET', path: '/server/status' },
        response: { status: 401, body: { ok: false, error: 'unauthorized' } },
      },
    ],
  }),
  'status.json',
);

const FILE: ScenarioFile = {
  kind: 'scenario',
  name: 'status',
  path: 'status.json',
  scenario: STATUS_SCENARIO,
  register: null,
};

const NOBODY = { token: null, operator: null };

describe('a target that misbehaves', () => {
  test('which nobody listens at is an error at the start', async () => {
    await expect(playerOn('http://127.0.0.1:1', 'current')).rejects.toThrow('nobody listens there');
  });

  test('which is no such server is an error at the start', async () => {
    const { origin } = await scriptedServer((_request, response) => response.writeHead(404).end('nothing'));
    await expect(playerOn(origin, 'current', { credentials: NOBODY })).rejects.toThrow('answers 404');
  });

  /** The first answer is the one that the player asks for at the start. */
  async function resultAfterFirst(misbehave: RequestListener) {
    let count = 0;
    const { origin } = await scriptedServer((request, response) => {
      count += 1;
      if (count === 1) response.writeHead(401, { 'content-type': 'application/json' }).end('{"ok":false}');
      else misbehave?.(request, response);
    });
    const player = await playerOn(origin, 'current', { credentials: NOBODY });
    return player.play(FILE, {});
  }

  test('which answers no JSON is reported with what came', async () => {
    const result = await resultAfterFirst((_request, response) => response.writeHead(401).end('<html>'));
    expect(result.differences.map(({ where, actual }) => [where, actual])).toEqual([
      ['header content-type', undefined],
      ['body', '<html>'],
    ]);
  });
});

describe('a recording on a live server', () => {
  function recording(...exchanges: readonly object[]): ScenarioFile {
    const content = { title: 't', revision: 'current', source: 'recorded', given: {}, anonymous: true, exchanges };
    return { ...FILE, scenario: readScenario(JSON.stringify(content), 'r.json') };
  }
  const authorized = { authorization: 'Bearer <secret:1>', 'content-type': 'application/json' };

  test('that changes a key of others is not played', async () => {
    const server = await startLiveServer('current');
    const player = await playerOn(server.origin, 'current', { writes: true });
    onTestFinished(async () => void (await player.finish()));
    const file = recording({
      operation: 'deleteUser',
      request: { method: 'DELETE', path: '/users/<key:1>', headers: authorized },
      response: { status: 200, body: { ok: true, data: 'User removed' } },
    });
    expect(await player.play(file, {})).toMatchObject({
      outcome: 'skipped',
      reason: 'step 1 changes a key that the scenario does not make',
    });
  });

  test('that makes a key which somebody has is stopped before it is sent', async () => {
    const server = await startLiveServer('current');
    const keys = server.keys();
    const player = await playerOn(server.origin, 'current', { writes: true });
    const file = recording({
      operation: 'createUser',
      request: { method: 'POST', path: '/users', headers: authorized, body: { access_key: 'foreign-1' } },
      response: { status: 200, body: { ok: true, data: 'foreign-1' } },
    });
    const result = await player.play(file, {});
    expect(String(result.differences[0]?.actual)).toContain('not sent');
    expect((await player.finish()).left).toEqual([]);
    expect(server.keys()).toEqual(keys);
  });
});
