import { describe, expect, it } from 'vitest';
import { describeDatabase } from '../homes/database/database.js';
import { listen } from '../northbound/gateway.js';
import { WHOLE } from '../whole.js';
import { databaseStage, fileStage, frontStage } from './homes.js';
import { callerOf, type OwnReply, type OwnStage, ownStage, TOKEN } from './stage.js';

interface JobBody {
  readonly id: string;
  readonly state: string;
  readonly total: bigint;
  readonly done: bigint;
  readonly failed: bigint;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly items: readonly {
    readonly index: bigint;
    readonly ok: boolean | null;
    readonly access_key: string;
    readonly error?: string;
    readonly code?: string;
  }[];
}

const jobOf = ({ body }: OwnReply): JobBody => (body as unknown as { readonly data: JobBody }).data;

/** A home, and how many changes a test may make there. */
interface OverHome {
  readonly home: string;
  readonly open: () => Promise<OwnStage>;
  readonly many: number;
}

/** That a batch comes to the same over each is shown by batch-model.test.ts. */
const HOMES: readonly OverHome[] = [
  { home: 'memory alone', open: () => ownStage(), many: 2000 },
  { home: 'a configuration file', open: fileStage, many: WHOLE ? 2000 : 500 },
  { home: 'a running server', open: frontStage, many: 100 },
];

describe.each(HOMES.filter(({ home }) => WHOLE || home === 'a configuration file'))('a batch over $home', testsOver);
if (WHOLE) describeDatabase('a batch over a database', () => testsOver({ home: '', open: databaseStage, many: 2500 }));

function testsOver({ open, many }: OverHome): void {
  it('is begun by 202, stands in the list, and its end in the audit list once', async () => {
    const { app, call } = await open();
    const begun = await call('POST /keys/batch', { body: { items: [{ op: 'create', access_key: 'a' }] } });
    const { id, items } = jobOf(begun);
    expect([begun.status, items[0]?.access_key]).toEqual([202, 'a']);
    await expect.poll(async () => jobOf(await call(`GET /jobs/${id}`)).state).toBe('done');
    expect(await call('GET /jobs')).toMatchObject({ status: 200, body: { data: [{ id, state: 'done', total: 1n }] } });
    await expect.poll(async () => app.keyway.core.audit.list()).toHaveLength(1);
    expect((await app.keyway.core.audit.list())[0]).toMatchObject({
      eventEn: `Batch ${id} (static): 1 of 1 keys done, 0 failed`,
      success: true,
    });
  });

  it('is answered at its end to who waits for it, and after that time to who waits less', async () => {
    const { call } = await open();
    const begin = async (delay: number) =>
      jobOf(await call(`POST /keys/batch?delay=${delay}`, { body: { items: [{ op: 'create' }] } })).id;
    const [held, id] = [await begin(60), await begin(1)];
    const [less, whole] = await Promise.all([call(`GET /jobs/${held}?wait=1`), call(`GET /jobs/${id}?wait=30`)]);
    expect(jobOf(less)).toMatchObject({ id: held, state: 'waiting' });
    expect(jobOf(whole)).toMatchObject({ id, state: 'done', done: 1n });
    expect(jobOf(await call(`GET /jobs/${id}?wait=30&failed=1`))).toMatchObject({ id, items: [] });
    expect(await call('GET /jobs/unknown?wait=30')).toMatchObject({ status: 404 });
  });

  it('that is sent twice at once is one job', async () => {
    const { app, call } = await open();
    const send = () =>
      call('POST /keys/batch?wait=30', {
        body: { items: [{ op: 'create', name: 'Anna' }] },
        headers: { 'idempotency-key': 'one' },
      });
    const [one, other] = await Promise.all([send(), send()]);
    expect(jobOf(one).id).toBe(jobOf(other).id);
    expect(app.keyway.core.keys.size).toBe(1);
  });

  it('of many keys is one write and one list', async () => {
    const { app, call } = await open();
    // No server starts without a key.
    await app.keyway.core.createUser({ accessKey: 'stays', name: null, limitBytes: null });
    const items = Array.from({ length: many }, (_, index) => ({ op: 'create', name: `Name ${index}` }));
    const made = jobOf(await call('POST /keys/batch?wait=30', { body: { items } }));
    expect(made).toMatchObject({ state: 'done', done: BigInt(many) });
    const gone = made.items.map(({ access_key }) => ({ op: 'delete', access_key }));
    expect(jobOf(await call('POST /keys/batch?wait=30', { body: { items: gone } }))).toMatchObject({
      done: BigInt(many),
    });
    expect(app.keyway.core.keys.size).toBe(1);
  });
}

