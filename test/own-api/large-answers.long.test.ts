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

/** Asks for the list, and reads its first bytes alone. */
async function slowReader(port: number, path = '/keys?limit=10000'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(`GET /panel/keyway/v1${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
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
