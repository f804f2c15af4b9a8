import type { Socket } from 'node:net';
import type { Connections } from './connections.js';
import { type DohMessage, type DohQuestion, UpstreamError, writeDohQuery } from './doh.js';
import { HEADER_BYTES } from './message.js';

/** A server that speaks DNS over TCP (RFC 7766) or TLS (RFC 7858). */
export interface StreamPlace {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

interface Waiting {
  readonly resolve: (message: DohMessage) => void;
  readonly reject: (error: unknown) => void;
}

/** The server closed or reset the connection before it answered. */
class ConnectionEnded extends UpstreamError {}

/** Milliseconds after which a connection without questions is closed. */
const IDLE_MS = 30_000;
/** The most ids under way on one connection. */
const MOST_IDS = 0x1_0000;
/** The most connections, for a server that takes few questions on each. */
const MOST_CONNECTIONS = 16;
/** Questions after which a connection may carry more again. */
const LEARNT_FOR = 10_000;

/**
 * Asks one server over one connection, on which many questions may be pending, as long as the server allows it. Many
 * servers close a connection after some questions (RFC 7766 section 6.2.3) or reset it: unanswered questions are then
 * asked again once, over a new connection, and from then on no connection gets more questions than the server answered
 * on that one.
 */
export class StreamUpstream {
  readonly #place: StreamPlace;
  readonly #connections: Connections;
  readonly #openings = new Set<Promise<StreamConnection>>();
  #present: { readonly opening: Promise<StreamConnection>; taken: number } | null = null;
  /** The most questions for one connection, and how many more questions that holds for. */
  #most = MOST_IDS;
  #learntFor = 0;
  #isClosed = false;

  constructor(place: StreamPlace, connections: Connections) {
    this.#place = place;
    this.#connections = connections;
  }

  async ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage> {
    try {
      return await this.#askOnce(question, signal);
    } catch (error) {
      if (!(error instanceof ConnectionEnded)) throw error;
      return this.#askOnce(question, signal);
    }
  }

  close(): void {
    this.#isClosed = true;
    const reason = new UpstreamError('it is asked no more');
    for (const opening of this.#openings)
      opening.then(
        (connection) => connection.end(reason),
        () => undefined,
      );
  }

  async #askOnce(question: DohQuestion, signal: AbortSignal): Promise<DohMessage> {
    for (;;) {
      while (!this.#hasRoom()) await Promise.race([...this.#openings].map(endOf));
      // The caller no longer waits, so nothing is opened for it.
      signal.throwIfAborted();
      if (this.#isClosed) throw new UpstreamError('it is asked no more');
      const opening = this.#take();
      const connection = await opening;
      if (signal.aborted) connection.passOver();
      signal.throwIfAborted();
      if (connection.isOpen) return connection.ask(question, signal);
      this.#forget(opening);
    }
  }

  #hasRoom(): boolean {
    const isShared = this.#present !== null && this.#present.taken < this.#most;
    return isShared || this.#openings.size < MOST_CONNECTIONS;
  }

  /** Returns a connection for one more question. */
  #take(): Promise<StreamConnection> {
    this.#learntFor -= 1;
    if (this.#learntFor < 0) this.#most = MOST_IDS;
    const present = this.#present;
    if (present !== null && present.taken < this.#most) {
      present.taken += 1;
      return present.opening;
    }
    if (present !== null) this.#forget(present.opening);
    const opening = this.#connect();
    this.#present = { opening, taken: 1 };
    opening.catch(() => this.#forget(opening));
    return opening;
  }

  /** Gives a connection no further questions; it ends when it has answered those it has. */
  #forget(opening: Promise<StreamConnection>): void {
    if (this.#present?.opening !== opening) return;
    const { taken } = this.#present;
    this.#present = null;
    opening.then(
      (connection) => connection.endAfter(taken),
      () => undefined,
    );
  }

  #connect(): Promise<StreamConnection> {
    const onCut = (answered: number) => {
      this.#most = Math.max(1, answered);
      this.#learntFor = LEARNT_FOR;
    };
    const opening = this.#connections.socketTo(this.#place).then((socket) => new StreamConnection(socket, onCut));
    this.#openings.add(opening);
    void endOf(opening).then(() => this.#openings.delete(opening));
    return opening;
  }
}

function endOf(opening: Promise<StreamConnection>): Promise<void> {
  return opening.then(
    ({ closed }) => closed,
    () => undefined,
  );
}

/** One connection; answers may arrive in any order (RFC 7766 section 6.2.1.1). */
class StreamConnection {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #onCut: (answered: number) => void;
  readonly #waiting = new Map<number, Waiting>();
  #received: Buffer = Buffer.alloc(0);
  #nextId = 0;
  #asked = 0;
  #answered = 0;
  #last = Number.POSITIVE_INFINITY;

  /** `onCut` receives the number of answered questions if the server ends the connection with others unanswered. */
  constructor(socket: Socket, onCut: (answered: number) => void) {
    this.#socket = socket;
    this.#onCut = onCut;
    socket.setTimeout(IDLE_MS, () => this.end(new UpstreamError('it does not answer')));
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', (error) => this.#cut(error.message));
    socket.on('end', () => this.#cut('it ended the connection'));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#cut('it ended the connection');
        resolve();
      });
    });
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded && this.#waiting.size < MOST_IDS;
  }

