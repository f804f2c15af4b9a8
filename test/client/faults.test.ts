import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Caller, Pace } from '../../src/client/call.js';
import { createCaller } from '../../src/client/caller.js';
import type { CallOutcome, UpstreamServer } from '../../src/client/server.js';
import { UpstreamError } from '../../src/client/upstream-error.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { TOKEN } from '../lab/live-server.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { BY_TOKEN, call, envelope, handClock, keptLog, STATUS } from './called-server.js';

const pace = (milliseconds: number): Pace => ({
  firstByteMilliseconds: milliseconds,
  spanMilliseconds: milliseconds,
  spanBytes: 2,
});

/** Answers the status as 0.2.96 would, and leaves the rest to what is tested. */
const besideStatus: (rest: Parameters<typeof scriptedServer>[0]) => Parameters<typeof scriptedServer>[0] =
  (rest) => (request, response) => {
    if (request.url !== '/panel/api/server/status') rest(request, response);
    else response.setHeader('content-type', 'application/json').end(envelope(STATUS));
  };

async function failureOf(call: Promise<unknown>): Promise<UpstreamError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof UpstreamError)) throw new Error(`expected an UpstreamError, got ${String(error)}`);
  return error;
}

const read = (server: UpstreamServer) => server.listUsers();
const readOne = (server: UpstreamServer) => server.getUser('a');
const write = (server: UpstreamServer) => server.createUser({ accessKey: 'a', name: null, limitBytes: null });

