import { describe, expect, it } from 'vitest';
import type { Change } from '../../panel/api/jobs.js';
import { wordsIn } from '../../panel/i18n/text.js';
import { failureText } from '../../panel/state/batch.js';
import { batchesOf } from '../../panel/state/batches.js';
import { wouldLose } from '../../panel/state/drafts.js';
import { keysViewOf } from '../../panel/state/keys-view.js';
import { say, toasts } from '../../panel/state/toasts.js';
import type { Whole } from '../../src/text/whole.js';
import { gate } from './gate.js';
import { type DeskOptions, openDesk, pass, refusal, said, settle, undo } from './without-browser.js';

const GUEST = 53_687_091_200;
const EXACT = 18_446_744_073_709_551_615n;
const SEVEN = 7_516_192_768;

/** A limit of a key, and the one that it had before. */
const limitOf = (key: string, limit_bytes: Whole, before: Whole): Change => {
  const update = { op: 'update', access_key: key } as const;
  return { item: { ...update, limit_bytes }, back: { ...update, limit_bytes: before } };
};
const GUESTS = limitOf('guest-2026', SEVEN, GUEST);
const BOTH = [GUESTS, limitOf('exact-limit', SEVEN, EXACT)];
const each = (op: 'delete' | 'reset', ...keys: readonly string[]): readonly Change[] =>
  keys.map((key) => ({ item: { op, access_key: key } }));

async function batchDesk(options: DeskOptions = {}, revision = 'current') {
  const desk = await openDesk(revision, options);
  const batches = batchesOf(desk.workspace);
  return {
    ...desk,
    batches,
    view: keysViewOf(desk.workspace),
    /** The batches that the bar shows. */
    bar: () => batches.list.get().map(({ verb, phase, total }) => `${verb} ${phase} ${total}`),
    limit: async (key: string) => Object(await desk.call('GET', `api/users/${key}`)).limit_bytes,
    jobs: () => desk.call('GET', 'keyway/v1/jobs'),
    has: async (key: string) => JSON.stringify(await desk.call('GET', 'api/users')).includes(key),
    noted: async () => JSON.stringify(await desk.call('GET', 'api/audit')),
  };
}

const ONE_BY_ONE = { ownApi: false } as const;

