import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { type Answer, type Call, isSuccess, NoAnswer, type NoAnswerKind, type Pace } from './call.js';

/** Whom calls are sent to, and within what bounds. */
export interface Peer {
  readonly open: (options: RequestOptions, answered: (incoming: IncomingMessage) => void) => ClientRequest;
  /** The event by which a new connection says that it can be written to. */
  readonly opened: 'connect' | 'secureConnect';
  readonly options: RequestOptions;
  readonly timeoutMilliseconds: number;
  readonly pace: Pace | null;
  readonly answerLimit: number;
}

/** Given up here, not by the server. */
class GivenUp extends Error {
  readonly kind: Exclude<NoAnswerKind, 'unreachable'>;

  constructor(kind: GivenUp['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Bytes of a request that are handed to the connection at once, so that its progress is seen. */
const PIECE = 64 * 1024;

/**
 * One call on its way. It settles once, by its answer, the end of its connection, its own timers or `fail`, whichever comes first:
 * Node tells nobody of some ends, such as a 101 that no one asked for.
 */
export class Sending {
  readonly answer: Promise<Answer>;
  readonly #call: Call;
  readonly #peer: Peer;
  readonly #outgoing: ClientRequest;
  readonly #whole: NodeJS.Timeout;
  #step: NodeJS.Timeout | undefined;
  #settle: { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void } | null = null;
  #isConnected = false;
  #hasBegun = false;
  /** True while received bytes are being read, so that nothing more is asked of the connection. */
  #isReading = false;
  /** Bytes of the request that went out before its last piece, and bytes of the answer's body that came. */
  #sent = 0;
  #received = 0;
  /** `performance.now()` of when the request went out. */
  #sentAt = performance.now();

  constructor(call: Call, peer: Peer) {
    this.#call = call;
    this.#peer = peer;
    this.answer = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    const { method, path, body } = call;
    const headers: Record<string, string> = Object.fromEntries(call.headers);
    if (body !== undefined) headers['content-length'] = String(body.length);
    // It throws for what cannot be written; nothing may be left behind then.
    this.#outgoing = peer.open({ ...peer.options, method, path, headers }, (incoming) => this.#read(incoming));
    const milliseconds = call.timeoutMilliseconds ?? peer.timeoutMilliseconds;
    this.#whole = setTimeout(() => this.#afterTurn(() => this.#isLate(milliseconds)), milliseconds);
    this.#outgoing.on('socket', (socket) => this.#watch(socket));
    this.#outgoing.on('error', (error) => this.fail(error));
    this.#outgoing.on('upgrade', (_incoming, socket) => this.#switched(socket));
    this.#outgoing.on('connect', (_incoming, socket) => this.#switched(socket));
    this.#outgoing.on('finish', () => this.#awaitAnswer());
    this.#outgoing.on('close', () => {
      if (!this.#hasBegun) this.fail(new Error('the connection was closed'));
    });
    void this.#write(body);
  }

  /** Gives it up, unless it has settled. */
  fail(error: Error): void {
    this.#over()?.reject(this.#noAnswer(error));
    this.#outgoing.destroy();
  }

  #over() {
    const settle = this.#settle;
    this.#settle = null;
    clearTimeout(this.#whole);
    clearTimeout(this.#step);
    return settle;
  }

  async #write(body: Buffer | undefined): Promise<void> {
    for (let at = PIECE; body !== undefined && at < body.length; at += PIECE) {
      await new Promise<unknown>((written) => this.#outgoing.write(body.subarray(at - PIECE, at), written));
      if (this.#settle === null) return;
      this.#sent += PIECE;
    }
    this.#outgoing.end(body?.subarray(Math.floor((body.length - 1) / PIECE) * PIECE));
  }

  #watch(socket: Socket): void {
    const connected = () => {
      this.#isConnected = true;
      this.#sentAt = performance.now();
      if (this.#outgoing.writableFinished) this.#awaitAnswer();
      else this.#goesOn();
    };
    if (socket.connecting) {
      socket.once(this.#peer.opened, connected);
      this.#within(this.#peer.pace?.firstByteMilliseconds);
    } else connected();
  }

  #awaitAnswer(): void {
    if (!this.#hasBegun) this.#within(this.#peer.pace?.firstByteMilliseconds);
  }

  /** It is late when this time is over, unless something else is waited for by then. */
  #within(milliseconds: number | undefined): void {
    clearTimeout(this.#step);
    if (milliseconds === undefined || this.#settle === null) return;
    const step = setTimeout(() => {
      this.#afterTurn(() => {
        if (this.#step === step) this.#isLate(milliseconds);
      });
    }, milliseconds);
    this.#step = step;
  }

  /** It is late at the end of a span in which too little has moved. */
  #goesOn(): void {
    clearTimeout(this.#step);
    const { pace } = this.#peer;
    if (pace === null || this.#settle === null) return;
    const before = this.#sent + this.#received;
    const step = setTimeout(() => {
      this.#afterTurn(() => {
        if (this.#step !== step) return;
        if (this.#isReading || this.#sent + this.#received - before >= pace.spanBytes) this.#goesOn();
        else this.#isTooSlow(pace);
      });
    }, pace.spanMilliseconds);
    this.#step = step;
  }

  /** Lets the sockets be read first: this process may have stood still itself. */
  #afterTurn(run: () => void): void {
    setImmediate(run);
  }

  #isLate(milliseconds: number): void {
    this.fail(new GivenUp('silent', `${this.#hasBegun ? 'no whole answer' : 'no answer'} within ${milliseconds} ms`));
  }

  #isTooSlow({ spanBytes, spanMilliseconds }: Pace): void {
    const what = this.#hasBegun ? 'its answer comes with' : 'it takes the request with';
    this.fail(new GivenUp('silent', `${what} less than ${spanBytes} bytes in ${spanMilliseconds} ms`));
  }

  #switched(socket: { destroy(): void }): void {
    this.#hasBegun = true;
    socket.destroy();
    this.fail(new GivenUp('broken', 'it answered 101, and nobody asked for another protocol'));
  }

  #read(incoming: IncomingMessage): void {
    this.#hasBegun = true;
    const firstByteMilliseconds = performance.now() - this.#sentAt;
    this.#goesOn();
    this.#answerOf(incoming).then(
      (answer) => {
        this.#over()?.resolve({ ...answer, firstByteMilliseconds });
        // A request that nobody reads to its end would keep the connection.
        if (!this.#outgoing.writableFinished) this.#outgoing.destroy();
      },
      (error: Error) => this.fail(error),
    );
  }

  async #answerOf(incoming: IncomingMessage): Promise<Omit<Answer, 'firstByteMilliseconds'>> {
    const { take, onProgress } = this.#call;
    const status = incoming.statusCode ?? 0;
    // A refusal has the small limit, whatever was asked for.
    const ownLimit = isSuccess(status) ? this.#call.answerLimit : undefined;
    const answerLimit = ownLimit ?? this.#peer.answerLimit;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) {
      this.#received += chunk.length;
      if (this.#received > answerLimit) throw new GivenUp('too long', `an answer of more than ${answerLimit} bytes`);
      onProgress?.(this.#received);
      if (take === undefined || !isSuccess(status)) chunks.push(chunk);
      else if (!(await this.#takes(take, chunk))) break;
    }
    const headers = new Map<string, string>();
    for (const [name, value] of Object.entries(incoming.headersDistinct)) {
      if (value !== undefined) headers.set(name, value.join(', '));
    }
    return { status, headers, body: Buffer.concat(chunks) };
  }

  async #takes(take: NonNullable<Call['take']>, chunk: Buffer): Promise<boolean> {
    this.#isReading = true;
    try {
      return await take(chunk);
    } finally {
      this.#isReading = false;
    }
  }

  #noAnswer(error: Error): NoAnswer {
    const how = { mayHaveArrived: this.#isConnected, hasBegun: this.#hasBegun };
    if (error instanceof GivenUp) return new NoAnswer(error.kind, error.message, how);
    const what = this.#hasBegun ? 'an answer that ended half-way' : 'no answer';
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    const kind = this.#isConnected ? 'broken' : 'unreachable';
    if (code === 'ECONNREFUSED') return new NoAnswer(kind, 'nobody listens there (ECONNREFUSED)', how);
    if (code === 'ECONNRESET') return new NoAnswer(kind, `${what}: the connection was closed (ECONNRESET)`, how);
    return new NoAnswer(kind, `${what}: ${error.message === '' ? code : error.message}`, how);
  }
}
