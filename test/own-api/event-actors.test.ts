import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { EventKey } from '../../src/own-api/events.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { someOf, WHOLE } from '../whole.js';
import { databaseStage, fileStage, frontStage } from './homes.js';
import { callerOf, type OwnReply, type OwnStage, ownStage, TOKEN } from './stage.js';

interface Told {
  readonly data: {
    readonly token: string;
    readonly access_key: string;
    readonly cursor: string;
    readonly events: readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[];
    readonly items: readonly { readonly access_key: string }[];
  };
}

const HEADERS = { authorization: `Bearer ${TOKEN}` };

const dataOf = ({ body }: OwnReply) => (body as unknown as Told).data;

const toldBy = async ({ call }: Pick<OwnStage, 'call'>) => dataOf(await call('GET /events')).events;

/** Resolves to all events once one that is asked for has come. */
async function until(stage: Pick<OwnStage, 'call'>, type: string, count = 1) {
  const there = async () => (await toldBy(stage)).filter((event) => event.type === type).length;
  await expect.poll(there).toBe(count);
  return toldBy(stage);
}

async function asToken({ app, call }: OwnStage, name: string, may: string): Promise<Pick<OwnStage, 'call'>> {
  const { token } = dataOf(await call('POST /tokens', { body: { name, may } }));
  const own = callerOf(app);
  return { call: (endpoint, asked) => own(endpoint, { ...asked, headers: { authorization: `Bearer ${token}` } }) };
}

const keysMade = ({ type, data }: Told['data']['events'][number]): readonly string[] =>
  type === 'key.created' ? (data.keys as EventKey[]).map((key) => key.access_key) : [];

const viaRevision = (stage: OwnStage, method: 'POST' | 'DELETE', path: string, payload?: object) =>
  stage.app.inject({
    ...{ method, url: `/panel/api${path}`, headers: HEADERS },
    ...(payload === undefined ? {} : { payload }),
  });

/** Where a run takes one home alone. */
const [HOME] = someOf(['file', 'database'], 1);

function testsOver(home: string, open: () => Promise<OwnStage>): void {
  it(`over ${home} events say who made, changed and removed a key, and a note's text is in none`, async () => {
    const stage = await open();
    await viaRevision(stage, 'POST', '/users', { access_key: 'a', name: 'Anna', limit_bytes: 7 });
    await until(stage, 'key.created');
    const bot = await asToken(stage, 'bot', 'keys');
    await bot.call('PATCH /keys/a', { body: { limit_bytes: 2n ** 40n } });
    await until(stage, 'key.changed');
    await bot.call('PATCH /keys/a', { body: { note: 'Nobody' } });
    await until(stage, 'key.changed', 2);
    await viaRevision(stage, 'DELETE', '/users/a');
    const events = await until(stage, 'key.removed');
    const key = { access_key: 'a', name: 'Anna' };
    const limited = [{ member: 'limit_bytes', from: 7n, to: 2n ** 40n }];
    expect(events.filter(({ type }) => type.startsWith('key.')).map(({ type, data }) => [type, data])).toEqual([
      ['key.created', { keys: [key], by: 'static' }],
      ['key.changed', { keys: [{ ...key, changes: limited }], by: 'bot' }],
      ['key.changed', { keys: [{ ...key, changes: [{ member: 'note' }] }], by: 'bot' }],
      ['key.removed', { keys: [key], by: 'static' }],
    ]);
    const { payload } = await stage.app.inject({ url: '/panel/keyway/v1/events', headers: HEADERS });
    expect(payload).not.toContain('Nobody');
  });

  it(`over ${home} a rotation is one event, of a batch, too`, async () => {
    const stage = await open();
    const items = ['a', 'b', 'c'].map((key) => ({ op: 'create', access_key: key, name: key, note: 'kept' }));
    await stage.call('POST /keys/batch?wait=30', { body: { items } });
    await until(stage, 'job.ended');
    const made = async () => (await toldBy(stage)).flatMap(keysMade);
    // One event where they were made within a second, which takes a busy server longer.
    await expect.poll(made).toEqual(['a', 'b', 'c']);
    const successor = dataOf(await stage.call('POST /keys/a/rotate', { body: {} })).access_key;
    await until(stage, 'key.rotated');
    const bot = await asToken(stage, 'bot', 'keys');
    const rotations = ['b', 'c'].map((key) => ({ op: 'rotate', access_key: key }));
    const turned = dataOf(await bot.call('POST /keys/batch?wait=30', { body: { items: rotations } })).items;
    await until(stage, 'job.ended', 2);
    await viaRevision(stage, 'POST', '/users', { access_key: 'last' });
    await expect.poll(made).toEqual(['a', 'b', 'c', 'last']);
    const rotated = (from: string, to = '') => ({
      ...{ access_key: to, name: from },
      changes: [{ member: 'access_key', from, to }],
    });
    const events = await toldBy(stage);
    // A note that comes more than a second behind its key is a change of it.
    const told = events.filter(({ type }) => type === 'key.rotated' || type === 'key.removed');
    expect(told.map(({ type, data }) => [type, data])).toEqual([
      ['key.rotated', { keys: [rotated('a', successor)], by: 'static' }],
      ['key.rotated', { keys: [rotated('b', turned[0]?.access_key), rotated('c', turned[1]?.access_key)], by: 'bot' }],
    ]);
    const makers = events.flatMap(({ type, data }) => (type === 'key.created' ? [data.by] : []));
    expect(new Set(makers)).toEqual(new Set(['static']));
  });
}

