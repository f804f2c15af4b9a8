import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Pace } from '../../src/client/call.js';
import { createCaller } from '../../src/client/caller.js';
import { createRunningServer } from '../../src/client/running-server.js';
import type { UpstreamServer } from '../../src/client/server.js';
import { UpstreamError } from '../../src/client/upstream-error.js';
import { DomainError } from '../../src/core/errors.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { MISDEEDS, type Misdeed, startHostileServer, wholeAnswer } from '../stand-in/hostile-server.js';
import { tries } from '../tries.js';
import { WHOLE } from '../whole.js';
import { BOTH, envelope, keptLog, LINES, STATUS } from './called-server.js';

/** A hundredth of what a Keyway that serves has. */
const PACE: Pace = { firstByteMilliseconds: 100, spanMilliseconds: 50, spanBytes: 51 };
/** Of which nothing ends a call that a test waits for. */
const PATIENT: Pace = { firstByteMilliseconds: 600_000, spanMilliseconds: 600_000, spanBytes: 51 };

function keyway(origin: string, pace = PACE, mostKeys = 1_000): UpstreamServer {
  const server = createRunningServer({
    origin,
    webpath: '',
    revision: null,
    credentials: BOTH,
    lines: LINES,
    clock: systemClock,
    log: keptLog(),
    pace,
    mostKeys,
  });
  onTestFinished(() => server.close());
  return server;
}

const CALLS: Readonly<Record<string, (server: UpstreamServer) => Promise<unknown>>> = {
  status: (server) => server.status(),
  list: (server) => server.listUsers(),
  one: (server) => server.getUser('a'),
  configuration: (server) => server.getConfig(),
  rules: (server) => server.rules(),
  write: (server) => server.createUser({ accessKey: 'a', name: null, limitBytes: null }),
  large: (server) => server.putConfig(Buffer.alloc(3_000_000, ' ')),
};

