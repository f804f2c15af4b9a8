import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Call, type Caller, NoAnswer } from '../../src/client/call.js';
import { createCaller } from '../../src/client/caller.js';
import { directCaller } from '../../src/embedded/direct-caller.js';

/** Answers by the path in each way that a server of Node's can. */
const serve: RequestListener = async (request, response) => {
  const { method, url, headers, httpVersion, socket } = request;
  switch (url) {
    case '/echo': {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece);
      const shown = {
        method,
        httpVersion,
        from: socket.remoteAddress,
        type: headers['content-type'],
        length: headers['content-length'],
      };
      response.end(`${JSON.stringify(shown)} ${Buffer.concat(pieces).toString('base64')}`);
      return;
    }
    case '/unread':
      response.writeHead(413, ['content-length', '2', 'x-Two', 'a', 'X-two', 'b']).end('no');
      return;
    case '/pieces':
      for (const piece of ['one ', 'zwölf', Buffer.from([0, 255])]) response.write(piece);
      response.end();
      return;
    case '/nothing':
      response.writeHead(204).end();
      return;
    case '/kept':
      response.writeHead(304, { etag: '"1"' }).end();
      return;
    case '/large':
      response.end(Buffer.alloc(3_000_000, 'x'));
      return;
    case '/half':
      response.write('half', () => socket.destroy());
      return;
    case '/piped':
      Readable.from(Array.from({ length: 5 }, (_, index) => Buffer.alloc(40_000, index))).pipe(response);
      return;
    case '/reused': {
      const piece = Buffer.alloc(40_000, 'a');
      response.write(piece, () => response.end(piece.fill('b')));
      return;
    }
    case '/fault':
      response.write('half', () => response.destroy(new Error('on purpose')));
      return;
    case '/gone':
      socket.destroy();
      return;
  }
};

const server = createServer(serve);
const HOW = ['directly', 'over a socket'] as const;
const callers: Partial<Record<(typeof HOW)[number], Caller>> = { directly: directCaller(serve) };

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  callers['over a socket'] = createCaller({ origin: `http://127.0.0.1:${port}`, timeoutMilliseconds: 10_000 });
});

afterAll(() => {
  for (const caller of Object.values(callers)) caller.close();
  server.close();
});

/** Says where a body ends, and what becomes of the connection: Node decides that by what a connection can. */
const OF_CONNECTIONS = /^(?:connection|content-length|date|keep-alive|transfer-encoding)$/;

function saidBy({ status, headers, body }: Answer) {
  return {
    status,
    headers: [...headers].filter(([name]) => !OF_CONNECTIONS.test(name)).sort(),
    body: body.toString('latin1'),
  };
}

async function onBoth(call: Partial<Call>): Promise<readonly (ReturnType<typeof saidBy> | string)[]> {
  const whole: Call = { method: 'GET', path: '/echo', headers: new Map(), body: undefined, ...call };
  return Promise.all(
    Object.values(callers).map((caller) =>
      caller.send(whole).then(saidBy, (error: unknown) => (error instanceof NoAnswer ? error.kind : String(error))),
    ),
  );
}

describe('a server that is asked without a socket', () => {
  test.each<Partial<Call>>([
    { method: 'POST', body: Buffer.from('{"a":1}'), headers: new Map([['Content-Type', 'application/json']]) },
    { method: 'PUT', body: Buffer.alloc(0) },
    { method: 'POST', body: Buffer.alloc(300_000, 7) },
    { method: 'DELETE' },
    { method: 'OPTIONS', headers: new Map([['Origin', 'http://elsewhere']]) },
    { method: 'HEAD' },
    { method: 'HEAD', path: '/large' },
    { method: 'POST', path: '/unread', body: Buffer.alloc(1_000) },
    { path: '/pieces' },
    { path: '/nothing' },
    { path: '/kept' },
    { path: '/large' },
    { path: '/piped' },
    { path: '/reused' },
    { path: '/half' },
    { path: '/fault' },
    { path: '/gone' },
  ])('answers as it does over one: %j', async (call) => {
    const [directly, overSocket] = await onBoth(call);
    expect(directly).toEqual(overSocket);
  });

  test.each(HOW)('gives a body away piece by piece, as far as somebody takes it, %s', async (how) => {
    const taken: number[] = [];
    const answerTo = (path: string, isEnough: () => boolean) =>
      callers[how]?.send({
        method: 'GET',
        path,
        headers: new Map(),
        body: undefined,
        take: async ({ length }) => {
          taken.push(length);
          return !isEnough();
        },
      });
    const whole = await answerTo('/large', () => false);
    expect(taken.reduce((sum, each) => sum + each, 0)).toBe(3_000_000);
    expect(taken).not.toContain(0);
    expect(whole).toMatchObject({ status: 200, body: Buffer.alloc(0) });
    taken.length = 0;
    const left = await answerTo('/large', () => true);
    expect(taken).toHaveLength(1);
    expect(left).toMatchObject({ status: 200, body: Buffer.alloc(0) });
    taken.length = 0;
    expect((await answerTo('/unread', () => false))?.body.toString()).toBe('no');
    expect(taken).toEqual([]);
  });
});
