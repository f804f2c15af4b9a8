import { describe, expect, it } from 'vitest';
import type { User } from '../../panel/api/wire.js';
import { wordsIn } from '../../panel/i18n/text.js';
import { changeKey, createKey, isOtherKey, newKeyProblem, saveKey } from '../../panel/pages/keys/save-key.js';
import { batchesOf } from '../../panel/state/batches.js';
import { clientLink, setAddress } from '../../panel/state/client-links.js';
import { changesIn, planImport } from '../../panel/state/import-plan.js';
import {
  COLUMN_NAMES,
  COLUMNS,
  countFilters,
  filterUsers,
  isConnected,
  sortUsers,
  statusOf,
} from '../../panel/state/key-list.js';
import { keyTable } from '../../panel/state/key-table.js';
import { lastUnitOf, limitChanges, limitDraft } from '../../panel/state/limits.js';
import { isAddressable, removalCommand } from '../../panel/state/named-keys.js';
import { subscriptionOf } from '../../panel/state/subscriptions.js';
import { toasts } from '../../panel/state/toasts.js';
import { atOnce } from '../../panel/text/steps.js';
import { subscriptionToken } from '../../src/subscription/token.js';
import { gate } from './gate.js';
import { INBOUNDS_FILE, SERVER_FILE } from './server-files.js';
import { type DeskOptions, noAnswer, openDesk, pass, refusal, said, settle, undo } from './without-browser.js';

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

  it('keeps the limit of a key that the list lacks, where only name and limit together can be sent', async () => {
    const { workspace, call } = await keysDesk({ ownApi: false });
    const unlisted = { access_key: 'unlisted', name: 'Old', limit_bytes: 5 };
    await call('POST', 'api/users', unlisted);
    await changeKey(workspace, unlisted, { name: 'New' });
    expect(await call('GET', 'api/users/unlisted')).toMatchObject({ name: 'New', limit_bytes: 5 });
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
    await createKey(workspace, key, { name: '', note: '', limit: null });
    await changeKey(workspace, user(key), { limit: 7 });
    const path = `api/users/${encodeURIComponent(key)}`;
    expect(await call('GET', path)).toMatchObject({ access_key: key, limit_bytes: 7 });
    batchesOf(workspace).begin('delete', [{ item: { op: 'delete', access_key: key } }]);
    await pass(7_000);
    expect(await call('GET', 'api/users')).toHaveLength(4);
  });
});

describe.each([true, false])('a new key that could not be saved (with the interface: %s)', (ownApi) => {
  const UNSAVED = 'failed to save configuration';

  it('is the one that the list has, once, with the refusal as a message', async () => {
    const { workspace, on, user } = await keysDesk({ ownApi });
    on(/POST .*users$/, async (sent, next) => {
      await next(sent);
      return refusal(400, UNSAVED);
    });
    await createKey(workspace, 'eve', { name: 'Eve', note: '', limit: null });
    expect(user('eve')).toMatchObject({ name: 'Eve' });
    expect(workspace.users.state.get().users).toHaveLength(5);
    expect(said()).toEqual([expect.stringContaining(UNSAVED)]);
  });

  it('is none where the list has none, so that it can be tried again', async () => {
    const { workspace, on } = await keysDesk({ ownApi });
    on(/POST .*users$/, () => refusal(400, UNSAVED));
    const creation = createKey(workspace, 'eve', { name: 'Eve', note: '', limit: null });
    await expect(creation).rejects.toMatchObject({ kind: 'unsaved' });
    expect([workspace.users.state.get().users?.length, said()]).toEqual([4, []]);
  });

  it('is changed by another try, and not made again, where the list has it by then', async () => {
    const { workspace, on, call, sent } = await keysDesk({ ownApi });
    on(/POST .*users$/, async (sent, next) => {
      await next(sent);
      return refusal(400, UNSAVED);
    });
    const ends = on(/GET (api\/users|keyway\/v1\/keys)/, noAnswer);
    const creation = createKey(workspace, 'eve', { name: 'Eve', note: '', limit: null });
    await expect(creation).rejects.toMatchObject({ kind: 'unsaved' });
    ends();
    await pass(5_000);
    await createKey(workspace, 'eve', { name: 'Eva', note: '', limit: 7 });
    expect(await call('GET', 'api/users/eve')).toMatchObject({ name: 'Eva', limit_bytes: 7 });
    expect(sent.filter(({ method, path }) => method === 'POST' && path.endsWith('users'))).toHaveLength(1);
  });
});

