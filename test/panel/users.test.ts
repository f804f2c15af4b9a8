import { describe, expect, it } from 'vitest';
import { SERVER_FILE, TOKEN } from './server-files.js';
import { type Desk, noAnswer, openDesk, pass, refusal, settle } from './without-browser.js';

const CREATED = { access_key: 'by-a-bot', name: 'By a bot' };

const isWholeList = ({ method, path }: Desk['sent'][number]) => `${method} ${path}` === 'GET api/users';
const isStream = ({ headers }: Desk['sent'][number]) => headers.get('accept') === 'text/event-stream';

/** A list of keys that is followed, and what is asked for from now on. */
async function followed(desk: Desk) {
  const { workspace, sent } = desk;
  await pass(250);
  expect(sent.some(isStream), 'its stream has begun').toBe(true);
  sent.length = 0;
  return {
    ...desk,
    /** The names of the keys. */
    names: () => workspace.users.state.get().users?.map(({ name }) => name),
    user: (key: string) => workspace.users.state.get().byKey.get(key),
    /** The numbers of questions for the whole list, for changes, and of streams. */
    asked: () => ({
      whole: sent.filter(isWholeList).length,
      changes: sent.filter((call) => call.path.includes('since=') && !isStream(call)).length,
      streams: sent.filter(isStream).length,
    }),
    refresh: () => Promise.all([workspace.contact.now(), pass(250)]),
  };
}

describe('the list of keys', () => {
  it('has what others change at once, without being asked for again', async () => {
    const { call, names, user, asked } = await followed(await openDesk('current'));
    await call('POST', 'api/users', CREATED);
    await settle();
    expect(names()).toContain('By a bot');
    await call('PUT', 'api/users/by-a-bot', { name: 'Renamed', limit_bytes: 5 });
    await call('DELETE', 'api/users/guest-2026');
    await settle();
    expect(user('by-a-bot')).toMatchObject({ name: 'Renamed', limit_bytes: 5 });
    expect(new Set(names())).toEqual(new Set([null, "Anna's laptop", 'Exact', 'Renamed']));
    expect(asked()).toEqual({ whole: 0, changes: 0, streams: 0 });
  });

  it('asks for what changed when somebody wants to know, counters too', async () => {
    const { app, refresh, user, asked } = await followed(await openDesk('current'));
    app.keyway.local?.keys.setCounters('guest-2026', { bytesUp: 0n, bytesDown: 2n ** 60n, connections: 7n });
    await refresh();
    expect(user('guest-2026')).toMatchObject({ bytes_down: 2n ** 60n, connections: 7 });
    expect(asked()).toEqual({ whole: 0, changes: 1, streams: 1 });
  });

  it('is followed in no hidden tab, and has what came meanwhile when it is seen again', async () => {
    const { tab, call, names, asked } = await followed(await openDesk('current'));
    tab.setHidden(true);
    await call('POST', 'api/users', CREATED);
    await pass(600_000);
    expect([names()?.includes('By a bot'), asked()]).toEqual([false, { whole: 0, changes: 0, streams: 0 }]);
    tab.setHidden(false);
    await pass(250);
    expect(names()).toContain('By a bot');
    await call('POST', 'api/users', { name: 'Later' });
    await settle();
    expect(names()).toContain('Later');
  });

  it('is asked for what changed every 5 s where no stream is to be had', async () => {
    const desk = await openDesk('current');
    const { call, names, asked, on } = await followed(desk);
    on(/v1\/keys\?since/, (sent, next) =>
      sent.headers.get('accept') === 'text/event-stream' ? refusal(429, 'too many', 'too_many_streams') : next(),
    );
    desk.tab.setHidden(true);
    desk.tab.setHidden(false);
    await settle();
    await pass(1_000);
    await call('POST', 'api/users', CREATED);
    await pass(4_000);
    expect([names()?.includes('By a bot'), asked().whole]).toEqual([true, 0]);
  });

  it('is asked for as a whole where the interface says that it is not there', async () => {
    const { call, names, asked, on, refresh } = await followed(await openDesk('current'));
    on(/keyway\/v1\/keys/, () => refusal(404, 'not found'));
    await call('POST', 'api/users', CREATED);
    await refresh();
    expect([names()?.includes('By a bot'), asked().whole]).toEqual([true, 1]);
  });

  it.each([
    ['calls were too many once', 429, 'too_many_polls', true],
    ['the Keyway is one without notes', 400, 'invalid_query', false],
  ])('has its notes at the next load where %s', async (_, status, code, has) => {
    const { on, refresh, user, workspace, call } = await followed(await openDesk('current'));
    await call('PATCH', 'keyway/v1/keys/guest-2026', { note: 'pays in December' });
    workspace.users.startAnew();
    const isOver = on(/noted=1/, () => refusal(status, 'no', code));
    await refresh();
    expect([user('guest-2026')?.note, workspace.users.state.get().hasNotes]).toEqual([undefined, false]);
    isOver();
    await refresh();
    expect([user('guest-2026')?.note, workspace.users.state.get().hasNotes]).toEqual(
      has ? ['pays in December', true] : [undefined, false],
    );
  });

  it('is followed again once a server that was started anew answers', async () => {
    const { on, restart, call, names, workspace } = await followed(await openDesk('current'));
    const isBack = on(/./, noAnswer);
    await restart();
    await pass(10_000);
    expect(workspace.contact.state.get().failure).toMatchObject({ kind: 'unreachable' });
    isBack();
    await pass(10_000);
    await workspace.session.useToken(TOKEN, false);
    await pass(10_000);
    await call('POST', 'api/users', CREATED);
    await settle();
    expect(names()).toContain('By a bot');
  });

  it('has the names of the configuration where the server’s list tells none, also after one was changed', async () => {
    const desk = await openDesk('earliest', { file: SERVER_FILE, ownApi: false, signed: false });
    const { workspace, call } = desk;
    await workspace.session.useToken(TOKEN, false);
    await pass(250);
    const names = () => new Set(workspace.users.state.get().users?.map(({ name }) => name));
    expect(names()).toEqual(new Set([null, "Anna's laptop", 'Guests', 'Exact']));
    const text = JSON.stringify(await call('GET', 'api/server/config'));
    await call('PUT', 'api/server/config', JSON.parse(text.replace('"Guests"', '"Visitors"')));
    await Promise.all([workspace.contact.now(), pass(250)]);
    expect(names()).toContain('Visitors');
  });

  it('has those names at once, also of a server of which it is not known beforehand what it offers', async () => {
    const { workspace } = await openDesk('earliest', { file: SERVER_FILE, signed: false, ownApi: false, isOwn: false });
    await workspace.session.useToken(TOKEN, false);
    await pass(250);
    expect(workspace.users.state.get().byKey.get('guest-2026')?.name).toBe('Guests');
  });
});
