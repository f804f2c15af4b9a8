import { expect, it, onTestFinished, vi } from 'vitest';
import { Actors } from '../../src/core/actors.js';
import type { Backend, KeyChange, KeyChanges } from '../../src/core/backend.js';
import { DomainError } from '../../src/core/errors.js';
import { LocalRecords } from '../../src/core/kept-records.js';
import { KeyMakers } from '../../src/core/keys/key-makers.js';
import { KeyNotes } from '../../src/core/keys/key-notes.js';
import { recordOf } from '../../src/core/keys/key-record.js';
import { STATIC } from '../../src/core/principal.js';
import { allJobs, itemsRecord, jobRecord, onceRecord } from '../../src/own-api/job-records.js';
import { Jobs } from '../../src/own-api/jobs.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { silent } from '../homes/database/gateways.js';
import { createFastClock, createFastTimers } from '../homes/upstream/fast-time.js';
import { openFrontBackend } from '../homes/upstream/open-front.js';
import { apiOf, CREDENTIALS } from '../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../stand-in/test-stand-in.js';
import { someOf } from '../whole.js';
import { ownStage } from './stage.js';

const DAY = 86_400_000;

/** Jobs over a state in memory, or another, with records of their own and a clock that stands still. */
async function stage(options: Parameters<typeof ownStage>[0] = {}) {
  const now = { time: Date.UTC(2026, 10, 23), passed: 0 };
  const clock = { now: () => now.time, monotonic: () => now.passed };
  const { app } = await ownStage(options);
  const { core, backend } = app.keyway;
  const records = new LocalRecords();
  const makers = new KeyMakers(records, clock, backend.keys);
  const named = { isHeld: (_name: string, _token: string) => true };
  const told: string[] = [];
  const start = ({ over = backend, ends = true } = {}) => {
    const notes = new KeyNotes(records, backend.keys);
    const own = { core, records, makers, notes, actors: new Actors(clock), clock, log: silent, random: systemRandom };
    const jobs = new Jobs({
      ...own,
      named,
      backend: over,
      rotations: { follow: async () => undefined },
      onEnded: async ({ id }, _outcome, isTold) => void ((await records.change([isTold])) && told.push(id)),
    });
    jobs.start();
    if (ends) onTestFinished(() => jobs.close());
    return jobs;
  };
  return { now, core, backend, records, named, told, start };
}

const create = (accessKey: string) => ({ op: 'create', key: recordOf(accessKey, {}) }) as const;

it('the oldest of more than a thousand ended batches is not kept, and is not made again under its key for a day', async () => {
  const { now, core, records, start } = await stage();
  const ended = (index: number) => ({
    ...{ id: `${index}`, owner: 'static', may: 'all', state: 'done', total: 1, chunk: 1 },
    ...{ createdAt: now.time + index, notBefore: 0, startedAt: 0, endedAt: now.time + index },
    ...{ once: onceRecord('static', `${index}`), stops: false, isPaused: false, isTold: true },
  });
  for (let index = 0; index < 1001; index += 1) {
    await records.change([
      { kind: 'jobs', id: jobRecord(`${index}`), body: JSON.stringify(ended(index)) },
      { kind: 'jobs', id: itemsRecord(`${index}`), body: '[]' },
      {
        kind: 'jobs',
        id: onceRecord('static', `${index}`),
        body: JSON.stringify({ job: `${index}`, digest: 'same' }),
      },
    ]);
  }
  const jobs = start();
  const begin = (key: string) =>
    jobs.begin({ by: STATIC, changes: [create(key)], delay: 0, once: { key, digest: 'same' } });
  await expect.poll(() => allJobs(records)).toHaveLength(1000);
  expect(() => jobs.find(STATIC, '0')).toThrow('there is no such job');
  expect(records.of('jobs').has(itemsRecord('0'))).toBe(false);
  await expect(begin('0')).rejects.toMatchObject({ code: 'conflict' });
  expect(await begin('1')).toMatchObject({ id: '1', state: 'done' });
  now.time += DAY + 1001;
  await jobs.ended((await begin('0')).id, 30_000);
  expect(core.keys.get('0')).toBeDefined();
  await expect.poll(() => [...records.of('jobs').keys()].filter((id) => id.startsWith('once/'))).toHaveLength(1);
});

