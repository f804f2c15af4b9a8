import { connect, Socket } from 'node:net';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { LongPolls } from '../../src/core/long-polls.js';
import { LargeAnswers } from '../../src/own-api/large-answers.js';
import { listen } from '../northbound/gateway.js';
import { createKey } from '../ports/key-changes.js';
import { ownStage, TOKEN } from './stage.js';

/** Keys whose list no system takes before it is read: 10,000 of about 600 bytes. */
const KEYS = 10_000;
const NAME = 'n'.repeat(500);

afterEach(() => void vi.useRealTimers());

/** Asks for the list, or another large answer, and reads its first bytes alone. */
async function slowReader(port: number, endpoint = 'GET /keys?limit=10000', body = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const [method, path] = endpoint.split(' ');
  const head = ['Host: a', `Authorization: Bearer ${TOKEN}`, `Content-Length: ${body.length}`, 'Idempotency-Key: k'];
  socket.write(`${method} /panel/keyway/v1${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n`);
  socket.write(`Content-Type: application/json\r\n\r\n${body}`);
  await new Promise((resolve) => socket.once('readable', resolve));
  return socket;
}

async function stageWithKeys() {
  const { app, call } = await ownStage();
  const { body } = await call('POST /tokens', { body: { name: 'other', may: 'relay' } });
  const { token } = (body as { readonly data: { readonly token: string } }).data;
  for (let n = 0; n < KEYS; n += 1)
    await createKey(app.keyway.backend, { accessKey: `key-${n}`, name: NAME, limitBytes: null });
  return { port: await listen(app), call, other: { authorization: `Bearer ${token}` } };
}

it('makes eight lists for a credential that takes none of them, and for others as ever', async () => {
  const { port, call, other } = await stageWithKeys();
  const readers = await Promise.all(Array.from({ length: 8 }, () => slowReader(port)));
  let isAnswered = false;
  const next = call('GET /keys?limit=1').then(({ status }) => {
    isAnswered = true;
    return status;
  });
  const events = call('GET /events');
  expect((await call('GET /keys?limit=1', { headers: other })).status).toBe(200);
  expect((await call('GET /keys/key-1')).status).toBe(200);
  expect(isAnswered).toBe(false);
  readers[0]?.destroy();
  expect(await next).toBe(200);
  expect((await events).status).toBe(200);
});

it('makes eight answers with all items of batches for a credential that takes none of them', async () => {
  const { app, call } = await ownStage();
  const port = await listen(app);
  const items = Array.from({ length: KEYS }, (_, n) => ({ op: 'create', access_key: `key-${n}-${NAME}` }));
  const body = JSON.stringify({ items });
  const job = await call('POST /keys/batch?wait=30', { body, headers: { 'idempotency-key': 'k' } });
  const { id } = (job.body as { readonly data: { readonly id: string } }).data;
  const endpoints = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? 'POST /keys/batch' : `DELETE /jobs/${id}`));
  const readers = await Promise.all(
    endpoints.map((endpoint) => slowReader(port, endpoint, endpoint.startsWith('POST') ? body : '')),
  );
  let answered = 0;
  const next = [`DELETE /jobs/${id}`, 'POST /keys/batch'].map((endpoint) =>
    call(endpoint, endpoint.startsWith('POST') ? { body } : {}).then(({ status }) => {
      answered += 1;
      return status;
    }),
  );
  const small = await call('POST /keys/batch?wait=30', { body: { items: [{ op: 'create' }] } });
  expect([small.status, answered]).toEqual([200, 0]);
  for (const reader of readers) reader.destroy();
  expect(await Promise.all(next)).toEqual([200, 202]);
});

it('holds up no list for batches whose ends are waited for', async () => {
  const { call } = await ownStage();
  const items = Array.from({ length: 1_000 }, () => ({ op: 'create', name: NAME.slice(0, 100) }));
  let ended = 0;
  const batches = Array.from({ length: 9 }, () =>
    call('POST /keys/batch?wait=3&delay=60', { body: { items } }).finally(() => (ended += 1)),
  );
  await expect.poll(async () => (await call('GET /jobs')).body).toMatchObject({ data: { length: 9 } });
  expect([(await call('GET /keys?limit=1')).status, ended]).toEqual([200, 0]);
  expect((await Promise.all(batches)).map(({ status }) => status)).toEqual(batches.map(() => 202));
});

it('answers a batch without its items where no place comes free, since it goes on', async () => {
  const { port, call } = await stageWithKeys();
  const readers = await Promise.all(Array.from({ length: 8 }, () => slowReader(port)));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const body = JSON.stringify({ items: Array.from({ length: KEYS }, () => ({ op: 'create' })) });
  const again = () => call('POST /keys/batch', { body, headers: { 'idempotency-key': 'k' } });
  const begun = again();
  await expect.poll(async () => (await call('GET /jobs')).body).toMatchObject({ data: [{ total: 10_000n }] });
  vi.advanceTimersByTime(30_000);
  expect(await begun).toMatchObject({ status: 202, body: { data: { total: 10_000n, items: [] } } });
  for (const reader of readers) reader.destroy();
  expect((await again()).body).toMatchObject({ data: { items: { length: KEYS } } });
});

it('ends the connection of who takes nothing of a list for a minute', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { port, call } = await stageWithKeys();
  await Promise.all(Array.from({ length: 8 }, () => slowReader(port)));
  const next = call('GET /keys?limit=1');
  vi.advanceTimersByTime(60_000);
  expect((await next).status).toBe(200);
});

it('refuses a call that has waited for half a minute, since its own connection may hold the place', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const answers = new LargeAnswers(new LongPolls());
  const places = Array.from({ length: 10 }, () => answers.placeOf('relay', new Socket(), false));
  await Promise.all(places.slice(0, 8).map((place) => place.take()));
  const refused = expect(places[8]?.take()).rejects.toMatchObject({ code: 'tooManyPolls' });
  vi.advanceTimersByTime(30_000);
  await refused;
  places[0]?.giveBack();
  await places[9]?.take();
});