describe.each([
  ["jobs of Keyway's interface", {}],
  ['calls one after the other', ONE_BY_ONE],
] as const)('a batch as %s', (_, options) => {
  it('of a deletion is undone within 5 seconds, and else happens', async () => {
    const { batches, bar, has } = await batchDesk(options);
    const { id } = batches.begin('delete', each('delete', 'guest-2026', 'exact-limit'));
    expect([...batches.leaving.get()]).toEqual(['guest-2026', 'exact-limit']);
    await pass(4_000);
    expect(bar()).toEqual(['delete soon 2']);
    batches.stop(id);
    await pass(10_000);
    expect([bar(), said(), await has('guest-2026')]).toEqual([[], ['Stopped after 0 of 2.'], true]);
    expect(batches.leaving.get().size).toBe(0);
    batches.begin('delete', each('delete', 'guest-2026', 'exact-limit'));
    await pass(7_000);
    expect([bar(), said(), await has('guest-2026')]).toEqual([[], ['2 keys deleted.'], false]);
  });

  it('of a reset is undone within 5 seconds, and else happens', async () => {
    const { batches, bar, call } = await batchDesk(options);
    batches.stop(batches.begin('reset', each('reset', 'guest-2026')).id);
    await pass(7_000);
    expect(said()).toEqual(['Stopped after 0 of 1.']);
    expect(await call('GET', 'api/users/guest-2026')).toMatchObject({ bytes_up: 4_000_000_000 });
    batches.begin('reset', each('reset', 'guest-2026'));
    await pass(7_000);
    expect(bar()).toEqual([]);
    expect(await call('GET', 'api/users/guest-2026')).toMatchObject({ bytes_up: 0 });
  });

  it('keeps what failed selected and names it, tries that alone again, and is noted once', async () => {
    const { batches, bar, view, call, limit, noted, workspace } = await batchDesk(options);
    const keys = ['guest-2026', 'exact-limit', '0c9e8d7f6a5b4c3d2e1f00112233ff44'];
    view.patch({ selected: new Set(keys) });
    await call('DELETE', 'api/users/guest-2026');
    batches.begin('limit', [...BOTH, limitOf(keys[2] ?? '', SEVEN, SEVEN)]);
    await pass(2_000);
    expect([bar(), said(), [...view.get().selected]]).toEqual([
      ['limit over 3'],
      ['Limit of 2 keys set.'],
      ['guest-2026'],
    ]);
    const [failed] = batches.list.get();
    if (failed === undefined) return expect.fail('it has gone');
    expect(failureText(failed, workspace.users.state.get().byKey, wordsIn('en'))).toMatch(
      /^Could not set the limit of 1 key: guest-2026\. .*user not found/,
    );
    expect(await noted()).toMatch(/Set the limit of 2 keys/);
    await call('POST', 'api/users', { access_key: 'guest-2026' });
    batches.again(failed);
    await pass(2_000);
    expect([bar(), await limit('guest-2026'), [...view.get().selected]]).toEqual([[], SEVEN, ['guest-2026']]);
    expect((await noted()).match(/Set the limit/g)).toHaveLength(2);
  });

  it('of limits is given back within 15 seconds, but for those that were changed meanwhile', async () => {
    const { batches, call, limit } = await batchDesk(options);
    batches.begin('limit', BOTH);
    await pass(2_000);
    // The list has not told of it yet.
    await call('PUT', 'api/users/guest-2026/limit', { limit_bytes: 1 });
    expect(said()).toEqual(['Limit of 2 keys set.']);
    undo();
    await pass(2_000);
    expect(said()).toEqual(['Keys changed meanwhile stay as they are: 1.', 'The key is as it was.']);
    expect(await limit('guest-2026')).toBe(1);
    batches.begin('limit', BOTH);
    await pass(20_000);
    expect(() => undo(), 'the time is over').toThrow('found 0');
  });

  it('of limits is not given back by an offer that a later batch has overtaken, however many messages come', async () => {
    const { batches } = await batchDesk(options);
    batches.begin('limit', [GUESTS]);
    await settle();
    batches.begin('limit', [GUESTS]);
    await pass(2_000);
    for (let other = 0; other < 6; other += 1) say('good', () => `other ${other}`);
    expect(toasts.get().map(({ text }) => text(wordsIn('en')))).toEqual([
      'Limit set.',
      ...['other 2', 'other 3', 'other 4', 'other 5'],
    ]);
    undo();
  });

  it('goes on after the next sign-in where its session ends in the middle', async () => {
    const { batches, call, limit, on, workspace } = await batchDesk(options);
    const answered = gate();
    const isOver = on(/users\/.*limit|keys\/batch/, async (_call, next) => {
      await answered.opened;
      return next();
    });
    batches.begin('limit', BOTH);
    await settle();
    // Somebody else signs in, which ends the page's session.
    await call('POST', 'api/login', { username: 'admin', password: 'password' });
    answered.open();
    isOver();
    await pass(2_000);
    expect(workspace.session.state.get().phase).toBe('lost');
    await workspace.session.signIn('admin', 'password', false);
    await pass(5_000);
    expect(said()).toEqual(['Limit of 2 keys set.']);
    expect(await limit('exact-limit')).toBe(SEVEN);
  });

  it('asks before the page is left while something of it would not be done, and leaves out a key without a character', async () => {
    const { batches } = await batchDesk(options);
    expect(wouldLose()).toBe(false);
    const { over } = batches.begin('limit', [...BOTH, limitOf('', SEVEN, SEVEN)]);
    expect(wouldLose()).toBe(true);
    await pass(2_000);
    expect((await over).done).toBe(2);
    expect(wouldLose()).toBe(false);
    expect(said()[0]).toBe('Left out 1 key without a single character, which no call can name.');
  });
});