it('of more than ten thousand ended uses of Idempotency-Keys the oldest of that owner are forgotten, and nobody else’s', async () => {
  const { now, records, start } = await stage();
  const answers = (owner: string, count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ kind: 'jobs' as const, id: onceRecord(owner, `${from + index}`) },
      body: JSON.stringify({ digest: 'same', owner, successor: 'b', endedAt: now.time }),
    }));
  await records.change([...answers('other', 1), ...answers('bot', 10_002)]);
  start();
  const isKept = (owner: string, key: number) => records.of('jobs').has(onceRecord(owner, `${key}`));
  await expect.poll(() => isKept('bot', 1)).toBe(false);
  expect([isKept('other', 0), isKept('bot', 0), isKept('bot', 2)]).toEqual([true, false, true]);
  const parsed = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parsed.mockRestore());
  await records.change(answers('bot', 1, 10_002));
  await expect.poll(() => isKept('bot', 2)).toBe(false);
  expect(isKept('bot', 3)).toBe(true);
  // What is left is not read again for each that comes.
  expect(parsed.mock.calls.length).toBeLessThan(20);
});

it('of ended batches that are large only those of 64 MiB are kept', async () => {
  const { now, records, start } = await stage();
  for (let index = 0; index < 5; index += 1) {
    const job = {
      ...{ id: `${index}`, owner: 'static', may: 'all', state: 'stopped', total: 1, chunk: 1, once: null },
      ...{ createdAt: index, notBefore: 0, startedAt: null, endedAt: now.time, stops: false, isPaused: false },
      isTold: true,
    };
    await records.change([
      { kind: 'jobs', id: jobRecord(job.id), body: JSON.stringify(job) },
      { kind: 'jobs', id: itemsRecord(job.id), body: 'x'.repeat(20 * 2 ** 20) },
    ]);
  }
  start();
  await expect.poll(() => allJobs(records).map(({ id }) => id)).toEqual(['2', '3', '4']);
});

