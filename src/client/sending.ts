import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { GatheredBytes } from '../core/gathered-bytes.js';
import { type Answer, type Call, isSuccess, NoAnswer, type NoAnswerKind, type Pace } from './call.js';
import { askedForTls, MAY_SPEAK_TLS, tlsWords } from './tls-words.js';

/** The receiver of calls, with their limits. */
export interface Peer {
  readonly open: (options: RequestOptions, answered: (incoming: IncomingMessage) => void) => ClientRequest;
  /** The event that tells that a new connection can be written to. */
  readonly opened: 'connect' | 'secureConnect';
  /** The flag that names the trusted certificates. */
  readonly caFlag: string;
  /** True after its first answer. */
  hasAnswered: boolean;
  readonly options: RequestOptions;
  readonly timeoutMilliseconds: number;
  readonly pace: Pace | null;
  readonly answerLimit: number;
}

/** A call that was abandoned here, not by the server. */
class GivenUp extends Error {
  readonly kind: Exclude<NoAnswerKind, 'unreachable'>;

  constructor(kind: GivenUp['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The server answered in plain text that it expects TLS, so it did nothing. */
class SpeaksTls extends Error {}

/** Bytes of a request that are written to the connection at once, so that progress is visible. */
const PIECE = 64 * 1024;

/**
 * One call that is being sent. It settles once, by its answer, the end of its connection, its own timers or `fail`,
 * whichever comes first. Node does not report some ends, such as a 101 that was not asked for.
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
  /** True while received bytes are being read, during which nothing more is expected of the connection. */
  #isReading = false;
  /** Bytes of the request that were sent before its last piece, and bytes of the answer's body that arrived. */
  #sent = 0;
  #received = 0;
  /** The `performance.now()` at which the request was sent. */
  #sentAt = performance.now();

  constructor(call: Call, peer: Peer) {
    this.#call = call;
    this.#peer = peer;
    this.answer = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    const { method, path, body, pieces } = call;
    const headers: Record<string, string> = Object.fromEntries(call.headers);
    if (body !== undefined) headers['content-length'] = String(body.length);
    // This throws for a call that cannot be written; nothing may be left behind then.
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
    if (pieces === undefined) void this.#write(body);
    else this.#writePieces(pieces).catch((error: Error) => this.fail(error));
  }

  /** Fails the call, unless it has settled. */
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

  async #writePieces(pieces: AsyncIterable<Buffer>): Promise<void> {
    for await (const piece of pieces) if (!(await this.#goesOut(piece))) return;
    this.#outgoing.end();
  }

  async #write(body: Buffer | undefined): Promise<void> {
    for (let at = PIECE; body !== undefined && at < body.length; at += PIECE)
      if (!(await this.#goesOut(body.subarray(at - PIECE, at)))) return;
    this.#outgoing.end(body?.subarray(Math.floor((body.length - 1) / PIECE) * PIECE));
  }

  /** Resolves to whether the rest is to follow. */
  async #goesOut(piece: Buffer): Promise<boolean> {
    await new Promise<unknown>((written) => this.#outgoing.write(piece, written));
    if (this.#settle === null) return false;
    this.#sent += piece.length;
    return true;
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

  /** Makes the call fail after this time, unless it is waiting for something else by then. */
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

  /** Makes the call fail at the end of a span in which too few bytes have moved. */
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

  /** Lets the sockets be read first, because this process itself may have been paused. */
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
    this.#peer.hasAnswered = true;
    const firstByteMilliseconds = performance.now() - this.#sentAt;
    this.#goesOn();
    this.#answerOf(incoming).then(
      (answer) => {
        this.#over()?.resolve({ ...answer, firstByteMilliseconds });
        // A request that the server does not read to its end would keep the connection.
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
    const gathered = new GatheredBytes();
    for await (const chunk of incoming) {
      this.#received += chunk.length;
      if (this.#received > answerLimit) throw new GivenUp('too long', `an answer of more than ${answerLimit} bytes`);
      onProgress?.(this.#received);
      if (take === undefined || !isSuccess(status)) gathered.add(chunk);
      else if (!(await this.#takes(take, chunk))) break;
    }
    const headers = new Map<string, string>();
    for (const [name, value] of Object.entries(incoming.headersDistinct)) {
      if (value !== undefined) headers.set(name, value.join(', '));
    }
    const body = gathered.whole();
    const words = askedForTls(status, body);
    if (words !== null) throw new SpeaksTls(words);
    return { status, headers, body };
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
    const { opened, caFlag, hasAnswered } = this.#peer;
    const isSecure = opened === 'secureConnect';
    const words = error instanceof SpeaksTls ? error.message : tlsWords(error, { isSecure, caFlag });
    if (words !== null) return new NoAnswer('unreachable', words, { mayHaveArrived: false });
    const how = { mayHaveArrived: this.#isConnected, hasBegun: this.#hasBegun };
    if (error instanceof GivenUp) return new NoAnswer(error.kind, error.message, how);
    const what = this.#hasBegun ? 'an answer that ended half-way' : 'no answer';
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    const kind = this.#isConnected ? 'broken' : 'unreachable';
    if (code === 'ECONNREFUSED') return new NoAnswer(kind, 'nobody listens there (ECONNREFUSED)', how);
    if (code === 'ECONNRESET') {
      const hint = isSecure || hasAnswered ? '' : `; ${MAY_SPEAK_TLS}`;
      return new NoAnswer(kind, `${what}: the connection was closed (ECONNRESET)${hint}`, how);
    }
    return new NoAnswer(kind, `${what}: ${error.message === '' ? code : error.message}`, how);
  }
}
