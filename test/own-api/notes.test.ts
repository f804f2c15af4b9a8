import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { operationsOf } from '../../src/wire/operations.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { someOf } from '../whole.js';
import { databaseStage, fileStage, frontStage } from './homes.js';
import { callerOf, type OwnReply, type OwnStage, ownStage, TOKEN } from './stage.js';

interface Told {
  readonly data: {
    readonly access_key: string;
    readonly token: string;
    readonly cursor: string;
    readonly keys: readonly { readonly access_key: string; readonly note: string | null }[];
    readonly items: readonly { readonly ok: boolean; readonly access_key: string }[];
  };
}

const dataOf = ({ body }: OwnReply) => (body as unknown as Told).data;

const batch = async ({ call }: Pick<OwnStage, 'call'>, ...items: readonly object[]) =>
  dataOf(await call('POST /keys/batch?wait=30', { body: { items } })).items;

/** The notes of all keys. */
const notesIn = async ({ call }: Pick<OwnStage, 'call'>) =>
  Object.fromEntries(dataOf(await call('GET /keys')).keys.map(({ access_key, note }) => [access_key, note]));

async function asToken({ app, call }: OwnStage, may: string): Promise<Pick<OwnStage, 'call'>> {
  const { token } = dataOf(await call('POST /tokens', { body: { name: may, may } }));
  const own = callerOf(app);
  return { call: (endpoint, asked) => own(endpoint, { ...asked, headers: { authorization: `Bearer ${token}` } }) };
}

const OPENERS = { memory: ownStage, 'a file': fileStage, 'a server': frontStage, 'a database': databaseStage };

