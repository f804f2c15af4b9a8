import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { type Answer, type Call, type Caller, isSuccess, NoAnswer } from '../client/call.js';
import { headersIn } from '../replay/record/passed-heads.js';

/**
 * Hands calls to a server in this process, without a socket. Fastify's `inject` takes seven times as long, and keeps what it has
 * made until the event loop turns: of a hundred calls one after the other most ends among V8's old objects.
 */
export function directCaller(serve: (request: IncomingMessage, response: ServerResponse) => void): Caller {
  return {
    send: (call) =>
      new Promise((resolve, reject) => {
        const line = new Line(call.take);
        // Where no timeout is set, Node asks nothing of a socket that it does not ask of any stream, and Keyway the address.
        const socket = line as unknown as Socket;
        const request = requestOn(socket, call);
        const response = new ServerResponse(request);
        // Chunks would have to be put together again.
        response.useChunkedEncodingByDefault = false;
        response.assignSocket(socket);
        response.once('finish', () => line.end());
        // As a server does for its sockets.
        line.on('drain', () => response.emit('drain'));
        // The end of the connection settles the call, with or without an error.
        line.on('error', () => undefined);
        line.once('close', () => {
          if (line.writableFinished || line.isLeft) resolve(line.answer());
          else reject(new NoAnswer('broken', 'the server ended the connection', { mayHaveArrived: true }));
        });
        serve(request, response);
      }),
    close: () => undefined,
  };
}

function requestOn(socket: Socket, { method, path, headers, body }: Call): IncomingMessage {
  const request = new IncomingMessage(socket);
  const length = body === undefined ? [] : [['content-length', String(body.length)] as const];
  const sent = new Map([['host', 'localhost'], ...length]);
  for (const [name, value] of headers) sent.set(name.toLowerCase(), value);
  request.method = method;
  request.url = path;
  request.httpVersion = '1.1';
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.headers = Object.fromEntries(sent);
  request.rawHeaders = [...sent].flat();
  request.complete = true;
  if (body !== undefined) request.push(body);
  request.push(null);
  return request;
}

const END_OF_HEAD = '\r\n\r\n';

/** The server's end of a connection that is none: gathers what is sent on it. */
class Line extends Writable {
  readonly remoteAddress = '127.0.0.1';
  readonly #take: Call['take'];
  #head: Pick<Answer, 'status' | 'headers'> | null = null;
  readonly #body: Buffer[] = [];
  /** Set once `take` wants no more. */
  isLeft = false;

  constructor(take: Call['take']) {
    super();
    this.#take = take;
  }

  answer(): Answer {
    const { status, headers } = this.#head ?? { status: 0, headers: new Map() };
    return { status, headers, body: Buffer.concat(this.#body), firstByteMilliseconds: 0 };
  }

  /** Takes what the server sends; Node sends a head in one piece. */
  override _write(sent: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    const piece = this.#head === null ? this.#afterHead(sent) : sent;
    if (this.#take === undefined || piece.length === 0 || !isSuccess(this.#head?.status ?? 0)) {
      // The server may use its memory again once the write is done.
      this.#body.push(Buffer.from(piece));
      done();
    } else void this.#give(piece, this.#take).then(() => done(), done);
  }

  async #give(piece: Buffer, take: NonNullable<Call['take']>): Promise<void> {
    if (await take(piece)) return;
    this.isLeft = true;
    this.destroy();
  }

  #afterHead(sent: Buffer): Buffer {
    const end = sent.indexOf(END_OF_HEAD);
    const [first = '', ...lines] = sent.toString('latin1', 0, end).split('\r\n');
    const raw = lines.map((line) => [line, line.indexOf(': ')] as const);
    const headers = headersIn(raw.flatMap(([line, colon]) => [line.slice(0, colon), line.slice(colon + 2)]));
    this.#head = { status: Number(first.split(' ')[1]), headers };
    return sent.subarray(end + END_OF_HEAD.length);
  }
}