describe("as jobs of Keyway's interface", () => {
  it('a batch that was begun elsewhere, or before a reload, is shown and can be stopped', async () => {
    const { call, open, batches, has } = await batchDesk();
    await call('POST', 'keyway/v1/keys/batch?delay=60', { items: [{ op: 'delete', access_key: 'guest-2026' }] });
    batches.begin('delete', each('delete', 'exact-limit'));
    await settle();
    expect(wouldLose(), 'the server has taken it').toBe(false);
    const reloaded = batchesOf(await open());
    await settle();
    expect(reloaded.list.get().map(({ verb, total }) => [verb, total])).toEqual([
      ['other', 1],
      ['other', 1],
    ]);
    for (const { id } of reloaded.list.get()) reloaded.stop(id);
    await pass(7_000);
    expect(reloaded.list.get()).toEqual([]);
    expect(said()).toContain('Stopped after 0 of 1.');
    expect([await has('guest-2026'), await has('exact-limit')]).toEqual([true, true]);
  });

  it('a batch goes on when whoever began it signs out, and is found again at the next sign-in', async () => {
    const { batches, bar, jobs, workspace } = await batchDesk();
    batches.begin('delete', each('delete', 'guest-2026'));
    await settle();
    workspace.session.signOut();
    expect([bar(), said()]).toEqual([[], []]);
    await workspace.session.signIn('admin', 'password', false);
    await pass(1_000);
    expect(await jobs()).toMatchObject([{ state: 'waiting' }]);
    expect(bar()).toEqual(['other running 1']);
    await pass(7_000);
    expect([bar(), said()]).toEqual([[], ['Key changed.']]);
  });

  it('a batch happens although its page is left', async () => {
    const { batches, tab, workspace, has } = await batchDesk();
    batches.begin('delete', each('delete', 'guest-2026'));
    await settle();
    tab.leave();
    workspace.stop();
    expect(await has('guest-2026')).toBe(true);
    await pass(7_000);
    expect(await has('guest-2026')).toBe(false);
  });

  it('a batch whose answer is lost is sent again under its key, done once, and shown once', async () => {
    const { batches, bar, jobs, limit, on, sent } = await batchDesk();
    const isOver = on(/POST keyway.v1.keys.batch/, async (_call, next) => {
      await next();
      isOver();
      throw new TypeError('fetch failed');
    });
    batches.begin('limit', [GUESTS]);
    await settle();
    expect(bar()).toEqual(['limit running 1']);
    await pass(5_000);
    expect([bar(), await limit('guest-2026'), await jobs()]).toMatchObject([[], SEVEN, [{ done: 1 }]]);
    const keys = sent.filter(({ path }) => path.startsWith('keyway/v1/keys/batch'));
    const [first, second] = keys.map(({ headers }) => headers.get('idempotency-key'));
    expect(first).toMatch(/^[\w-]{8,}$/);
    expect([second, keys.length]).toEqual([first, 2]);
  });

  it('of a batch that is stopped before the server takes it nothing is done, also where it gets there later', async () => {
    const { batches, jobs, limit, on } = await batchDesk();
    const isOver = on(/keys\/batch/, () => refusal(429, 'too many jobs wait', 'too_many_jobs'));
    const { id } = batches.begin('limit', [GUESTS]);
    await pass(1_000);
    batches.stop(id);
    isOver();
    await pass(5_000);
    expect(said()).toEqual(['Stopped after 0 of 1.']);
    expect([await limit('guest-2026'), await jobs()]).toMatchObject([GUEST, [{ state: 'stopped', done: 0 }]]);
  });

  it('a batch that the server has taken and tells nothing of is not said to have failed, nor offered again', async () => {
    const { batches, bar, limit, on } = await batchDesk();
    on(/v1\/jobs\//, () => refusal(404, 'there is no such job', 'not_found'));
    batches.begin('limit', [GUESTS]);
    await pass(2_000);
    expect([bar(), said()]).toEqual([[], ['The server no longer tells what became of all of it.']]);
    expect(await limit('guest-2026')).toBe(SEVEN);
  });

  it("where Keyway's interface is no more, batches go on without it", async () => {
    const { batches, limit, on, workspace } = await batchDesk();
    on(/keyway\/v1/, () => refusal(404, 'not found'));
    await Promise.all([workspace.contact.now(), pass(1_000)]);
    await pass(6_000);
    expect(workspace.reach.get()).toBe('none');
    batches.begin('limit', [GUESTS]);
    await pass(2_000);
    expect([said(), await limit('guest-2026')]).toEqual([['Limit set.'], SEVEN]);
  });
});

describe('as calls one after the other', () => {
  it('no call is sent before the one before is answered, also of a later batch, and a stopped one sends no more', async () => {
    const { batches, on, sent, bar } = await batchDesk(ONE_BY_ONE);
    const answers: (() => void)[] = [];
    on(/PUT api.users/, async (_call, next) => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return next();
    });
    const first = batches.begin('limit', BOTH);
    batches.begin('limit', [GUESTS]);
    const stopped = batches.begin('limit', BOTH);
    const put = () => sent.filter(({ method }) => method === 'PUT').map(({ path }) => path.split('/')[2]);
    await pass(1_000);
    expect(put()).toEqual(['guest-2026']);
    batches.stop(stopped.id);
    await pass(1_000);
    expect(bar()).toEqual(['limit running 2', 'limit running 1']);
    batches.stop(first.id);
    answers[0]?.();
    await pass(1_000);
    expect(put()).toEqual(['guest-2026', 'guest-2026']);
    answers[1]?.();
    await pass(1_000);
    expect([bar(), put().length]).toEqual([[], 2]);
    expect(said()).toEqual(['Stopped after 0 of 2.', 'Stopped after 1 of 2.', 'Limit set.']);
  });

  it('a note is in no call to a revision, and a change of a note alone fails', async () => {
    const { batches, sent } = await batchDesk(ONE_BY_ONE);
    const update = { op: 'update', access_key: 'guest-2026', note: 'owes 5' } as const;
    batches.begin('import', [
      { item: { op: 'create', access_key: 'new', note: 'owes 5' } },
      { item: { ...update, limit_bytes: SEVEN } },
      { item: update },
    ]);
    await pass(2_000);
    const changes = sent.filter(({ method, path }) => method !== 'GET' && path.startsWith('api/users'));
    expect(changes.map(({ path }) => path)).toEqual(['api/users', 'api/users/guest-2026/limit']);
    expect(changes.filter(({ body }) => body.includes('note'))).toEqual([]);
    expect(batches.list.get()).toMatchObject([{ done: 2, failed: 1 }]);
  });

  it('new keys that differ in nothing are made by one call, and one by one where the server has none for that', async () => {
    const create = (name?: string): Change => ({ item: { op: 'create', ...(name !== undefined && { name }) } });
    const posted = (desk: Awaited<ReturnType<typeof batchDesk>>) =>
      desk.sent.filter(({ method, path }) => method === 'POST' && path.startsWith('api/users')).map(({ path }) => path);
    const current = await batchDesk(ONE_BY_ONE);
    current.batches.begin('create', [create(), create()]);
    current.batches.begin('create', [create('Guest 1'), create('Guest 2')]);
    await pass(2_000);
    expect(posted(current)).toEqual(['api/users/bulk', 'api/users', 'api/users']);
    // It turns out only now that the server lacks it.
    current.on(/bulk/, () => refusal(404, 'not found'));
    current.batches.begin('create', [create(), create()]);
    await pass(2_000);
    expect(posted(current).slice(3)).toEqual(['api/users/bulk', 'api/users', 'api/users']);
    expect([await current.has('Guest 2'), current.bar()]).toEqual([true, Array(3).fill('create over 2')]);
    const older = await batchDesk(ONE_BY_ONE, 'dns');
    const asked = gate();
    older.on(/POST api.users/, async (_call, next) => {
      await asked.opened;
      return next();
    });
    const { id, over } = older.batches.begin('create', Array(500).fill(create()), true);
    await pass(100);
    older.batches.stop(id);
    asked.open();
    await pass(1_000);
    expect(posted(older)).toEqual(['api/users']);
    expect((await over).outcomes, 'what was made is handed out').toMatchObject([
      { ok: true, key: expect.stringMatching(/^[0-9a-f]{32}$/) },
    ]);
  });

  it('a page that is left forgets a batch that was not done', async () => {
    const { batches, open, tab, has } = await batchDesk(ONE_BY_ONE);
    batches.begin('delete', each('delete', 'guest-2026'));
    tab.leave();
    expect([...tab.kept.keys()].filter((name) => name.includes('batch'))).toEqual([]);
    const reloaded = batchesOf(await open());
    expect(reloaded.list.get()).toEqual([]);
    expect(await has('guest-2026')).toBe(true);
  });
});
