import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { createCaller } from '../../src/client/caller.js';
import { playEmbedded } from '../../src/embedded/play.js';
import { formatScenario } from '../../src/lab/format/format.js';
import { differenceInWords } from '../../src/lab/format/json-difference.js';
import { isExchange, readScenario, type Scenario } from '../../src/lab/format/scenario.js';
import type { TargetPlayer } from '../../src/lab/live/target-player.js';
import type { PlayedStep } from '../../src/lab/play/play.js';
import type { ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { standInsFor } from '../../src/lab/play/stand-ins.js';
import { Recorder } from '../../src/lab/record/recorder.js';
import { updatedScenario } from '../../src/lab/record/update.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { isJsonObject } from '../../src/wire/json/json.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { openLiveServer, PASSWORD, playerOn, TOKEN, USERNAME } from './live-server.js';

/** What is asked for is what the answers say, not that they last. */
const WITHOUT_SYNC = { ...createFileSystem(), sync: async () => {}, syncFolder: async () => {} };

const DATE = '2026-01-01';

/** What a client asks of a server of any line: each operation that can be undone, whether the line serves it or not. */
const ASKED: readonly (readonly [
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
])[] = [
  ['GET', '/server/status'],
  ['GET', '/users'],
  ['GET', '/users/foreign-1'],
  ['GET', '/users/nobody'],
  ['GET', '/server/config'],
  ['POST', '/users', { access_key: 'client-made', name: 'Made', limit_bytes: 5 }],
  ['POST', '/users', { name: 'Generated' }],
  ['POST', '/users/bulk', { count: 1 }],
  ['PUT', '/users/client-made', { name: 'Renamed' }],
  ['PUT', '/users/client-made/limit', { limit_bytes: 'many' }],
  ['PUT', '/users/client-made/limit', { limit_bytes: 9 }],
  ['GET', '/users/client-made'],
  ['GET', '/subscribe/client-made', undefined, { accept: 'text/plain' }],
  ['GET', '/subscribe/client-made'],
  ['GET', '/subscribe/nobody'],
  ['DELETE', '/users/client-made'],
  ['GET', '/audit'],
  ['GET', '/router/rules'],
  ['GET', '/dns/config'],
  ['GET', '/dns/queries'],
  ['GET', '/nothing'],
  ['PATCH', '/users'],
];

/** A session that `keyway record` wrote of a client on a server. */
async function recordOn(origin: string, revision: Revision): Promise<Scenario> {
  const { api, base } = revision.root.paths('');
  const recorder = new Recorder({
    apiRoot: api,
    base,
    traits: revision,
    revision: revision.from,
    date: DATE,
    keepValues: false,
  });
  const caller = createCaller({ origin, timeoutMilliseconds: 10_000 });
  let sequence = 0;
  const ask = async (method: string, path: string, body?: unknown, given: Readonly<Record<string, string>> = {}) => {
    const requestBody = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
    const requestHeaders = new Map(
      Object.entries({ ...given, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }),
    );
    const answer = await caller.send({
      method,
      path: api + path,
      headers: requestHeaders,
      body: body === undefined ? undefined : requestBody,
    });
    sequence += 1;
    const { status, headers: responseHeaders, body: responseBody } = answer;
    recorder.add({
      sequence,
      client: 'c',
      method,
      path: api + path,
      requestHeaders,
      requestBody,
      status,
      responseHeaders,
      responseBody,
    });
    return answer;
  };
  await ask('GET', '/server/status');
  const login = await ask('POST', '/login', { username: USERNAME, password: PASSWORD });
  const session = login.status === 200 ? JSON.parse(login.body.toString()).data.token : null;
  const authorization = `Bearer ${session ?? TOKEN}`;
  for (const [method, path, body, headers = {}] of ASKED) await ask(method, path, body, { authorization, ...headers });
  caller.close();
  const [first] = recorder.sessions;
  return recorder.scenario(first ?? 0);
}

const fileOf = (scenario: Scenario): ScenarioFile => ({
  kind: 'scenario',
  name: 'r',
  path: 'r.json',
  scenario,
  register: null,
});

async function updatedFrom(player: TargetPlayer, scenario: Scenario, revision: Revision): Promise<Scenario> {
  const steps: PlayedStep[] = [];
  const bindings = standInsFor(scenario, player.keyPrefix, { username: USERNAME, traits: revision });
  const result = await player.play(fileOf(scenario), { bindings, onStep: (step) => steps.push(step) });
  if (result.reason !== null) throw new Error(result.reason);
  const { facts, target } = player;
  const marks = { serverVersion: facts.version, date: DATE, revision: revision.from, traits: revision, target };
  return updatedScenario(scenario, { steps, bindings }, marks);
}

/** What a plain replay of a scenario's file differs in. */
async function replayed(scenario: Scenario): Promise<readonly string[]> {
  const file = fileOf(readScenario(formatScenario(scenario), 'r.json'));
  const { reason, differences } = await playEmbedded(file, {
    revision: null,
    timeoutMilliseconds: 10_000,
    isStopped: () => false,
  });
  return [
    ...(reason === null ? [] : [reason]),
    ...differences.map((each) => `${each.step}: ${differenceInWords(each)}`),
  ];
}

const statusesOf = ({ exchanges }: Scenario) =>
  exchanges.filter(isExchange).map(({ request, response }) => `${request.method} ${request.path} ${response.status}`);

const errorsIn = ({ exchanges }: Scenario) =>
  exchanges
    .filter(isExchange)
    .flatMap(({ response: { body } }) => (isJsonObject(body) && body.error ? [body.error] : []));

/** Every pair where it is asked for (`ALL_PAIRS=1`); else each line with the one after it, there and back, and the first with the last. */
function isPlayed(from: Revision, to: Revision): boolean {
  if (process.env.ALL_PAIRS !== undefined) return true;
  const [here, there] = [REVISIONS.indexOf(from), REVISIONS.indexOf(to)];
  return there === (here + 1) % REVISIONS.length;
}

describe('a recording that is updated from a server of another line', () => {
  const recordings = new Map<Revision, Scenario>();
  const players = new Map<Revision, TargetPlayer>();
  const close: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    for (const revision of REVISIONS) {
      const server = await openLiveServer(revision.from, {}, { fileSystem: WITHOUT_SYNC });
      close.push(server.close);
      recordings.set(revision, await recordOn(server.origin, revision));
      players.set(revision, await playerOn(server.origin, revision.from, { writes: true }));
    }
  });
  afterAll(async () => {
    for (const player of players.values()) await player.finish();
    await Promise.all(close.map((each) => each()));
  });

  test.each(
    REVISIONS.map((revision) => [revision.id, revision] as const),
  )('from %s, replayed plainly, holds; updated back it says what it said', async (_, from) => {
    const recording = recordings.get(from);
    const home = players.get(from);
    if (recording === undefined || home === undefined) throw new Error('no recording');
    expect(await replayed(recording)).toEqual([]);
    for (const [to, player] of players) {
      if (to === from || !isPlayed(from, to)) continue;
      const updated = await updatedFrom(player, recording, to);
      expect(updated.revision).toBe(to.from);
      expect(await replayed(updated), `${from.id} updated from ${to.id}`).toEqual([]);
      // The API's own words are kept: nothing of somebody's is in them.
      expect(errorsIn(updated).filter((each) => String(each).startsWith('<text:'))).toEqual([]);
      const back = await updatedFrom(home, updated, from);
      expect(statusesOf(back), `${from.id} over ${to.id}`).toEqual(statusesOf(recording));
      expect(errorsIn(back)).toEqual(errorsIn(recording));
    }
  });
});