if (WHOLE || HOME === 'file') testsOver('a file', fileStage);
if (WHOLE) {
  testsOver('memory', ownStage);
  testsOver('a server', frontStage);
}
describeDatabase('over PostgreSQL', () => {
  if (WHOLE || HOME === 'database') testsOver('a database', databaseStage);

  it('events say who changed a key at another gateway than the one that writes them', async () => {
    const database = { url: await freshDatabase() };
    const first = await ownStage({ database });
    const second = await ownStage({ database });
    for (const [index, stage] of [first, second].entries())
      await viaRevision(stage, 'POST', '/users', { access_key: `key ${index}` });
    const made = async () =>
      (await toldBy(first)).flatMap(({ type, data }) =>
        type === 'key.created' ? (data.keys as EventKey[]).map((key) => [key.access_key, data.by]) : [],
      );
    await expect.poll(made).toHaveLength(2);
    expect(new Map((await made()).map(([key, by]) => [key, by]))).toEqual(
      new Map([0, 1].map((index) => [`key ${index}`, 'static'])),
    );
    const left = () => [...first.app.keyway.backend.records.of('events').keys()].filter((id) => id.startsWith('by/'));
    await expect.poll(left).toEqual([]);
  });
});

it('events name nobody for what another program does to a key whose address somebody has just asked for', async () => {
  const { configPath, ...stage } = await fileStage();
  await stage.call('POST /keys/batch?wait=30', { body: { items: [{ op: 'create', access_key: 'a', name: 'A' }] } });
  await until(stage, 'key.created');
  await stage.call('POST /keys/a/address');
  await writeFile(configPath, (await readFile(configPath, 'utf8')).replace('"A"', '"B"'));
  const changes = [{ member: 'name', from: 'A', to: 'B' }];
  expect((await until(stage, 'key.changed')).at(-1)?.data).toEqual({ keys: [{ access_key: 'a', name: 'B', changes }] });
});

it('events tell a token that sees its own keys alone neither who changed them nor that their notes did', async () => {
  const stage = await ownStage();
  const shop = await asToken(stage, 'shop', 'create');
  await shop.call('POST /keys/batch?wait=30', { body: { items: [{ op: 'create', access_key: 'own' }] } });
  await until(stage, 'key.created');
  await stage.call('PATCH /keys/own', { body: { limit_bytes: 5 } });
  await until(stage, 'key.changed');
  await stage.call('PATCH /keys/own', { body: { note: 'watched' } });
  await until(stage, 'key.changed', 2);
  const changes = [{ member: 'limit_bytes', from: null, to: 5n }];
  const told = (await toldBy(shop)).filter(({ type }) => type.startsWith('key.'));
  expect(told.map(({ data }) => data)).toEqual([
    { keys: [{ access_key: 'own', name: null }] },
    { keys: [{ access_key: 'own', name: null, changes }] },
    { keys: [{ access_key: 'own', name: null }] },
  ]);
});

it('events that name no keys are told to a token that sees its own keys alone, too', async () => {
  const stage = await ownStage();
  const shop = await asToken(stage, 'shop', 'create');
  const items = [{ op: 'create', access_key: 'own', name: 'n'.repeat(2 * 2 ** 20) }];
  await stage.call('POST /keys/batch?wait=30', { body: { items } });
  await until(stage, 'key.created');
  const told = (await toldBy(shop)).filter(({ type }) => type.startsWith('key.'));
  expect(told.map(({ type, data }) => [type, data])).toEqual([['key.created', { keys: [], whole: true }]]);
});