describe.each([true, false])('a saved change of a key (with the interface: %s)', (ownApi) => {
  it('is taken back for 15 seconds, name and limit together', async () => {
    const { workspace, user, guests } = await keysDesk({ ownApi });
    await saveKey(workspace, user('guest-2026'), { name: 'Visitors', limit: 60 * GIB });
    expect(said()).toEqual(['Saved: Visitors. Limit: 50\u00a0GiB → 60\u00a0GiB.']);
    undo();
    await pass(2_000);
    expect(said()).toEqual(['The key is as it was.']);
    expect(await guests()).toMatchObject({ name: 'Guests', limit_bytes: 50 * GIB });
    await saveKey(workspace, user('guest-2026'), { name: 'Visitors', limit: null });
    await pass(15_000);
    expect(() => undo(), 'the time is over').toThrow('found 0');
  });

  it('that follows one of the same key is taken back with it, and not over what somebody else has changed since', async () => {
    const { workspace, user, guests, call } = await keysDesk({ ownApi });
    for (const limit of [60, 70]) await saveKey(workspace, user('guest-2026'), { limit: limit * GIB });
    expect(said().at(-1)).toBe('Saved: Guests. Limit: 50\u00a0GiB → 70\u00a0GiB.');
    undo();
    await pass(2_000);
    expect(await guests()).toMatchObject({ limit_bytes: 50 * GIB });
    await saveKey(workspace, user('guest-2026'), { limit: 60 * GIB });
    await call('PUT', 'api/users/guest-2026/limit', { limit_bytes: 65 * GIB });
    await Promise.all([workspace.contact.now(), pass(250)]);
    await saveKey(workspace, user('guest-2026'), { limit: 75 * GIB });
    expect(said().at(-1)).toBe('Saved: Guests. Limit: 65\u00a0GiB → 75\u00a0GiB.');
    await call('PUT', 'api/users/guest-2026/limit', { limit_bytes: 1 });
    undo();
    await pass(2_000);
    expect(said()).toEqual(['Keys changed meanwhile stay as they are: 1.']);
    expect(await guests()).toMatchObject({ limit_bytes: 1 });
  });

  it('stays to be taken back while another key is changed, and is offered to nobody after a sign-out', async () => {
    const { workspace, user, guests } = await keysDesk({ ownApi });
    await saveKey(workspace, user('guest-2026'), { name: '', limit: 60 * GIB });
    await saveKey(workspace, user('exact-limit'), { limit: 5 });
    batchesOf(workspace).begin('limit', limitChanges([{ key: ANNA, name: '' }], new Map(), 'set', 7));
    await pass(2_000);
    const [first] = toasts.get();
    first?.undo?.();
    await pass(2_000);
    expect(await guests()).toMatchObject({ name: 'Guests', limit_bytes: 50 * GIB });
    workspace.session.signOut();
    expect(() => undo()).toThrow('found 0');
  });
});

