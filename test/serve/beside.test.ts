import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { serveHere } from './serve-here.js';

/** Something that listens on a port of this machine, as a server does. */
async function listening(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** All that a start logs; what it says of the DNS server may come after it listens. */
async function serveBeside(bind: string, { argv = [] as readonly string[], hasDns = true } = {}) {
  const folder = await folderForTest();
  const configuration = {
    mode: 'server',
    listen: '0.0.0.0:50000',
    api: { enabled: true, bind, token: 't', webpath: '/secret/' },
    dns: { enabled: true, local_port: 0 },
    access_keys: [],
  };
  await writeFile(join(folder, 'server.json'), JSON.stringify(configuration));
  await writeFile(join(folder, '.ostp_public_ip'), '203.0.113.7\n');
  const served = await serveHere(['serve', '--config', 'server.json', '--bind', '127.0.0.1:0', ...argv], { folder });
  await served.url;
  const messages = async () => (await served.log()).map(({ msg }) => String(msg));
  if (hasDns) await expect.poll(async () => (await messages()).some(isDns)).toBe(true);
  await served.stop();
  return messages();
}

const isDns = (message: string) => message.startsWith('the DNS server');

it('beside whoever listens on the address of the file a start says what that costs, and leaves the DNS port to it', async () => {
  const port = await listening();
  const messages = await serveBeside(`127.0.0.1:${port}`, { hasDns: false });
  const said = messages.filter((message) => message.includes('another process listens'));
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(new RegExp(`keyway serve --upstream http://127\\.0\\.0\\.1:${port}/secret$`));
  expect(messages.filter((message) => message.includes('the DNS port is left'))).toHaveLength(1);
  expect(messages.filter(isDns)).toEqual([]);
  expect(messages.filter((message) => message.includes('clients cannot reach'))).toEqual([]);
});

it('so does one that is held up while it asks who listens there', async () => {
  const { connect } = net;
  const heldUp = (...given: Parameters<typeof connect>) => {
    const socket = connect(...given);
    for (const end = performance.now() + 600; performance.now() < end; );
    return socket;
  };
  vi.spyOn(net, 'connect').mockImplementation(heldUp as typeof connect);
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  const messages = await serveBeside(`127.0.0.1:${await listening()}`, { hasDns: false });
  expect(messages.filter((message) => message.includes('another process listens'))).toHaveLength(1);
});

it('--resolver asks for the DNS server there, too', async () => {
  const messages = await serveBeside(`0.0.0.0:${await listening()}`, { argv: ['--resolver'] });
  expect(messages.filter((message) => message.includes('another process listens'))).toHaveLength(1);
});

it('where nobody listens there nothing is said of it', async () => {
  const messages = await serveBeside(`127.0.0.1:${await freePort()}`);
  expect(messages.filter((message) => message.includes('another process listens'))).toEqual([]);
});
