import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { playerOn, startLiveServer } from './live-server.js';

const OF_CONNECTION = /^(?:host|connection|keep-alive|transfer-encoding|content-length)$/;

/** Stands before a server and cuts the name of every key that is sent, by code units. */
async function cuttingNames(origin: string, length: number): Promise<string> {
  const front = createServer(async (request, response) => {
    const sent = await buffer(request);
    const cut = sent.toString('utf8').replace(/"name":"([^"]*)"/, (_, name) => `"name":"${name.slice(0, length)}"`);
    const headers = Object.entries(request.headers).filter(([name]) => !OF_CONNECTION.test(name));
    const answer = await fetch(origin + request.url, {
      method: request.method ?? '',
      headers: headers as [string, string][],
      ...(sent.length === 0 ? {} : { body: cut }),
    });
    response.writeHead(answer.status, [...answer.headers].filter(([name]) => !OF_CONNECTION.test(name)).flat());
    response.end(Buffer.from(await answer.arrayBuffer()));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void front.close().closeAllConnections());
  await new Promise((resolve) => front.once('listening', resolve));
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
}

test.each([
  [200, 'equal'],
  [100, 'different'],
])('a server that keeps %i characters of a name is found %s by its changes', async (length, outcome) => {
  const { origin } = await startLiveServer('current');
  const player = await playerOn(await cuttingNames(origin, length + 1), 'current', { writes: true });
  const results = await player.tryChanges(() => false);
  const changes = results.find(({ name }) => name === 'writes/changes');
  expect(changes).toMatchObject({ outcome });
  expect(changes?.differences.map(({ request }) => request)).toEqual(outcome === 'equal' ? [] : ['PUT /users/{key}']);
  expect((await player.finish()).left).toEqual([]);
});