it.each(
  someOf(
    [
      { home: 'where changes are made together', areTogether: true },
      { home: 'where each is a call of its own', areTogether: false },
    ],
    1,
  ),
)('changes of one key go on where Keyway ended behind any of them, $home', async ({ areTogether }) => {
  const changes: readonly KeyChange[] = [
    { op: 'delete', accessKey: 'nobody' },
    create('a'),
    { op: 'delete', accessKey: 'a' },
    create('c'),
    { op: 'delete', accessKey: 'a' },
    { op: 'create', key: recordOf('a', { limitBytes: 5n }) },
    { op: 'create', key: recordOf('a', { limitBytes: 6n }) },
    { op: 'update', accessKey: 'a', update: { name: 'Anna' } },
    { op: 'delete', accessKey: 'a' },
    { op: 'update', accessKey: 'a', update: { name: 'Nobody' } },
    { op: 'delete', accessKey: 'a' },
    create('b'),
    { op: 'delete', accessKey: 'c' },
    { op: 'delete', accessKey: 'nobody' },
  ];
  const gone = 'userNotFound';
  const expected = [gone, true, true, true, gone, true, true, true, true, gone, gone, true, true, gone];
  for (let ending = 1; ending <= changes.length; ending += 1) {
    const { core, backend, start } = await stage();
    let calls = 0;
    let isKilled = false;
    /** Answers to none of the calls from the last one on. */
    const told = async <T>(made: Promise<T>): Promise<T> => {
      calls += 1;
      const value = await made;
      if (calls < ending) return value;
      isKilled = true;
      return new Promise(() => undefined);
    };
    const made = areTogether ? backend.changes : { ...backend.changes, most: 1 };
    const dying: Backend = { ...backend, changes: { ...made, apply: (...of) => told(made.apply(...of)) } };
    const jobs = start({ over: dying, ends: false });
    const { id } = await jobs.begin({ by: STATIC, changes, delay: 0, once: null });
    await expect.poll(() => isKilled || jobs.find(STATIC, id).endedAt !== null).toBe(true);
    // What would be recorded in this turn of the event loop is.
    await new Promise(setImmediate);
    const next = start({ over: { ...backend, changes: made } });
    await next.ended(id, 30_000);
    const job = next.find(STATIC, id);
    const outcomes = next.outcomesOf(job).map((outcome) => outcome?.code ?? true);
    expect([ending, outcomes]).toEqual([ending, expected]);
    expect([...core.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['b']);
  }
});

it.each([
  ['outlives the next start of the server', false],
  ['is made again where the key is back before it is taken over', true],
])('a deletion that a batch made on 0.3.21 when Keyway was killed %s', async (_what, isBack) => {
  const standIn = await standInOf('0.3.21', LOSES_NOTHING);
  const clock = createFastClock(20);
  const timers = createFastTimers(20);
  const over = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock,
    timers,
    dataFolder: null,
    fileSystem: createFileSystem(),
    log: silent,
  });
  const { core, backend, start } = await stage({ backend: over, clock });
  let isKilled = false;
  const apply = async () => {
    await apiOf(standIn)('DELETE', '/users/alpha');
    isKilled = true;
    return new Promise<never>(() => undefined);
  };
  const jobs = start({ over: { ...backend, changes: { ...backend.changes, apply } }, ends: false });
  const changes: readonly KeyChange[] = [{ op: 'delete', accessKey: 'alpha' }];
  const { id } = await jobs.begin({ by: STATIC, changes, delay: 0, once: null });
  await expect.poll(() => isKilled).toBe(true);
  const adopt = async (change: KeyChange) => {
    if (isBack) await apiOf(standIn)('POST', '/users', { access_key: 'alpha', name: 'Alpha' });
    // What was seen of the key is too old by then.
    if (isBack) await timers.wait(2_000);
    return backend.adopt?.(change) ?? true;
  };
  const next = start({ over: { ...backend, adopt } });
  await next.ended(id, 30_000);
  expect(next.outcomesOf(next.find(STATIC, id))).toEqual([null]);
  await expect.poll(() => standIn.keys().map(({ accessKey }) => accessKey)).toEqual(['beta']);
  // Before what waits is stored for it, and after.
  for (const _ of ['first', 'second']) {
    await standIn.restart();
    await expect.poll(() => standIn.keys().map(({ accessKey }) => accessKey)).toEqual(['beta']);
  }
  expect(await core.key('alpha')).toBeUndefined();
});

it('a change whose answer was lost is looked up by the next Keyway where this one ended while it waited', async () => {
  const { core, backend, start } = await stage();
  let isLost = false;
  const apply: KeyChanges['apply'] = async (...asked) => {
    const outcomes = await backend.changes.apply(...asked);
    isLost = core.keys.get('a') === undefined;
    if (isLost) throw new DomainError('outcomeUnknown');
    return outcomes;
  };
  const jobs = start({ over: { ...backend, changes: { ...backend.changes, apply } }, ends: false });
  const changes: readonly KeyChange[] = [create('a'), { op: 'delete', accessKey: 'a' }];
  const { id } = await jobs.begin({ by: STATIC, changes, delay: 0, once: null });
  await expect.poll(() => isLost).toBe(true);
  await jobs.close();
  const next = start();
  await next.ended(id, 30_000);
  expect(next.outcomesOf(next.find(STATIC, id))).toEqual([null, null]);
});

it('a list of ended batches is told without a look at the outcomes of their items', async () => {
  const { app, call } = await ownStage();
  const items = [...Array.from({ length: 20 }, () => ({ op: 'create' })), { op: 'delete', access_key: 'nobody' }];
  await call('POST /keys/batch?wait=30', { body: { items } });
  const looked = vi.spyOn(app.keyway.home.backend.records.of('jobs') as Map<string, string>, 'get');
  expect(await call('GET /jobs')).toMatchObject({ body: { data: [{ state: 'done', done: 20n, failed: 1n }] } });
  expect(looked.mock.calls.filter(([id]) => id.startsWith('out/'))).toEqual([]);
});

it('a page of batches behind one that is not kept any more is empty, and not the first one again', async () => {
  const { call } = await ownStage();
  for (const key of ['a', 'b'])
    await call('POST /keys/batch?wait=30', { body: { items: [{ op: 'create', access_key: key }] } });
  expect(await call('GET /jobs?limit=1&after=forgotten')).toMatchObject({ status: 200, body: { data: [] } });
});

