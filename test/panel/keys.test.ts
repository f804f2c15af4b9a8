import { describe, expect, it } from 'vitest';
import type { User } from '../../panel/api/wire.js';
import { wordsIn } from '../../panel/i18n/text.js';
import { changeKey, createKey, isOtherKey, newKeyProblem, saveKey } from '../../panel/pages/keys/save-key.js';
import { batchesOf } from '../../panel/state/batches.js';
import { clientAddressOf, clientLink } from '../../panel/state/client-links.js';
import { COLUMN_NAMES, COLUMNS, isConnected, sortUsers } from '../../panel/state/key-list.js';
import { keyTable } from '../../panel/state/key-table.js';
import { limitChanges } from '../../panel/state/limits.js';
import { isAddressable, removalCommand } from '../../panel/state/named-keys.js';
import { userPage } from '../../panel/state/user-page.js';
import { atOnce } from '../../panel/text/steps.js';
import { subscriptionToken } from '../../src/subscription/token.js';
import { gate } from './gate.js';
import { INBOUNDS_FILE, SERVER_FILE } from './server-files.js';
import { type DeskOptions, openDesk, pass, said, settle } from './without-browser.js';

const GIB = 1024 ** 3;
const ANNA = '0c9e8d7f6a5b4c3d2e1f00112233ff44';

async function keysDesk(options: DeskOptions = {}, revision = 'current') {
  const desk = await openDesk(revision, options);
  const { users } = desk.workspace;
  const user = (key: string): User => {
    const found = users.state.get().byKey.get(key);
    if (found === undefined) throw new Error(`expected ${key} in the list`);
    return found;
  };
  return { ...desk, user, guests: () => desk.call('GET', 'api/users/guest-2026') };
}

describe('an edit of a key', () => {
  it.each([true, false])('keeps what others change of it meanwhile (with the interface: %s)', async (ownApi) => {
    const { workspace, user, guests, call } = await keysDesk({ ownApi });
    const before = user('guest-2026');
    await call('PUT', 'api/users/guest-2026/limit', { limit_bytes: 1024 });
    await Promise.all([workspace.contact.now(), pass(250)]);
    expect(isOtherKey(before, user('guest-2026'))).toBe(true);
    await saveKey(workspace, before, { name: 'Visitors', limit: before.limit_bytes });
    expect([await guests(), said()]).toMatchObject([{ name: 'Visitors', limit_bytes: 1024 }, ['Saved: Visitors.']]);
    const named = user('guest-2026');
    await call('PUT', 'api/users/guest-2026', { name: 'By a bot', limit_bytes: 1024 });
    await saveKey(workspace, named, { name: 'Visitors', limit: 7 * GIB });
    expect(await guests()).toMatchObject({ name: 'By a bot', limit_bytes: 7 * GIB });
    expect(isOtherKey(named, named)).toBe(false);
  });

  it('that is answered after a sign-out names no key, and is noted as what it was: of a session', async () => {
    const { workspace, user, on, call } = await keysDesk();
    const answered = gate();
    on(/PATCH/, async (_sent, next) => {
      await answered.opened;
      return next();
    });
    const saving = saveKey(workspace, user('guest-2026'), { name: 'Visitors', limit: null });
    await settle();
    workspace.session.signOut();
    answered.open();
    await saving;
    await settle();
    expect(said()).toEqual([]);
    expect(JSON.stringify(await call('GET', 'api/audit'))).toContain('Changed a key · session · ');
  });

  it.each([
    'a/b',
    'a%2Fb',
    '#x?q=1',
    ' 🦊 ',
    '__proto__',
    '"><img src=x>/../?#%00é',
  ])('reaches the key %j, and so does its deletion', async (key) => {
    const { workspace, user, call } = await keysDesk();
    await createKey(workspace, { key, name: '', limit: null });
    await changeKey(workspace, user(key), { limit: 7 });
    const path = `api/users/${encodeURIComponent(key)}`;
    expect(await call('GET', path)).toMatchObject({ access_key: key, limit_bytes: 7 });
    batchesOf(workspace).begin('delete', [{ item: { op: 'delete', access_key: key } }]);
    await pass(7_000);
    expect(await call('GET', 'api/users')).toHaveLength(4);
  });
});

it('a new key is made under a name that is free, and not before the list has told which are', async () => {
  const { workspace, call } = await keysDesk();
  const { users, byKey } = workspace.users.state.get();
  const problem = (key: string, known = users) =>
    newKeyProblem(
      key,
      { ...workspace.users.state.get(), users: known, byKey: known === null ? new Map() : byKey },
      wordsIn('en'),
    );
  expect(['guest-2026', '..', 'new', ''].map((key) => problem(key) !== null)).toEqual([true, true, false, false]);
  expect(['guest-2026', ''].map((key) => problem(key, null))).toEqual(['Loading keys…', null]);
  const made = await createKey(workspace, { key: '', name: 'Recep', limit: 5 });
  expect(workspace.users.state.get().byKey.get(made)).toMatchObject({ name: 'Recep', limit_bytes: 5 });
  await settle();
  expect(JSON.stringify(await call('GET', 'api/audit'))).toContain('Created a key');
});