/** How a call ends; anything but an error of the domain is a fault of Keyway's. */
async function endOf(call: Promise<unknown>): Promise<'a value' | DomainError> {
  try {
    await call;
    return 'a value';
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

const isStatus = (head: string) => head.split('\r\n', 1)[0]?.includes('/server/status') === true;

/** Good to whoever asks for the status, so that the other calls are made. */
const besideStatus = (misdeed: Misdeed) => (head: string) => (isStatus(head) ? wholeAnswer(envelope(STATUS)) : misdeed);

describe('a call that cannot be written', () => {
  it('rejects, and leaves no timer that ends the process later', async () => {
    const caller = createCaller({ origin: 'http://127.0.0.1:9', timeoutMilliseconds: 1 });
    onTestFinished(() => caller.close());
    const headers = new Map([['authorization', 'Bearer a\nb']]);
    await expect(caller.send({ method: 'GET', path: '/', headers, body: undefined })).rejects.toThrow(
      'Invalid character',
    );
    // An exception or a rejection that nobody catches fails the run.
    await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it('is none of a session whose token no header takes: the login has no answer', async () => {
    const login = (head: string) =>
      head.includes('/login')
        ? wholeAnswer(envelope({ token: 'a\nb' }))
        : { ...wholeAnswer(''), pieces: [Buffer.from(UNAUTHORIZED)] };
    const hostile = await startHostileServer(login);
    onTestFinished(hostile.close);
    const end = await endOf(keyway(hostile.origin, PATIENT).status());
    expect(end).toMatchObject({ code: 'upstreamAway' });
    expect(String(end)).toContain('its token cannot stand in a header');
  });
});

const UNAUTHORIZED = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 35\r\n\r\n{"ok":false,"error":"unauthorized"}';

describe('an answer that ends a request without a response', () => {
  it.each(Object.keys(CALLS))('ends the call: %s', async (name) => {
    const hostile = await startHostileServer(besideStatus(MISDEEDS.switches));
    onTestFinished(hostile.close);
    const server = keyway(hostile.origin, PATIENT);
    if (name === 'status') return expect(await endOf(CALLS.status?.(server) ?? expect.fail())).toBe('a value');
    const end = await endOf(CALLS[name]?.(server) ?? expect.fail());
    expect(end).toMatchObject({ code: 'upstreamAway' });
    expect(String(end)).toContain('it answered 101');
  });

  it('is one of the status, too', async () => {
    const hostile = await startHostileServer(() => MISDEEDS.switches);
    onTestFinished(hostile.close);
    expect(await endOf(keyway(hostile.origin, PATIENT).status())).toMatchObject({ code: 'upstreamAway' });
  });
});

describe('a server that takes its time', () => {
  it.each(['list', 'one', 'configuration', 'write'])('with one byte after the other is silent: %s', async (name) => {
    const hostile = await startHostileServer(besideStatus(MISDEEDS.drips(100)));
    onTestFinished(hostile.close);
    const server = keyway(hostile.origin, { ...PACE, firstByteMilliseconds: 600_000 });
    const end = await endOf(CALLS[name]?.(server) ?? expect.fail());
    expect(end).toMatchObject({ code: 'upstreamSilent' });
    expect(String(end)).toContain('its answer comes with less than 51 bytes in 50 ms');
  });

  it('over the head of its answer is silent', async () => {
    const slow: Misdeed = {
      pieces: [Buffer.from('HTTP/1.1 200 OK\r\nX-Slow: '), Buffer.from('x')],
      every: 5,
      endless: true,
      afterwards: 'ends',
    };
    const hostile = await startHostileServer(besideStatus(slow));
    onTestFinished(hostile.close);
    const end = await endOf(keyway(hostile.origin).listUsers());
    expect(String(end)).toContain('no answer within 100 ms');
  });

  it('over a large request is silent', async () => {
    const hostile = await startHostileServer((head) => (isStatus(head) ? wholeAnswer(envelope(STATUS)) : null));
    onTestFinished(hostile.close);
    const pace = { ...PATIENT };
    const server = keyway(hostile.origin, pace);
    await server.status();
    Object.assign(pace, PACE);
    const end = await endOf(server.putConfig(Buffer.alloc(3_000_000, ' ')));
    expect(end).toMatchObject({ code: 'upstreamSilent', mayHaveHappened: true });
  });
});

describe('an answer without an end', () => {
  it('is given up at the bound of a first list, and asked for once', async () => {
    let lists = 0;
    const hostile = await startHostileServer((head) => {
      if (isStatus(head)) return wholeAnswer(envelope(STATUS));
      lists += 1;
      return MISDEEDS.endless;
    });
    onTestFinished(hostile.close);
    const end = await endOf(keyway(hostile.origin, PATIENT).listUsers());
    expect(end).toMatchObject({ code: 'upstreamAway' });
    expect(String(end)).toContain('a list of more than 1000 keys');
    expect(lists).toBe(1);
    // What the sockets' buffers took is sent and not read.
    expect(hostile.sent).toBeLessThan(30_000_000);
  });

  it.each([
    ['one', 'an answer of more than 65536 bytes'],
    ['write', 'an answer of more than 65536 bytes'],
    ['configuration', 'an answer of more than 256000 bytes'],
    ['rules', 'an answer of more than 4194304 bytes'],
  ])('is given up at its bound: %s', async (name, words) => {
    const hostile = await startHostileServer(besideStatus(MISDEEDS.endless));
    onTestFinished(hostile.close);
    expect(String(await endOf(CALLS[name]?.(keyway(hostile.origin, PATIENT)) ?? expect.fail()))).toContain(words);
  });

  it('is given up where it is one key without an end, long before the bound of the list', async () => {
    const key: Misdeed = {
      ...MISDEEDS.endless,
      pieces: [MISDEEDS.endless.pieces[0], Buffer.from('{"access_key":"'), Buffer.alloc(65_536, 'a')],
    };
    const hostile = await startHostileServer(besideStatus(key));
    onTestFinished(hostile.close);
    const end = await endOf(keyway(hostile.origin, PATIENT, 250_000).listUsers());
    expect(String(end)).toContain('one part of a list with more than 1048576 bytes');
  });
});

it('what waits for an answer ends with the caller, and nothing is sent afterwards', async () => {
  const hostile = await startHostileServer(() => null);
  onTestFinished(hostile.close);
  const caller = createCaller({ origin: hostile.origin, timeoutMilliseconds: 600_000, connections: 2 });
  const call = { method: 'GET', path: '/', headers: new Map<string, string>(), body: undefined };
  // Two are on their way, and one waits for a connection.
  const waiting = [1, 2, 3].map(() => caller.send(call));
  const ends = Promise.allSettled(waiting);
  caller.close();
  for (const end of await ends) expect(end).toMatchObject({ status: 'rejected', reason: { name: 'NoAnswer' } });
  await expect(caller.send(call)).rejects.toMatchObject({ kind: 'unreachable', mayHaveArrived: false });
});

/** Texts of which a server may make an answer, most of them none. */
const heads = fc.record({
  status: fc.constantFrom(
    ...['HTTP/1.1 200 OK', 'HTTP/1.1 101 Switching Protocols', 'HTTP/1.1 100 Continue', 'HTTP/1.1 103 Early Hints'],
    ...['HTTP/1.1 204 No Content', 'HTTP/1.1 304 Not Modified', 'HTTP/1.1 302 Found', 'HTTP/1.1 401 Unauthorized'],
    ...[
      'HTTP/1.1 500 Oh',
      'HTTP/1.1 999 What',
      'HTTP/1.0 200 OK',
      'HTTP/2.0 200 OK',
      'ICY 200 OK',
      '',
      'GET / HTTP/1.1',
    ],
  ),
  fields: fc.subarray([
    'Content-Type: application/json',
    'Content-Type: text/html',
    'Content-Length: 0',
    'Content-Length: 17',
    'Content-Length: 99999999999999999999',
    'Content-Length: -1',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'Content-Encoding: gzip',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Connection: close',
    'Keep-Alive: timeout=0',
    'Location: //elsewhere\u0007',
    `X-Long: ${'x'.repeat(20_000)}`,
    'no colon',
  ]),
});

const ANSWERS = [envelope([]), envelope(STATUS), envelope({ mode: 'server' }), '{"ok":false,"error":"user not found"}'];

const bodies = fc.oneof(
  fc.constantFrom(
    ...ANSWERS.map((text) => Buffer.from(text)),
    ...ANSWERS.map((text) => Buffer.from(`\ufeff${text}`)),
    ...ANSWERS.map((text) => gzipSync(text)),
    ...ANSWERS.map((text) => Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)),
    Buffer.from('<!doctype html><title>page</title>'),
    Buffer.from('{"ok":true,"data":['.concat('['.repeat(50_000))),
    Buffer.from('ffffffffffffffff\r\nx'),
    Buffer.from('5;'.concat('e'.repeat(20_000))),
    Buffer.alloc(70_000, ' '),
    Buffer.alloc(0),
  ),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
);

const misdeeds: fc.Arbitrary<Misdeed> = fc
  .record({
    head: heads,
    body: bodies,
    hasEnd: fc.boolean(),
    pieces: fc.integer({ min: 1, max: 4 }),
    every: fc.constantFrom(0, 0, 1, 30),
    endless: fc.constantFrom(false, false, false, true),
    afterwards: fc.constantFrom('keeps it open', 'ends', 'resets'),
  })
  .map(({ head, body, hasEnd, pieces, every, endless, afterwards }) => {
    const text = [head.status, ...head.fields, ...(hasEnd ? ['', ''] : [])].join('\r\n');
    const bytes = Buffer.concat([Buffer.from(text), body]);
    const size = Math.max(1, Math.ceil(bytes.length / pieces));
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    return { pieces: parts.length === 0 ? [Buffer.from(' ')] : parts, every: endless ? 0 : every, endless, afterwards };
  });

describe('whatever a server answers', () => {
  it('every call ends, with a value or an error of the domain, and keeps no connection that is no longer of use', async () => {
    const cases = fc.sample(fc.tuple(misdeeds, fc.boolean()), { numRuns: tries(WHOLE ? 60 : 20), seed: 25 });
    const play = async ([misdeed, isStatusGood]: (typeof cases)[number]) => {
      const hostile = await startHostileServer(isStatusGood ? besideStatus(misdeed) : () => misdeed);
      const server = keyway(hostile.origin);
      const ends = await Promise.all(Object.values(CALLS).map((call) => endOf(call(server))));
      const isRefused = ends.some((end) => end instanceof DomainError && !(end instanceof UpstreamError));
      if (isRefused) expect(misdeed.pieces.map(String).join('')).toContain('"ok":false');
      server.close();
      await expect.poll(() => hostile.open).toBe(0);
      await hostile.close();
      return ends.length;
    };
    for (let from = 0; from < cases.length; from += 20) {
      const some = cases.slice(from, from + 20);
      const ended = await Promise.all(some.map(play));
      expect(ended).toEqual(some.map(() => Object.keys(CALLS).length));
    }
  }, 120_000);
});