describe('what is no answer of the API', () => {
  const PAGE = '<!doctype html><title>panel</title>';
  const json = 'application/json';

  it.each([
    ['the HTML of a panel', 200, 'text/html', PAGE, true],
    ['the page of a proxy', 502, 'text/html', PAGE, true],
    ['a page of one who turns it away', 403, 'text/html', PAGE, false],
    ['a redirect', 302, json, envelope([]), false],
    ['an envelope with a failure status', 500, json, envelope([]), true],
    ['no envelope', 200, json, '[]', true],
    ['an envelope without data', 200, json, '{"ok":true}', true],
    ['half an envelope', 200, json, envelope([]).slice(0, -3), true],
    ['an envelope and more', 200, json, `${envelope([])}x`, true],
    ['nothing', 204, json, '', true],
    ['what is no UTF-8', 200, json, Buffer.from([0x7b, 0xff, 0x7d]), true],
  ])('%s is a 502, asked for once more by a single read, and never by a list or a write', async (_, status, type, body, mayHaveHappened) => {
    const elsewhere = await scriptedServer((_request, response) => response.end(envelope([])));
    const { origin, seen } = await scriptedServer(
      besideStatus((_request, response) => {
        response.writeHead(status, { 'content-type': type, location: `${elsewhere.origin}/` }).end(body);
      }),
    );
    const server = call(origin);
    expect(await failureOf(read(server))).toMatchObject({
      code: 'upstreamAway',
      mayHaveHappened: false,
      retryAfter: 5,
    });
    expect(await failureOf(readOne(server))).toMatchObject({ code: 'upstreamAway', mayHaveHappened: false });
    const isWrite = await failureOf(write(server));
    // A write is told by its status alone.
    if (status === 200 && type === json && body === envelope([])) return;
    expect(isWrite).toMatchObject({ code: 'upstreamAway', mayHaveHappened });
    expect(isWrite.message.endsWith('; the change may have been made')).toBe(mayHaveHappened);
    const count = (asked: string) => seen.filter((each) => each === asked).length;
    const asked = ['GET /panel/api/users', 'GET /panel/api/users/a', 'POST /panel/api/users'];
    expect(asked.map(count)).toEqual([1, 2, 1]);
    expect(elsewhere.seen).toEqual([]);
  });

  it.each([
    ['a gzip that nobody asked for', {}, gzipSync(envelope([])), 'compressed with gzip, which nobody asked for'],
    [
      'a coding that it names',
      { 'content-encoding': 'br' },
      Buffer.from('x'),
      'compressed with br, which nobody asked for',
    ],
    ['a byte order mark', {}, Buffer.from(`\ufeff${envelope([])}`), 'with a byte order mark'],
  ])('is named where it is %s', async (_, headers, body, words) => {
    const { origin } = await scriptedServer(
      besideStatus((_request, response) => {
        response.writeHead(200, headers).end(body);
      }),
    );
    expect((await failureOf(readOne(call(origin)))).detail).toContain(words);
  });

  it('is named where it is a redirect, with where that leads', async () => {
    const { origin } = await scriptedServer((_request, response) => {
      response.writeHead(308, { location: 'https://vpn.example/panel/' }).end();
    });
    expect((await failureOf(readOne(call(origin)))).detail).toContain(
      'it answered 308, a redirect to https://vpn.example/panel/: give the address that it leads to',
    );
  });

  it('is told in few words, however many a failure of its own has', async () => {
    const { origin } = await scriptedServer(
      besideStatus((_request, response) => {
        response.writeHead(500).end(JSON.stringify({ ok: false, error: 'no '.repeat(20_000) }));
      }),
    );
    const log = keptLog();
    const server = call(origin, { log });
    const { detail } = await failureOf(readOne(server));
    expect(detail).toContain('it answered 500: no no ');
    for (const told of [detail, server.troubles()[0]?.reason ?? '', ...log.lines])
      expect(told.length).toBeLessThan(2_500);
  });

  it('is cut off between characters, not within one', async () => {
    const { origin } = await scriptedServer(
      besideStatus((_request, response) => {
        response.writeHead(500).end(JSON.stringify({ ok: false, error: '😀'.repeat(2_000) }));
      }),
    );
    const { detail } = await failureOf(readOne(call(origin)));
    expect(detail).toMatch(/😀…$/u);
  });

  it('is cut off after its credentials are struck out, of which the beginning would stay', async () => {
    const { origin } = await scriptedServer(
      besideStatus((_request, response) => {
        response.writeHead(500).end(JSON.stringify({ ok: false, error: `${'x'.repeat(1_975)} ${TOKEN}` }));
      }),
    );
    const { detail } = await failureOf(readOne(call(origin, { credentials: BY_TOKEN })));
    expect(detail).toMatch(/x \[struck…$/);
  });

  it('is said by server and time, with one log line when it goes and one when it is back', async () => {
    let isGone = true;
    const { origin } = await scriptedServer(
      besideStatus((_request, response) => {
        response.end(isGone ? PAGE : envelope([]));
      }),
    );
    const log = keptLog();
    const server = call(origin, { log });
    const failure = await failureOf(read(server));
    expect(failure.detail).toMatch(
      new RegExp(
        `^${origin}: it answered 200 \\(\\d+ bytes, no content type\\) and no JSON envelope, since 20\\d\\d-.*Z$`,
      ),
    );
    await failureOf(read(server));
    expect(server.troubles()[0]?.kind).toBe('away');
    isGone = false;
    expect((await read(server)).value).toEqual([]);
    expect(server.troubles()).toEqual([]);
    const said = log.lines.filter((line) => /does not answer|answers again/.test(line));
    expect(said.map((line) => line.split(' ')[0])).toEqual(['warn', 'info']);
  });

  it('is data of another shape, which names the member', async () => {
    const { origin } = await scriptedServer(
      besideStatus((_request, response) => {
        response.end(envelope([{ access_key: 'a', name: null, bytes_up: -1 }]));
      }),
    );
    const failure = await failureOf(read(call(origin)));
    expect(failure.detail).toContain('its answer is none of line current: data[0].');
  });
});

describe('a connection', () => {
  it('that nobody takes is a 502, and a write did not happen', async () => {
    const { origin, close } = await scriptedServer(() => {});
    await close();
    const failure = await failureOf(write(call(origin)));
    expect(failure).toMatchObject({ code: 'upstreamAway', mayHaveHappened: false });
    expect(failure.detail).toContain('nobody listens there (ECONNREFUSED)');
  });

  it('that ends within an answer is a 502: a single read is tried once more, a list and a write are not', async () => {
    const { origin, seen } = await scriptedServer(
      besideStatus((request, response) => {
        request.resume();
        response.writeHead(200, { 'content-length': 1000 });
        response.write('{"ok":true,"da');
        setTimeout(() => response.destroy(), 20);
      }),
    );
    const server = call(origin);
    expect((await failureOf(read(server))).detail).toContain('an answer that ended half-way');
    expect((await failureOf(readOne(server))).detail).toContain('an answer that ended half-way');
    expect(await failureOf(write(server))).toMatchObject({ code: 'upstreamAway', mayHaveHappened: true });
    expect(seen.filter((each) => each.includes('/users'))).toEqual([
      'GET /panel/api/users',
      'GET /panel/api/users/a',
      'GET /panel/api/users/a',
      'POST /panel/api/users',
    ]);
  });

  it('that the server closes as a request comes costs a read nothing, and a write is not sent again', async () => {
    let closing = true;
    const { origin, seen } = await scriptedServer(
      besideStatus((request, response) => {
        if (closing) request.socket.destroy();
        else response.end(envelope([]));
        closing = false;
      }),
    );
    const server = call(origin);
    expect((await read(server)).value).toEqual([]);
    closing = true;
    expect(await failureOf(write(server))).toMatchObject({ mayHaveHappened: true });
    expect(seen.filter((each) => each.startsWith('POST'))).toHaveLength(1);
  });

  it('that is silent is a 504, at which nothing is tried again', async () => {
    const { origin, seen } = await scriptedServer(besideStatus((request) => request.resume()));
    const patient = createCaller({ origin, timeoutMilliseconds: 60_000 });
    const caller = createCaller({ origin, timeoutMilliseconds: 60_000, pace: pace(500), connections: 4 });
    const send: Caller['send'] = (asked) => (asked.path.endsWith('/status') ? patient : caller).send(asked);
    onTestFinished(() => patient.close());
    const server = call(origin, { caller: { ...caller, send } });
    expect(await failureOf(read(server))).toMatchObject({ code: 'upstreamSilent', mayHaveHappened: false });
    const failure = await failureOf(write(server));
    expect(failure).toMatchObject({ code: 'upstreamSilent', mayHaveHappened: true });
    expect(failure.detail).toContain('no answer within 500 ms');
    expect(seen.filter((each) => each.endsWith('/users'))).toHaveLength(2);
  });

  it('may take its time as long as bytes come', async () => {
    const { origin } = await scriptedServer(
      besideStatus(async (_request, response) => {
        for (const piece of ['{"ok"', ':true,', '"data"', ...Array(60).fill('  '), ':[]}']) {
          response.write(piece);
          await wait(40);
        }
        response.end();
      }),
    );
    // A fiftieth of it lies between two pieces, so that a machine that stands still for a while is no server that does.
    const caller = createCaller({ origin, timeoutMilliseconds: 60_000, pace: pace(2_000), connections: 4 });
    expect((await read(call(origin, { caller }))).value).toEqual([]);
  });

  it('is not kept waiting by one whose answers come drop by drop', async () => {
    const { origin } = await scriptedServer((_request, response) => {
      const drops = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(drops));
    });
    // Time passes with the drops alone: before the first a machine that stands still would be a server without an answer.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const onProgress = () => void vi.advanceTimersByTime(100);
    const caller = createCaller({ origin, timeoutMilliseconds: 1_000 });
    onTestFinished(() => caller.close());
    const sent = caller.send({ method: 'GET', path: '/', headers: new Map(), body: undefined, onProgress });
    await expect(sent).rejects.toMatchObject({ kind: 'silent', message: 'no whole answer within 1000 ms' });
  });

  it('brings no more than is meant to be read', async () => {
    const { origin } = await scriptedServer((_request, response) => response.end('x'.repeat(2000)));
    const caller = createCaller({ origin, timeoutMilliseconds: 60_000, answerLimit: 1000 });
    onTestFinished(() => caller.close());
    const sent = caller.send({ method: 'GET', path: '/', headers: new Map(), body: undefined });
    await expect(sent).rejects.toMatchObject({ kind: 'too long', message: 'an answer of more than 1000 bytes' });
  });
});