describe('the note of a key', () => {
  const over: [string, () => Promise<OwnStage>][] = Object.entries(OPENERS).filter(([home]) => home !== 'a database');

  describe.each(someOf(over, 1))('over %s', (_home, open) => testsOver(open));
  describeDatabase('over a database', () => testsOver(databaseStage));

  function testsOver(open: () => Promise<OwnStage>): void {
    it('goes through batches in their order: given, kept, moved by a rotation and removed with its key', async () => {
      const stage = await open();
      const [, , made] = await batch(
        stage,
        { op: 'create', access_key: 'a', note: 'first' },
        { op: 'create', access_key: 'b', name: 'Bea' },
        { op: 'create', note: 'of a key that is made' },
        { op: 'update', access_key: 'b', note: 'second' },
        { op: 'update', access_key: 'none', note: 'of nobody' },
      );
      const others = { [made?.access_key ?? '']: 'of a key that is made' };
      expect(await notesIn(stage)).toEqual({ a: 'first', b: 'second', ...others });
      const items = await batch(
        stage,
        { op: 'update', access_key: 'a', note: 'changed' },
        { op: 'rotate', access_key: 'a' },
        { op: 'rotate', access_key: 'b' },
        { op: 'create', access_key: 'a' },
      );
      const [, a = '', b = ''] = items.map(({ access_key }) => access_key);
      expect(await notesIn(stage)).toEqual({ a: null, [a]: 'changed', [b]: 'second', ...others });
      await batch(
        stage,
        { op: 'create', access_key: a, limit_bytes: 1 },
        { op: 'reset', access_key: a },
        { op: 'delete', access_key: b },
        { op: 'create', access_key: b },
      );
      expect(await notesIn(stage)).toEqual({ a: null, [a]: 'changed', [b]: null, ...others });
    });

    it('follows a rotation, ends with its key, and is not that of a later key of the same text', async () => {
      const stage = await open();
      await batch(stage, { op: 'create', access_key: 'a', note: 'kept' });
      const successor = dataOf(await stage.call('POST /keys/a/rotate', { body: {} })).access_key;
      expect(await notesIn(stage)).toEqual({ [successor]: 'kept' });
      const headers = { authorization: `Bearer ${TOKEN}` };
      const url = `/panel/api/users/${successor}`;
      expect((await stage.app.inject({ method: 'DELETE', url, headers })).statusCode).toBe(200);
      await batch(stage, { op: 'create', access_key: successor }, { op: 'create', access_key: 'a' });
      expect(await notesIn(stage)).toEqual({ [successor]: null, a: null });
    });
  }

  it('is a change of its key to those who follow, and null to tokens that may do less than keys', async () => {
    const stage = await ownStage();
    await batch(stage, { op: 'create', access_key: 'a' });
    const [relay, create, keys] = await Promise.all(['relay', 'create', 'keys'].map((may) => asToken(stage, may)));
    if (relay === undefined || create === undefined || keys === undefined) throw new Error('three tokens');
    await batch(create, { op: 'create', access_key: 'own', note: 'of a shop' });
    const { cursor } = dataOf(await stage.call('GET /keys'));
    await stage.call('PATCH /keys/a', { body: { note: 'secret' } });
    const since = async ({ call }: Pick<OwnStage, 'call'>) => dataOf(await call(`GET /keys?since=${cursor}`)).keys;
    expect(await since(relay)).toMatchObject([{ access_key: 'a', note: null }]);
    expect(await since(stage)).toMatchObject([{ access_key: 'a', note: 'secret' }]);
    expect(await since(keys)).toMatchObject([{ access_key: 'a', note: 'secret' }]);
    expect(await notesIn(relay)).toEqual({ a: null, own: null });
    expect(await notesIn(create)).toEqual({ own: null });
    expect(dataOf(await relay.call('GET /keys/a'))).toMatchObject({ note: null });
    // A create that changes nothing leaves the note, too.
    await batch(create, { op: 'create', access_key: 'own', note: 'another' });
    expect(await notesIn(keys)).toEqual({ a: 'secret', own: 'of a shop' });
  });

  it('is what a list may ask for alone, in pages, and its changes may not', async () => {
    const stage = await ownStage();
    const items = ['a', 'b', 'c', 'd'].map((key, index) => ({
      op: 'create',
      access_key: key,
      note: 'n'.repeat(index),
    }));
    await batch(stage, ...items, { op: 'update', access_key: 'a', note: null });
    const listed = async (call: OwnStage['call'], query: string) =>
      dataOf(await call(`GET /keys?noted=1${query}`)).keys.map(({ access_key }) => access_key);
    expect(await listed(stage.call, '&limit=2')).toEqual(['b', 'c']);
    expect(await listed(stage.call, '&limit=2&after=c')).toEqual(['d']);
    expect(await listed((await asToken(stage, 'relay')).call, '')).toEqual([]);
    expect(await stage.call('GET /keys?noted=1&since=x')).toMatchObject({
      status: 400,
      body: { code: 'invalid_query', error: expect.stringContaining('noted: expected') },
    });
  });

  it('is refused by its name and its bound, with nothing changed', async () => {
    const stage = await ownStage();
    await batch(stage, { op: 'create', access_key: 'a', name: 'Anna', note: 'kept' });
    const longest = 'я'.repeat(1_000);
    for (const wrong of [7, ['x'], `${longest}x`, { text: 'x' }]) {
      const expected = 'note: expected a string of at most 1000 characters or null';
      expect(await stage.call('PATCH /keys/a', { body: { name: 'x', note: wrong } })).toMatchObject({
        status: 400,
        body: { code: 'invalid_body', error: expect.stringContaining(expected) },
      });
      const items = [{ op: 'create' }, { op: 'update', access_key: 'a', note: wrong }];
      expect(await stage.call('POST /keys/batch', { body: { items } })).toMatchObject({
        status: 400,
        body: { code: 'invalid_body', error: expect.stringContaining(`items[1].${expected}`) },
      });
    }
    expect(dataOf(await stage.call('GET /keys')).keys).toMatchObject([{ access_key: 'a', name: 'Anna', note: 'kept' }]);
    expect((await stage.call('PATCH /keys/a', { body: { note: longest } })).status).toBe(200);
    expect(await notesIn(stage)).toEqual({ a: longest });
  });

  it('is in no file of a server, and outlives a restart', async () => {
    const { app, call, configPath } = await fileStage();
    await batch({ call }, { op: 'create', access_key: 'a', name: 'Anna', note: 'Nobody' });
    await app.close();
    const text = await readFile(configPath, 'utf8');
    expect(text).toContain('Anna');
    expect(text).not.toContain('Nobody');
    expect(await notesIn(await ownStage({ configPath }))).toEqual({ a: 'Nobody' });
  });

  it.each(someOf(REVISIONS, 4))('is on the wire of no operation of $id that reads', async (revision) => {
    const mounts = [
      { revision: revision.id, webpath: 'mount' },
      { revision: 'current', webpath: 'panel' },
    ];
    const stage = await ownStage({ mounts });
    const [mount] = stage.app.keyway.mounts;
    await batch(stage, { op: 'create', access_key: 'a', name: 'Anna', limit_bytes: 7, note: 'Nobody' });
    expect(await notesIn(stage)).toEqual({ a: 'Nobody' });
    // A named token is let in by every revision.
    const { token } = dataOf(await stage.call('POST /tokens', { body: { name: 'all', may: 'all' } }));
    const headers = { authorization: `Bearer ${token}` };
    for (const { path, effect } of operationsOf(revision).filter(({ method }) => method === 'GET')) {
      expect(effect.kind, path).toBe('reads');
      const answer = await stage.app.inject({ url: `${mount?.api}${path.replace('{key}', 'a')}`, headers });
      expect(`${JSON.stringify(answer.headers)}${answer.payload}`, path).not.toMatch(/Nobody|"note"/);
      if (path === '/users' || path === '/users/{key}') expect(answer.payload, path).toContain('"a"');
    }
  });
});

describeDatabase('a note over a database', () => {
  it('shows at every gateway, which tells it as a change', async () => {
    const database = { url: await freshDatabase() };
    const [first, second] = [await ownStage({ database }), await ownStage({ database })];
    await batch(first, { op: 'create', access_key: 'a' });
    const there = async () => Object.keys(await notesIn(second));
    await expect.poll(there).toEqual(['a']);
    const { cursor } = dataOf(await second.call('GET /keys'));
    const waiting = second.call(`GET /keys?since=${cursor}&wait=30`);
    await first.call('PATCH /keys/a', { body: { note: 'seen' } });
    expect(dataOf(await waiting).keys).toMatchObject([{ access_key: 'a', note: 'seen' }]);
  });
});