describe('limits of a selection', () => {
  const byKey = new Map(
    [
      ['a', 50 * GIB],
      ['b', null],
      ['c', 2n ** 64n - 1n],
    ].map(([key, limit]) => [String(key), { limit_bytes: limit } as User]),
  ); // Nothing else is looked at.
  const keys = [...byKey.keys()].map((key) => ({ key, name: '' }));

  it.each([
    ['set', [7, 7, 7]],
    ['add', [50 * GIB + 7, null, 2n ** 64n - 1n]],
    ['remove', [null, null, null]],
  ] as const)('%s as is chosen, each with what takes it back', (mode, limits) => {
    const changes = limitChanges(keys, byKey, mode, 7);
    expect(changes.map(({ item }) => 'limit_bytes' in item && item.limit_bytes)).toEqual(limits);
    expect(changes.map(({ back }) => back)).toEqual(
      keys.map(({ key }) => ({ op: 'update', access_key: key, limit_bytes: byKey.get(key)?.limit_bytes })),
    );
  });
});

it('the list is sorted by each of its columns, numbers beyond 2^53 exactly', async () => {
  const { workspace } = await keysDesk();
  const { users } = workspace.users.state.get();
  const first = (column: (typeof COLUMN_NAMES)[number]) =>
    atOnce(sortUsers(users ?? [], { column, descending: COLUMNS[column].isRising !== true }))[0]?.access_key;
  expect(Object.fromEntries(COLUMN_NAMES.map((column) => [column, first(column)]))).toEqual({
    ...{ name: ANNA, key: ANNA, up: 'exact-limit', used: 'guest-2026', limit: 'exact-limit', down: 'exact-limit' },
    ...{ connections: '6f1d2c3b4a5968778695a4b3c2d1e0ff', status: 'guest-2026' },
  });
});

it('nobody is shown as online by a server that cannot know it', async () => {
  const online = async (revision: string) => {
    const { workspace } = await keysDesk({}, revision);
    return workspace.users.state.get().users?.filter(isConnected).length;
  };
  expect([await online('current'), await online('dns')]).toEqual([2, 0]);
});

describe('the link of a key', () => {
  it.each([
    '0.0.0.0',
    '[::]',
  ])('that names %s is not handed out before the page is told where clients reach the server', async (host) => {
    const { workspace, open } = await keysDesk({ announced: { host, port: 50_000 } });
    await expect(clientLink(workspace, 'guest-2026')).rejects.toMatchObject({ host });
    clientAddressOf(workspace).set('vpn.example.com');
    const expected = { text: expect.stringContaining('//guest-2026@vpn.example.com:50000'), instead: host };
    expect(await clientLink(workspace, 'guest-2026')).toEqual(expected);
    expect(await clientLink(await open(), 'guest-2026'), 'after a reload').toEqual(expected);
  });

  it('that leads to the server stays as it is', async () => {
    const { workspace } = await keysDesk();
    expect(await clientLink(workspace, 'guest-2026')).toMatchObject({
      text: expect.stringContaining('@203.0.113.7:50000'),
      instead: null,
    });
  });
});

describe('the page that the user of a key sees', () => {
  const PATH = `/sub/${subscriptionToken('guest-2026')}`;
  const subscription = (members: string) => INBOUNDS_FILE.replace('"mode": "server",', `"mode": "server", ${members},`);

  it('stands where Keyway answers subscriptions by token', async () => {
    const { workspace } = await keysDesk({ subscriptionTokens: true });
    expect(await userPage(workspace, 'guest-2026')).toBe(`http://keyway.test${PATH}`);
  });

  it('has the path of the configuration', async () => {
    const file = subscription('"subscription": { "path": "/mine" }');
    const { workspace } = await keysDesk({ file, subscriptionTokens: true });
    expect(await userPage(workspace, 'guest-2026')).toBe(`http://keyway.test${PATH.replace('/sub', '/mine')}`);
  });

  it('of a server that answers subscriptions by itself is the one that it tells', async () => {
    const file = subscription(
      '"domain": "vpn.example.com", "tls": { "enabled": true }, "subscription": { "enabled": true }',
    );
    const { workspace } = await keysDesk({ file, ownApi: false }, '0.4.6');
    expect(await userPage(workspace, 'guest-2026')).toBe(`https://vpn.example.com${PATH}`);
  });

  it('is not there where none is served', async () => {
    const { workspace } = await keysDesk({ file: SERVER_FILE });
    expect(await userPage(workspace, 'guest-2026')).toBeNull();
  });
});

it('a key that no browser can address is removed by a command that names it by its digest', async () => {
  expect(['', '.', '..', 'tab\there'].map(isAddressable)).toEqual([false, false, false, true]);
  const { workspace } = await keysDesk();
  expect(removalCommand('', workspace.place)).toBe(
    'keyway keys remove --digest e3b0c442 --target http://keyway.test/office/panel',
  );
});

it('a table of keys leaves empty what the server does not tell of a key, or not yet', () => {
  const old = { access_key: 'a', bytes_up: 1, bytes_down: 2, connections: 3, limit_bytes: null, online: true };
  const linked = ['a', 'b'].map((key) => ({ key, name: '', link: `ostp://${key}` }));
  const [known, unknown] = keyTable(linked, new Map([['a', old]]));
  expect(known).toMatchObject({ name: null, bytes_used: 3, online: null, status: 'active', limit_bytes: null });
  expect(unknown).toMatchObject({ access_key: 'b', link: 'ostp://b', bytes_up: null, status: null });
  expect(Object.keys(unknown ?? {}).join(',')).toBe(
    'name,access_key,link,limit_bytes,bytes_up,bytes_down,bytes_used,connections,online,status',
  );
});