describe('a server with a certificate', () => {
  async function secured(host = '127.0.0.1') {
    const server = createSecureServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, (_request, response) => {
      response.end(envelope(STATUS));
    });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return (server.address() as AddressInfo).port; // It listens on a port.
  }

  it('that is given is called', async () => {
    const server = call(`https://127.0.0.1:${await secured()}`, { ca: Buffer.from(CERTIFICATE) });
    expect((await server.status()).value.version).toBe('0.2.96');
  });

  it.each([
    ['that nobody vouches for', '127.0.0.1', undefined, /self-signed.*: give that certificate with --upstream-ca FILE/],
    [
      'of another name',
      '127.0.0.2',
      Buffer.from(CERTIFICATE),
      /for other names than that of the address.*127\.0\.0\.1/,
    ],
  ])('%s is not, and nothing is sent to it', async (_, host, ca, reason) => {
    const server = call(`https://${host}:${await secured(host)}`, ca === undefined ? {} : { ca });
    const failure = await failureOf(write(server));
    expect(failure).toMatchObject({ code: 'upstreamAway', mayHaveHappened: false });
    expect(failure.detail).toMatch(reason);
  });
});

describe('a server that speaks TLS where Keyway does not, or the other way round', () => {
  const SPEAKS_TLS = 'it speaks TLS there: give the address as https://';

  /** A port on which every first packet is answered so; nothing else of HTTP is there. */
  async function answering(packet: Buffer | string): Promise<string> {
    const server = createPlainServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(packet));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // It listens on a port.
  }

  const plain400 = (body: string) => `HTTP/1.1 400 Bad Request\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

  it.each([
    ['by an alert', Buffer.from([0x15, 3, 1, 0, 2, 2, 70]), SPEAKS_TLS],
    ['as nginx', plain400('<center>The plain HTTP request was sent to HTTPS port</center>'), SPEAKS_TLS],
    ['as a program in Go', plain400('Client sent an HTTP request to an HTTPS server.\n'), SPEAKS_TLS],
    ['by closing', '', 'if it speaks TLS there, give the address as https://'],
  ])('is named where it says so %s, and nothing was done there', async (_, packet, words) => {
    const failure = await failureOf(write(call(await answering(packet))));
    expect(failure).toMatchObject({ code: 'upstreamAway', mayHaveHappened: false });
    expect(failure.detail).toContain(words);
  });

  it('is not suspected once it has answered, when it closes a connection', async () => {
    const { origin } = await scriptedServer(besideStatus((request) => request.socket.destroy()));
    const failure = await failureOf(write(call(origin)));
    expect(failure.detail).toContain('the connection was closed (ECONNRESET)');
    expect(failure.detail).not.toContain('TLS');
  });

  it('is named where it speaks plain HTTP', async () => {
    const { origin } = await scriptedServer((_request, response) => response.end());
    const failure = await failureOf(write(call(origin.replace('http:', 'https:'))));
    expect(failure).toMatchObject({ code: 'upstreamAway', mayHaveHappened: false });
    expect(failure.detail).toContain(': it speaks no TLS there: give the address as http://, since 20');
  });
});

describe('a server that refuses the token', () => {
  it('is asked no more than a search a second, and no caller is told 401', async () => {
    const { origin, seen } = await scriptedServer((_request, response) => {
      response.writeHead(401).end('{"ok":false,"error":"unauthorized"}');
    });
    const server = call(origin, { credentials: BY_TOKEN, clock: handClock() });
    const failure = await failureOf(read(server));
    expect(failure).toMatchObject({ code: 'upstreamRefused', mayHaveHappened: false });
    expect(failure.detail).toContain('--upstream-token');
    expect(server.troubles()[0]?.kind).toBe('refused');
    await Promise.all(Array.from({ length: 50 }, () => failureOf(write(server))));
    expect(seen.filter((each) => !each.endsWith('/status'))).toEqual([]);
    expect(seen.length).toBeLessThan(10);
  });

  it('after it took it has changed it: a read and a write are refused', async () => {
    let isRight = true;
    const { origin, seen } = await scriptedServer((_request, response) => {
      if (isRight) response.end(envelope(STATUS));
      else response.writeHead(401).end('{"ok":false,"error":"unauthorized"}');
    });
    const outcomes: CallOutcome[] = [];
    const observer = { called: ({ outcome }: { outcome: CallOutcome }) => outcomes.push(outcome), sessionLost() {} };
    const clock = handClock();
    const server = call(origin, { credentials: BY_TOKEN, observer, clock });
    await server.status();
    isRight = false;
    clock.pass(1_000);
    expect((await failureOf(write(server))).code).toBe('upstreamRefused');
    expect(seen.filter((each) => each.startsWith('POST'))).toHaveLength(1);
    isRight = true;
    await server.status();
    expect(server.troubles()).toEqual([]);
    expect(outcomes).toEqual(['answered', 'refused', 'answered']);
  });
});

it('nothing secret is in an error or the log, whatever happens', async () => {
  const log = keptLog();
  const operator = { username: 'boss', password: 'geheim-Passwort' };
  const answers = ['401', 'html', '500', 'reset', 'login'];
  for (const kind of answers) {
    const { origin } = await scriptedServer((request, response) => {
      if (kind === 'reset') request.socket.destroy();
      else if (kind === 'html') response.end('<html>');
      else if (kind === '500') response.writeHead(500).end('{"ok":false,"error":"internal"}');
      else if (kind === 'login' && request.url?.endsWith('/login')) response.end(envelope({ token: 'session-geheim' }));
      else response.writeHead(401).end('{"ok":false,"error":"unauthorized"}');
    });
    const server = call(origin, { log, webpath: 'geheimer-pfad', credentials: { token: TOKEN, operator } });
    for (const failing of [read(server), write(server), server.status('poll')]) {
      const error = await failureOf(failing);
      expect(`${error.message} ${error.stack}`).not.toMatch(/geheim-Passwort|session-geheim|live-token/);
    }
  }
  expect(log.lines.join('\n')).not.toMatch(/geheim-Passwort|session-geheim|live-token/);
});
