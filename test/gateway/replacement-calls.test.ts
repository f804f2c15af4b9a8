import { fastify } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { createCaller } from '../../src/client/caller.js';
import { serveReplacements } from '../../src/gateway/replacement-calls.js';
import { awaitsBody } from '../../src/sockets/awaited-bodies.js';
import { listenerOptions } from '../../src/sockets/http-server.js';

it('a backup that is sent to be restored may take its time, as from somebody with a credential', async () => {
  const app = fastify(listenerOptions({ requestTimeout: 60_000 }));
  const bodies: Parameters<typeof awaitsBody>[0][] = [];
  app.addHook('onRequest', async ({ raw }) => void bodies.push(raw));
  const seen: boolean[] = [];
  let begin: () => void = () => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  serveReplacements(app, {
    async restore(backup) {
      seen.push(...bodies.map(awaitsBody));
      begin();
      for await (const _piece of backup);
    },
    importCounters: () => expect.unreachable(),
    putFile: () => expect.unreachable(),
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const caller = createCaller({ origin, timeoutMilliseconds: 60_000 });
  onTestFinished(async () => {
    caller.close();
    await app.close();
  });
  async function* pieces() {
    yield Buffer.from('half');
    await hasBegun;
    yield Buffer.from('whole');
  }
  const headers = new Map([['content-type', 'application/octet-stream']]);
  const call = { method: 'POST', path: '/replacements/state', headers, body: undefined, pieces: pieces() };
  expect((await caller.send(call)).status).toBe(200);
  expect(seen).toEqual([false]);
});
