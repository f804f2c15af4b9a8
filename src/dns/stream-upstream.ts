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

/** Milliseconds after which a connection without questions is closed. */
const IDLE_MS = 30_000;
/** Ids that are under way at once on one connection. */
const MOST_IDS = 0x1_0000;

/** Asks one server over one connection at a time, on which many questions may wait. */
export class StreamUpstream {
  readonly #place: StreamPlace;
  readonly #connections: Connections;
  #open: Promise<StreamConnection> | null = null;

  constructor(place: StreamPlace, connections: Connections) {
    this.#place = place;
    this.#connections = connections;
  }

  async ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage> {
    const connection = await this.#connection();
    signal.throwIfAborted();
    return connection.ask(question, signal);
  }

  close(): void {
    const open = this.#open;
    this.#open = null;
    open?.then(
      (connection) => connection.end(new UpstreamError('it is asked no more')),
      () => undefined,
    );
  }

  #connection(): Promise<StreamConnection> {
    if (this.#open !== null) return this.#open;
    const opening = this.#connections.socketTo(this.#place).then((socket) => new StreamConnection(socket));
    this.#open = opening;
    const forget = () => {
      if (this.#open === opening) this.#open = null;
    };
    opening.then((connection) => connection.closed.then(forget), forget);
    return opening;
  }
}

/** One connection; answers may come in any order (RFC 7766 section 6.2.1.1). */
class StreamConnection {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #received: Buffer = Buffer.alloc(0);
  #nextId = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setTimeout(IDLE_MS, () => this.end(new UpstreamError('it does not answer')));
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', (error) => this.end(error));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.end(new UpstreamError('it ended the connection'));
        resolve();
      });
    });
  }

  ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed || this.#waiting.size >= MOST_IDS) {
        reject(new UpstreamError('it ended the connection'));
        return;
      }
      while (this.#waiting.has(this.#nextId)) this.#nextId = (this.#nextId + 1) % MOST_IDS;
      const id = this.#nextId;
      this.#nextId = (this.#nextId + 1) % MOST_IDS;
      this.#waiting.set(id, { resolve, reject });
      signal.addEventListener('abort', () => this.#giveUp(id, signal.reason), { once: true });
      const query = writeDohQuery(question);
      query.writeUInt16BE(id, 0);
      const framed = Buffer.alloc(2 + query.length);
      framed.writeUInt16BE(query.length, 0);
      query.copy(framed, 2);
      this.#socket.write(framed);
    });
  }

  /** Ends it; whoever waits is told why. */
  end(reason: unknown): void {
    this.#socket.destroy();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(reason);
  }

  #giveUp(id: number, reason: unknown): void {
    this.#waiting.get(id)?.reject(reason);
    this.#waiting.delete(id);
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
    // The id is this connection's affair: those who read the answer know none.
    message.writeUInt16BE(0, 0);
    waiting?.resolve({ message, age: 0 });
  }
}