describe('the note of a key', () => {
  const patch = (note: string | null) => ({ note });
  const noteAt = async (desk: Awaited<ReturnType<typeof keysDesk>>, key: string) =>
    Object(await desk.call('GET', `keyway/v1/keys/${key}`)).note;

  it('is in the list and found there, also one that others write, and one that was there before the page', async () => {
    const desk = await keysDesk({ signed: false });
    const { workspace, call, user } = desk;
    await call('PATCH', 'keyway/v1/keys/guest-2026', patch('pays in December'));
    await workspace.session.signIn('admin', 'password', false);
    await pass(250);
    expect(user('guest-2026').note).toBe('pays in December');
    await call('PATCH', 'keyway/v1/keys/exact-limit', patch('On trial'));
    await settle();
    const found = (text: string) =>
      atOnce(filterUsers(workspace.users.state.get().users ?? [], 'all', { kind: 'part', text }));
    expect(found('DECEMBER').map(({ access_key: key }) => key)).toEqual(['guest-2026']);
    expect(found('on tr').map(({ access_key: key }) => key)).toEqual(['exact-limit']);
    await call('PATCH', 'keyway/v1/keys/guest-2026', patch(null));
    await settle();
    expect(found('december')).toEqual([]);
  });

  it('is saved apart from name and limit, told of no revision, and taken back', async () => {
    const desk = await keysDesk();
    const { workspace, user, guests } = desk;
    await saveKey(workspace, user('guest-2026'), { name: 'Guests', note: 'owes 5', limit: 50 * GIB });
    expect([await noteAt(desk, 'guest-2026'), said()]).toEqual(['owes 5', ['Saved: Guests.']]);
    await settle();
    await saveKey(workspace, user('guest-2026'), { note: 'owes 7', limit: 60 * GIB });
    expect(JSON.stringify(await guests())).not.toContain('owes');
    undo();
    await pass(2_000);
    expect([await noteAt(desk, 'guest-2026'), await guests()]).toMatchObject([null, { limit_bytes: 50 * GIB }]);
  });

  it('comes with a new key, which is created without it where it cannot be saved', async () => {
    const desk = await keysDesk();
    const { workspace, on } = desk;
    const { made, noteError } = await createKey(workspace, 'eve', { name: 'Eve', note: 'by phone', limit: null });
    expect([await noteAt(desk, made.access_key), noteError]).toEqual(['by phone', undefined]);
    on(/PATCH/, () => refusal(503, 'away'));
    const second = await createKey(workspace, 'second', { name: '', note: 'lost', limit: null });
    expect(second).toMatchObject({ made: { access_key: 'second' }, noteError: { message: expect.any(String) } });
    expect(await noteAt(desk, 'second')).toBeNull();
    expect(isOtherKey(second.made, desk.user('second')), 'nobody else has changed it').toBe(false);
  });

  it('comes in with a table and goes out with it', async () => {
    const desk = await keysDesk();
    const { workspace } = desk;
    const { byKey } = workspace.users.state.get();
    const table = 'key,note\nguest-2026,pays\nnew,=1+1\nexact-limit,';
    const plan = planImport(table, byKey, true);
    expect(plan.map(({ effect }) => effect)).toEqual(['change', 'create', 'same']);
    expect(planImport(table, byKey, false).map(({ effect }) => effect)).toEqual(['same', 'create', 'same']);
    expect(planImport(`key,note\nnew,${'n'.repeat(1_001)}`, byKey, true)[0]).toMatchObject({ problem: 'longName' });
    batchesOf(workspace).begin('import', changesIn(plan), true);
    await pass(2_000);
    expect([await noteAt(desk, 'guest-2026'), await noteAt(desk, 'new')]).toEqual(['pays', '=1+1']);
    const [row] = keyTable([{ key: 'guest-2026', name: '', link: '' }], workspace.users.state.get());
    expect(row).toMatchObject({ note: 'pays' });
    undo();
    await pass(2_000);
    expect(await noteAt(desk, 'guest-2026')).toBeNull();
  });

  it.each([
    ['keys', 'keys', 'secret'],
    ['status', 'none', undefined],
  ])('is told to a token that may %s as far as it may know it, and so is that there are notes', async (may, reach, note) => {
    const { workspace, call } = await keysDesk({ signed: false });
    await call('PATCH', 'keyway/v1/keys/guest-2026', patch('secret'));
    const { token } = Object(await call('POST', 'keyway/v1/tokens', { name: 'bot', may }));
    await workspace.session.useToken(token, false);
    await pass(1_000);
    expect(workspace.reach.get()).toBe(reach);
    const state = workspace.users.state.get();
    expect([state.byKey.get('guest-2026')?.note ?? undefined, state.hasNotes]).toEqual([note, note !== undefined]);
  });

  it('is offered to no token that makes keys alone, which cannot sign in here', async () => {
    const { workspace, call } = await keysDesk({ signed: false });
    const { token } = Object(await call('POST', 'keyway/v1/tokens', { name: 'bot', may: 'create' }));
    await expect(workspace.session.useToken(token, false)).rejects.toMatchObject({ status: 403 });
  });
});