/** A caller who shows a token of its own that may this. */
async function tokenCaller({ app, call }: OwnStage, name: string, may: string) {
  const made = await call('POST /tokens', { body: { name, may } });
  const { token } = (made.body as unknown as { readonly data: { readonly token: string } }).data;
  const own = callerOf(app);
  const headers = { authorization: `Bearer ${token}` };
  return (endpoint: string, body?: unknown) => own(endpoint, { body, headers });
}

describe('a batch', () => {
  it('whose end somebody waits for when Keyway is stopped is answered at once, with its address', {
    timeout: 25_000,
  }, async () => {
    const { app } = await ownStage();
    const port = await listen(app);
    const answer = fetch(`http://127.0.0.1:${port}/panel/keyway/v1/keys/batch?wait=30&delay=60`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: '{"items":[{"op":"create"}]}',
    });
    await expect.poll(() => [...app.keyway.home.backend.records.of('jobs').keys()].length).toBeGreaterThan(0);
    await app.close();
    const { status, headers } = await answer;
    expect([status, headers.get('location')]).toEqual([202, expect.stringContaining('/keyway/v1/jobs/')]);
  });

  it('that a "create" token posts makes keys of its own, and nothing else', async () => {
    const stage = await ownStage();
    const { app, call } = stage;
    const [asBot, asOther] = [await tokenCaller(stage, 'bot', 'create'), await tokenCaller(stage, 'other', 'create')];
    await app.keyway.core.createUser({ accessKey: 'taken', name: 'Taken', limitBytes: null });
    const items = [
      { op: 'create', access_key: 'a', name: 'First' },
      { op: 'create' },
      { op: 'create', access_key: 'taken', name: 'Mine' },
      { op: 'create', access_key: 'a', name: 'Anna' },
      ...['delete', 'reset', 'rotate', 'update'].map((op) => ({ op, access_key: 'a' })),
    ];
    const job = jobOf(await asBot('POST /keys/batch?wait=30', { items }));
    expect(job.items.map(({ ok, code }) => code ?? ok)).toEqual([
      ...[true, true, 'not_permitted', true],
      ...['not_permitted', 'not_permitted', 'not_permitted', 'not_permitted'],
    ]);
    const own = ['a', job.items[1]?.access_key];
    const seen = ({ body }: OwnReply) =>
      (body as unknown as { data: { keys: { access_key: string }[] } }).data.keys.map(({ access_key }) => access_key);
    expect(seen(await asBot('GET /keys')).sort()).toEqual(own.toSorted());
    expect(seen(await asOther('GET /keys'))).toEqual([]);
    expect(app.keyway.core.keys.get('taken')?.name).toBe('Taken');
    expect(app.keyway.core.keys.get('a')?.name).toBe('Anna');
    expect(await asBot('GET /jobs')).toMatchObject({ body: { data: [{ id: job.id }] } });
    expect(await asOther('GET /jobs')).toMatchObject({ body: { data: [] } });
    expect((await asOther(`GET /jobs/${job.id}`)).status).toBe(404);
    expect((await asOther(`DELETE /jobs/${job.id}`)).status).toBe(404);
    expect((await call(`GET /jobs/${job.id}`)).status).toBe(200);
    expect(await asOther('POST /keys/batch?wait=30', { items: [{ op: 'create', access_key: 'a' }] })).toMatchObject({
      body: { data: { items: [{ code: 'not_permitted' }] } },
    });
  });

  if (WHOLE)
    it('that a "create" token posts over a server makes keys of its own, and nothing else', async () => {
      const stage = await frontStage();
      const asBot = await tokenCaller(stage, 'bot', 'create');
      await stage.app.keyway.core.createUser({ accessKey: 'taken', name: 'Taken', limitBytes: null });
      const items = [
        { op: 'create', access_key: 'a' },
        { op: 'create', access_key: 'taken' },
        { op: 'delete', access_key: 'a' },
      ];
      const { items: told } = jobOf(await asBot('POST /keys/batch?wait=30', { items }));
      expect(told.map(({ ok, code }) => code ?? ok)).toEqual([true, 'not_permitted', 'not_permitted']);
      expect(await asBot('GET /keys')).toMatchObject({ body: { data: { keys: [{ access_key: 'a' }] } } });
    });

  it('is shown in pages of its items, or of those that failed', async () => {
    const { call } = await ownStage();
    const items = Array.from({ length: 1500 }, (_, index) => ({ op: 'delete', access_key: `${index}` }));
    const { id } = jobOf(await call('POST /keys/batch?wait=30', { body: { items } }));
    const indexes = async (query: string) =>
      jobOf(await call(`GET /jobs/${id}${query}`)).items.map(({ index }) => Number(index));
    const from = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at);
    expect(await indexes('')).toEqual(from(0, 1000));
    expect(await indexes('?after=999')).toEqual(from(1000, 500));
    expect(await indexes('?failed=1&limit=3&after=9')).toEqual([10, 11, 12]);
    expect(await indexes('?limit=10000')).toHaveLength(1500);
    expect(await call(`GET /jobs/${id}?after=x`)).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
  });

  it('is told by one event of its rotated keys, and one of its end', async () => {
    const { app, call } = await ownStage();
    await app.keyway.core.bulkCreateUsers(3n, null);
    const items = [...app.keyway.core.keys.entries()].map(({ accessKey }) => ({ op: 'rotate', access_key: accessKey }));
    const job = jobOf(
      await call('POST /keys/batch?wait=30', { body: { items: [...items, { op: 'delete', access_key: 'nobody' }] } }),
    );
    const events = async (type: string) => {
      const { body } = await call('GET /events');
      const { data } = body as unknown as { data: { events: { type: string; data: unknown }[] } };
      return data.events.filter((event) => event.type === type).map((event) => event.data);
    };
    const keys = job.items.slice(0, 3).map(({ access_key: to }, index) => ({
      ...{ access_key: to, name: null },
      changes: [{ member: 'access_key', from: items[index]?.access_key, to }],
    }));
    await expect
      .poll(() => events('job.ended'))
      .toEqual([{ job: job.id, by: 'static', state: 'done', total: 4n, done: 3n, failed: 1n }]);
    expect(await events('key.rotated')).toEqual([{ keys, by: 'static' }]);
  });

  it('is refused whole for an item that says what it must not, by the place and name of the member', async () => {
    const { app, call } = await ownStage();
    const refused = async (...items: unknown[]) => (await call('POST /keys/batch', { body: { items } })).body;
    const good = { op: 'create', name: 'Anna' };
    expect(await refused(good, { op: 'create', policy: 1 })).toEqual({
      ok: false,
      error: 'items[1].policy: expected no member of this name',
      code: 'invalid_body',
    });
    expect(await refused({ op: 'remove', access_key: 'a' })).toMatchObject({
      error: 'items[0].op: expected create, update, delete, reset, rotate',
    });
    expect(await refused({ op: 'update', name: 'x' })).toMatchObject({
      error: 'items[0].access_key: expected a string that is not empty',
    });
    expect(await refused({ op: 'delete', access_key: 'a', name: 'x' })).toMatchObject({ code: 'invalid_body' });
    expect(await refused()).toMatchObject({ code: 'invalid_body' });
    expect(await refused(...Array.from({ length: 10_001 }, () => good))).toMatchObject({ code: 'invalid_body' });
    expect((await call('POST /keys/batch', { body: { items: [good], more: 1 } })).body).toMatchObject({
      error: 'more: expected no member of this name',
    });
    expect(app.keyway.core.keys.size).toBe(0);
  });

  if (WHOLE)
    it('may be 8 MiB', async () => {
      const { call } = await ownStage();
      const bodyOf = (length: number) => `{"items":[{"op":"create","name":"${'x'.repeat(length)}"}]}`;
      const much = 8 * 1024 * 1024 - bodyOf(0).length;
      expect((await call('POST /keys/batch?wait=30', { body: bodyOf(much) })).status).toBe(200);
      expect(await call('POST /keys/batch', { body: bodyOf(much + 1) })).toMatchObject({
        status: 413,
        body: { code: 'body_too_large' },
      });
    });

  it('is refused where a hundred wait', async () => {
    const { call } = await ownStage();
    const send = () => call('POST /keys/batch?delay=60', { body: { items: [{ op: 'create' }] } });
    for (let count = 0; count < 100; count += 1) expect((await send()).status).toBe(202);
    expect(await send()).toMatchObject({ status: 429, body: { code: 'too_many_jobs' } });
  });
});