  /** Ends the connection once `asked` questions have been asked and none is pending. */
  endAfter(asked: number): void {
    this.#last = asked;
    this.#endWhenDone();
  }

  /** Counts a question that is not sent after all. */
  passOver(): void {
    this.#asked += 1;
    this.#endWhenDone();
  }

  ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage> {
    this.#asked += 1;
    const answered = this.#answered;
    return new Promise((resolve, reject) => {
      while (this.#waiting.has(this.#nextId)) this.#nextId = (this.#nextId + 1) % MOST_IDS;
      const id = this.#nextId;
      this.#nextId = (this.#nextId + 1) % MOST_IDS;
      this.#waiting.set(id, { resolve, reject });
      signal.addEventListener('abort', () => this.#giveUp(id, signal.reason, answered), { once: true });
      const query = writeDohQuery(question);
      query.writeUInt16BE(id, 0);
      const framed = Buffer.alloc(2 + query.length);
      framed.writeUInt16BE(query.length, 0);
      query.copy(framed, 2);
      this.#socket.write(framed);
    });
  }

  /** Ends the connection; pending questions reject with the reason. */
  end(reason: unknown): void {
    this.#socket.destroy();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(reason);
  }

  #cut(reason: string): void {
    if (this.#waiting.size > 0) this.#onCut(this.#answered);
    this.end(new ConnectionEnded(reason));
  }

  #endWhenDone(): void {
    if (this.#asked >= this.#last && this.#waiting.size === 0) this.#socket.destroy();
  }

  #giveUp(id: number, reason: unknown, answered: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    waiting.reject(reason);
    this.#waiting.delete(id);
    // Without any data since the question was sent the connection may be dead, and the writes would keep it open for
    // minutes.
    if (this.#answered === answered) this.end(new ConnectionEnded('it does not answer'));
    else this.#endWhenDone();
  }

  #take(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= 2) {
      const end = 2 + this.#received.readUInt16BE(0);
      if (this.#received.length < end) return;
      this.#answer(Buffer.from(this.#received.subarray(2, end)));
      this.#received = this.#received.subarray(end);
    }
  }

  #answer(message: Buffer): void {
    if (message.length < HEADER_BYTES) {
      this.end(new UpstreamError('its answer is shorter than a DNS header'));
      return;
    }
    const id = message.readUInt16BE(0);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#answered += 1;
    // The id belongs to this connection; callers expect 0.
    message.writeUInt16BE(0, 0);
    waiting?.resolve({ message, age: 0 });
    this.#endWhenDone();
  }
}
