import { createConnection, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../../src/gateway/create-gateway.js';
import { goTo, openPage, refreshNow, signIn } from '../../panel/browser/stage.js';
import { SERVER_FILE, TOKEN } from '../../panel/server-files.js';
import { describeDatabase, freshDatabase } from './database.js';
import { openBackend } from './gateways.js';

/** One address, whose new connections go to whichever gateway it is told. */
async function startFront() {
  let target = 0;
  const open = new Set<Socket>();
  const front = createServer((client) => {
    const server = createConnection(target, '127.0.0.1');
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', () => client.destroy());
      socket.on('close', () => open.delete(socket));
    }
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => front.close(resolve));
  });
  const address = front.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    leadsTo(port: number) {
      target = port;
    },
  };
}

describeDatabase('two gateways behind one address, in a browser', () => {
  it('a session that began at one goes on at the other while the first is updated, and at that one again', async () => {
    const url = await freshDatabase();
    const first = await openBackend(url);
    await first.document.put(Buffer.from(SERVER_FILE));
    const start = async () => {
      const app = await createGateway({ mounts: [{ revision: 'current' }], database: { url }, loginGuard: 'off' });
      onTestFinished(() => app.close());
      const origin = await app.listen({ host: '127.0.0.1', port: 0 });
      const api = `${origin}${app.keyway.mounts[0]?.api}`;
      return { app, api, port: Number(new URL(origin).port) };
    };
    const create = async (api: string, name: string) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ access_key: name, name });
      expect((await fetch(`${api}/users`, { method: 'POST', headers, body })).status).toBe(200);
    };
    const [one, other] = [await start(), await start()];
    const front = await startFront();
    front.leadsTo(one.port);
    const { page, expectClean, close } = await openPage(`${front.origin}/office/panel/`);
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).waitFor();

    front.leadsTo(other.port);
    await one.app.close();
    await create(other.api, 'Made at the other');
    await refreshNow(page);
    await page.getByRole('link', { name: 'Made at the other' }).waitFor();

    const updated = await start();
    front.leadsTo(updated.port);
    await other.app.close();
    await create(updated.api, 'Made at the updated');
    await refreshNow(page);
    await page.getByRole('link', { name: 'Made at the updated' }).waitFor();
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(1);
    expectClean();
    await close();
  });
});