it('an item that is no object is named, with what was expected of it', async () => {
  const { call } = await ownStage();
  const answer = await call('POST /keys/batch', { body: { items: [{ op: 'create' }, null] } });
  expect(answer.body).toMatchObject({ error: 'items[1]: expected a JSON object' });
});

it('a batch that is held back begins after that time, however far the time of day is set back meanwhile', async () => {
  const { now, core, start } = await stage();
  const jobs = start();
  const { id } = await jobs.begin({ by: STATIC, changes: [create('late')], delay: 5_000, once: null });
  now.time -= DAY;
  now.passed += 4_999;
  await jobs.begin({ by: STATIC, changes: [create('other')], delay: 0, once: null });
  await expect.poll(() => core.keys.get('other')).toBeDefined();
  expect(jobs.find(STATIC, id).state).toBe('waiting');
  now.passed += 1;
  await jobs.begin({ by: STATIC, changes: [create('another')], delay: 0, once: null });
  await expect.poll(() => jobs.find(STATIC, id).state).toBe('done');
});

it('a batch that was kept before the time of day was set back waits a minute at most', async () => {
  const { now, records, start } = await stage();
  const before = start({ ends: false });
  const { id } = await before.begin({ by: STATIC, changes: [create('late')], delay: 60_000, once: null });
  await before.close();
  now.time -= DAY;
  const jobs = start();
  await expect.poll(() => allJobs(records).length).toBe(1);
  now.passed += 60_000;
  await jobs.begin({ by: STATIC, changes: [create('other')], delay: 0, once: null });
  await expect.poll(() => jobs.find(STATIC, id).state).toBe('done');
});

it('a batch ends with the token that began it, waiting or running, and one of the same name revives nothing', async () => {
  const { core, backend, records, named, start } = await stage();
  const held = new Set(['first']);
  named.isHeld = (_name, token) => held.has(token);
  const made: string[] = [];
  const apply: KeyChanges['apply'] = async ([asked]) => {
    made.push(asked?.op === 'create' ? asked.key.accessKey : '');
    if (made.length > 1) return [null];
    held.clear();
    held.add('second');
    await records.change([{ kind: 'tokens', id: 'bot', body: '{}' }]);
    return [null];
  };
  const jobs = start({ over: { ...backend, changes: { ...backend.changes, most: 1, apply } } });
  const by = { name: 'bot', may: 'keys', token: 'first' } as const;
  const begin = (keys: readonly string[], delay: number) =>
    jobs.begin({ by, changes: keys.map(create), delay, once: null });
  const waiting = await begin(['x', 'y'], 30_000);
  const running = await begin(['a', 'b', 'c'], 0);
  const reason = 'the token bot has ended';
  await expect
    .poll(() => jobs.find(STATIC, running.id))
    .toMatchObject({ state: 'stopped', reason, counts: { done: 1 } });
  await expect.poll(() => jobs.find(STATIC, waiting.id)).toMatchObject({ state: 'stopped', reason, isTold: true });
  expect(made).toEqual(['a']);
  const told = (await core.audit.list()).map(({ eventEn }) => eventEn).filter((text) => text.endsWith(reason));
  expect(told).toHaveLength(2);
});

it('a batch whose server is away when its first change is looked at makes every change, soon after', async () => {
  const { core, backend, start } = await stage();
  await core.createUser({ accessKey: 'there' });
  const made: string[] = [];
  const apply: KeyChanges['apply'] = (changes, how) => {
    made.push(...changes.map(({ op }) => op));
    return backend.changes.apply(changes, how);
  };
  const jobs = start({ over: { ...backend, changes: { ...backend.changes, most: 1, apply } } });
  vi.spyOn(core, 'key').mockRejectedValueOnce(new DomainError('backendAway'));
  // A create of a key that is there sets its counters to zero, which a look at the key does not tell.
  const changes: readonly KeyChange[] = [create('there'), { op: 'delete', accessKey: 'nobody' }];
  const { id } = await jobs.begin({ by: STATIC, changes, delay: 0, once: null });
  await jobs.ended(id, 30_000);
  expect(jobs.find(STATIC, id).state).toBe('done');
  expect(made).toEqual(['create', 'delete']);
});
