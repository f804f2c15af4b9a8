import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, it, vi } from 'vitest';
import { whenAnswerIsOver } from '../../src/northbound/answer-over.js';
import { scriptedServer } from '../stand-in/scripted-server.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
/** More than the system takes of an answer that nobody reads. */
const LONG = Buffer.alloc(16 * 1024 * 1024);

async function stage(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const { port } = await scriptedServer(answer);
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
  await once(client, 'connect');
  return client;
}

it('answers that are due behind one that nobody reads are over when the connection ends, each once', async () => {
  const begun: string[] = [];
  const over: string[] = [];
  const client = await stage((request, response) => {
    const name = `answer ${begun.push('')}`;
    whenAnswerIsOver(response, request.socket, () => over.push(name));
    response.end(LONG);
  });
  client.write(REQUEST.repeat(20));
  await vi.waitFor(() => expect(begun).toHaveLength(20), 30_000);
  expect(over).toEqual([]);
  client.resetAndDestroy();
  await vi.waitFor(() => expect(new Set(over).size).toBe(20), 30_000);
  expect(over).toHaveLength(20);
});

it('an answer that is taken is over, although its connection goes on', async () => {
  const over: string[] = [];
  const client = await stage((request, response) => {
    whenAnswerIsOver(response, request.socket, () => over.push('over'));
    response.end('short');
  });
  client.resume();
  client.write(REQUEST);
  await vi.waitFor(() => expect(over).toEqual(['over']), 30_000);
  client.write(REQUEST);
  await vi.waitFor(() => expect(over).toEqual(['over', 'over']), 30_000);
  expect(client.destroyed).toBe(false);
});

it('an answer on a connection that is gone is over at once', async () => {
  const over: string[] = [];
  const client = await stage((request, response) => {
    request.socket.destroy();
    whenAnswerIsOver(response, request.socket, () => over.push('over'));
  });
  client.write(REQUEST);
  await vi.waitFor(() => expect(over).toEqual(['over']), 30_000);
});