it('the changes of a table are taken back, and the keys that it made stay', async () => {
  const { workspace, guests, call } = await keysDesk();
  const { byKey } = workspace.users.state.get();
  const changes = changesIn(planImport('guest-2026,Visitors,10 GB\nnew,New,\nexact-limit,,5 GB', byKey, true));
  batchesOf(workspace).begin('import', changes, true);
  await pass(2_000);
  expect(said()).toEqual(['2 keys changed.']);
  undo();
  await pass(2_000);
  expect(await guests()).toMatchObject({ name: 'Guests', limit_bytes: 50 * GIB });
  expect(await call('GET', 'api/users/exact-limit')).toMatchObject({
    name: 'Exact',
    limit_bytes: Number(2n ** 64n - 1n),
  });
  expect(await call('GET', 'api/users')).toHaveLength(5);
});

it('the limit of the next key begins in the unit that was chosen last, in another tab as well', async () => {
  const { workspace, open, browser } = await keysDesk();
  expect(limitDraft(null, lastUnitOf(workspace).get())).toEqual({ amount: '', unit: 'GiB' });
  lastUnitOf(workspace).set('GB');
  expect(limitDraft(null, lastUnitOf(await open(browser.openTab())).get())).toEqual({ amount: '', unit: 'GB' });
  browser.keptForGood.set('keyway:unit', 'furlongs');
  expect(lastUnitOf(await open(browser.openTab())).get()).toBe('GiB');
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
  const { made } = await createKey(workspace, 'recep', { name: 'Recep', note: '', limit: 5 });
  expect(workspace.users.state.get().byKey.get(made.access_key)).toMatchObject({ name: 'Recep', limit_bytes: 5 });
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

it('a key has one state, in which its quota comes before that it is online, and every filter counts the keys of its word', () => {
  const user = (used: number, limit_bytes: number | null, online: boolean): User => ({
    ...{
      access_key: 'a',
      name: null,
      bytes_up: 0,
      bytes_down: used,
      connections: 0,
      limit_bytes,
      online,
      last_seen: null,
    },
  });
  const users = [
    ...[user(10, 10, true), user(9, 10, true), user(8, 10, true), user(0, null, true)],
    ...[user(8, 10, false), user(0, null, false)],
  ];
  expect(users.map(statusOf)).toEqual(['over', 'near', 'online', 'online', 'used', 'unused']);
  expect(countFilters(users)).toEqual({ all: 6, over: 1, near: 1, online: 4, used: 1, unused: 1, unlimited: 2 });
  const { last_seen: _, ...old } = user(8, 10, true);
  expect(statusOf(old), 'of a server that says so of every key with counters').toBe('used');
});

it('nobody is shown as online by a server that cannot know it', async () => {
  const online = async (revision: string) => {
    const { workspace } = await keysDesk({}, revision);
    return workspace.users.state.get().users?.filter(isConnected).length;
  };
  expect([await online('current'), await online('dns')]).toEqual([2, 0]);
});

describe('the link of a key', () => {
  const unset = { file: INBOUNDS_FILE.replace('203.0.113.7', '0.0.0.0') };

  it('that names 0.0.0.0 is not handed out before the address is set, and then names it in every browser', async () => {
    const { workspace, call } = await keysDesk(unset);
    await expect(clientLink(workspace, 'guest-2026')).rejects.toMatchObject({ host: '0.0.0.0' });
    await setAddress(workspace, { host: 'vpn.example.com', port: ':443' });
    const link = '//guest-2026@vpn.example.com:443';
    expect(await clientLink(workspace, 'guest-2026')).toEqual({
      text: expect.stringContaining(link),
      unreachable: null,
    });
    expect(JSON.stringify(await call('GET', 'api/subscribe/guest-2026')), 'for everybody else').toContain(
      'vpn.example.com:443',
    );
  });

  it('that a setting decides is not set here: the server says which', async () => {
    const { workspace } = await keysDesk({ announced: { host: '0.0.0.0', port: 50_000 } });
    await expect(setAddress(workspace, { host: 'vpn.example.com', port: '' })).rejects.toMatchObject({
      status: 409,
      envelope: { error: expect.stringContaining('--server-host') },
    });
  });

  it('is handed out with what is wrong with it where this page cannot set the address', async () => {
    const { workspace } = await keysDesk({ announced: { host: '0.0.0.0', port: 50_000 }, ownApi: false });
    expect(await clientLink(workspace, 'guest-2026')).toEqual({
      text: expect.stringContaining('@0.0.0.0:50000'),
      unreachable: '0.0.0.0',
    });
  });

  it('that leads to the server stays as it is', async () => {
    const { workspace } = await keysDesk();
    expect(await clientLink(workspace, 'guest-2026')).toMatchObject({
      text: expect.stringContaining('@203.0.113.7:50000'),
      unreachable: null,
    });
  });
});

describe('the subscription of a key', () => {
  const subscription = (members: string) => INBOUNDS_FILE.replace('"mode": "server",', `"mode": "server", ${members},`);
  const SECURE = '"domain": "vpn.example.com", "tls": { "enabled": true }';

  it('is a random address where Keyway answers them, the same at each look, below no web path', async () => {
    const { workspace, app } = await keysDesk({ subscriptionTokens: true });
    const url = (await subscriptionOf(workspace, 'guest-2026')) ?? '';
    expect(url).toMatch(/^http:\/\/keyway\.test\/sub\/[0-9a-f]{32}$/);
    expect(url).not.toContain(subscriptionToken('guest-2026'));
    expect(await subscriptionOf(workspace, 'guest-2026')).toBe(url);
    expect((await app.inject(new URL(url).pathname)).statusCode).toBe(200);
  });

  it('has the path and the name of the configuration', async () => {
    const path = '"subscription": { "path": "/mine" }';
    const plain = await keysDesk({ file: subscription(path), subscriptionTokens: true });
    expect(await subscriptionOf(plain.workspace, 'guest-2026')).toMatch(/^http:\/\/keyway\.test\/mine\/[0-9a-f]{32}$/);
    const named = await keysDesk({ file: subscription(`${SECURE}, ${path}`), subscriptionTokens: true });
    expect(await subscriptionOf(named.workspace, 'guest-2026')).toMatch(
      /^https:\/\/vpn\.example\.com\/mine\/[0-9a-f]{32}$/,
    );
  });

  it('of a server that answers subscriptions by itself is the one that it tells', async () => {
    const file = subscription(`${SECURE}, "subscription": { "enabled": true }`);
    const { workspace } = await keysDesk({ file, ownApi: false }, '0.4.6');
    expect(await subscriptionOf(workspace, 'guest-2026')).toBe(
      `https://vpn.example.com/sub/${subscriptionToken('guest-2026')}`,
    );
  });

  it('is not there where none is served, and none is handed out', async () => {
    const { workspace, sent } = await keysDesk({ file: SERVER_FILE });
    expect(await subscriptionOf(workspace, 'guest-2026')).toBeNull();
    expect(sent.filter(({ path }) => path.endsWith('/address'))).toEqual([]);
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
  const [known, unknown] = keyTable(linked, { byKey: new Map([['a', old]]), hasNotes: true });
  expect(known).toMatchObject({ name: null, bytes_used: 3, online: null, status: 'used', limit_bytes: null });
  expect(unknown).toMatchObject({ access_key: 'b', link: 'ostp://b', bytes_up: null, status: null });
  expect(Object.keys(unknown ?? {}).join(',')).toBe(
    'name,access_key,link,note,limit_bytes,bytes_up,bytes_down,bytes_used,connections,online,status',
  );
  const [untold] = keyTable(linked, { byKey: new Map([['a', old]]), hasNotes: false });
  expect(untold, 'an import would clear notes that were not told').not.toHaveProperty('note');
});
