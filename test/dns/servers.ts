import { createSocket } from 'node:dgram';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import dnsPacket from 'dns-packet';
import { CERTIFICATE, PRIVATE_KEY } from './certificate.js';

/** A server on loopback. */
export interface Running {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1 and can end with all its connections. */
export async function run(server: Server, port = 0): Promise<Running> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('it has no port');
  return {
    port: address.port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** What a DoH server sends: a DNS message, or anything else. */
export interface DohReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** One query as the server got it. */
export interface DohRequest {
  readonly method: string;
  readonly httpVersion: string;
  readonly query: dnsPacket.Packet;
}

export interface DohServer extends Running {
  readonly url: string;
  readonly requests: readonly DohRequest[];
  /** TLS connections so far. */
  readonly connections: () => number;
}

type Answering = (query: dnsPacket.Packet, request: DohRequest) => DohReply | Buffer | Promise<DohReply | Buffer>;

/** A DNS over HTTPS server (RFC 8484) with TLS, over HTTP/2 and HTTP/1.1 or HTTP/1.1 alone. */
export async function runDoh(answering: Answering, { http2 = true, port = 0 } = {}): Promise<DohServer> {
  const requests: DohRequest[] = [];
  let connections = 0;
  const handle = async (message: Pick<IncomingMessage, 'method' | 'url' | 'httpVersion'> & AsyncIterable<unknown>) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const inUrl = new URL(message.url ?? '/', 'https://doh.test').searchParams.get('dns');
    const bytes = message.method === 'GET' ? Buffer.from(inUrl ?? '', 'base64url') : Buffer.concat(chunks);
    const request = {
      method: message.method ?? '',
      httpVersion: message.httpVersion,
      query: dnsPacket.decode(bytes),
    };
    requests.push(request);
    const reply = await answering(request.query, request);
    return Buffer.isBuffer(reply) ? { body: reply } : reply;
  };
  const options = { key: PRIVATE_KEY, cert: CERTIFICATE };
  const server: Http2SecureServer | ReturnType<typeof createHttpsServer> = http2
    ? createSecureServer({ ...options, allowHTTP1: true }, (request, response) => {
        void handle(request).then(
          ({ status = 200, headers, body }) => {
            response.writeHead(status, { 'content-type': 'application/dns-message', ...headers });
            response.end(body);
          },
          () => response.stream.close(),
        );
      })
    : createHttpsServer(options, (request: IncomingMessage, response: ServerResponse) => {
        void handle(request).then(
          ({ status = 200, headers, body }) => {
            response.writeHead(status, { 'content-type': 'application/dns-message', ...headers });
            response.end(body);
          },
          () => response.destroy(),
        );
      });
  server.on('secureConnection', () => {
    connections += 1;
  });
  const running = await run(server, port);
  return { ...running, url: `https://127.0.0.1:${running.port}/dns-query`, requests, connections: () => connections };
}

/** An answer to a query, as an upstream gives it. */
export function answerTo(query: dnsPacket.Packet, parts: Partial<dnsPacket.Packet>): Buffer {
  return dnsPacket.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE,
    questions: query.questions ?? [],
    ...parts,
  });
}

/** Answers every A question with 192.0.2.1, by the given TTL. */
export function addressAnswer(query: dnsPacket.Packet, ttl = 300): Buffer {
  const name = query.questions?.[0]?.name ?? '';
  return answerTo(query, { answers: [{ type: 'A', name, ttl, data: '192.0.2.1' }] });
}

export interface ProxyServer extends Running {
  /** `host:port` of every tunnel that was asked for. */
  readonly targets: readonly string[];
}

/** A SOCKS5 proxy without authentication (RFC 1928). Names all lead to 127.0.0.1. */
export async function runSocks(): Promise<ProxyServer> {
  const targets: string[] = [];
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    let greeted = false;
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (!greeted) {
        if (received.length < 2 + (received[1] ?? 0)) return;
        received = received.subarray(2 + (received[1] ?? 0));
        greeted = true;
        socket.write(Buffer.from([5, 0]));
      }
      const target = readTarget(received);
      if (target === null) return;
      socket.off('data', onData);
      targets.push(`${target.host}:${target.port}`);
      const onward = connect(target.port, '127.0.0.1', () => {
        socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
        socket.pipe(onward).pipe(socket);
      });
      onward.on('error', () => socket.destroy());
      socket.on('close', () => onward.destroy());
    };
    socket.on('data', onData);
  });
  return { ...(await run(server)), targets };
}

function readTarget(bytes: Buffer): { readonly host: string; readonly port: number } | null {
  if (bytes.length < 5) return null;
  const byName = bytes[3] === 3;
  const start = byName ? 5 : 4;
  const end = start + (byName ? (bytes[4] ?? 0) : bytes[3] === 4 ? 16 : 4);
  if (bytes.length < end + 2) return null;
  const host = byName ? bytes.toString('latin1', start, end) : [...bytes.subarray(start, end)].join('.');
  return { host, port: bytes.readUInt16BE(end) };
}

/** An HTTP proxy that makes tunnels (CONNECT). */
export async function runHttpProxy(): Promise<ProxyServer> {
  const targets: string[] = [];
  const server = createHttpServer();
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    targets.push(request.url ?? '');
    const onward = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  });
  return { ...(await run(server)), targets };
}

export interface PlainServer extends Running {
  /** The carrier and the name of each question. */
  readonly asked: readonly string[];
  /** Connections over TCP so far. */
  readonly connections: () => number;
}

type AnsweringPlain = (query: dnsPacket.Packet, carrier: 'udp' | 'stream') => Buffer | null | Promise<Buffer | null>;

/**
 * A DNS server over TCP, or TLS instead, and without TLS over UDP on the same port. Null leaves a question unanswered. A connection
 * is cut when it has got so many answers.
 */
export async function runPlain(
  answering: AnsweringPlain,
  { tls = false, mostAnswers = Number.POSITIVE_INFINITY, cut = (socket: Socket) => void socket.end() } = {},
): Promise<PlainServer> {
  const asked: string[] = [];
  let connections = 0;
  const answerOf = async (bytes: Buffer, carrier: 'udp' | 'stream') => {
    const query = dnsPacket.decode(bytes);
    asked.push(`${carrier} ${query.questions?.[0]?.name}`);
    return answering(query, carrier);
  };
  const serve = (socket: Socket) => {
    connections += 1;
    let received = Buffer.alloc(0);
    let answered = 0;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const query = Buffer.from(received.subarray(2, end));
        received = received.subarray(end);
        void answerOf(query, 'stream').then((answer) => {
          if (answer === null || socket.destroyed || answered >= mostAnswers) return;
          const length = Buffer.alloc(2);
          length.writeUInt16BE(answer.length);
          answered += 1;
          socket.write(Buffer.concat([length, answer]), () => answered >= mostAnswers && cut(socket));
        });
      }
    });
  };
  const options = { key: PRIVATE_KEY, cert: CERTIFICATE, ALPNProtocols: ['dot'] };
  const running = await run(tls ? createTlsServer(options, serve) : createServer(serve));
  const udp = tls ? null : createSocket('udp4');
  udp?.on('message', (bytes, { port, address }) => {
    void answerOf(bytes, 'udp').then((answer) => answer !== null && udp.send(answer, port, address));
  });
  if (udp !== null) await new Promise<void>((resolve) => udp.bind(running.port, '127.0.0.1', resolve));
  return {
    port: running.port,
    asked,
    connections: () => connections,
    async close() {
      udp?.close();
      await running.close();
    },
  };
}
