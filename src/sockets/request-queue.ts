import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isAccepted } from './awaited-bodies.js';
import { runFor } from './connection-to-blame.js';

/** The most requests of one connection at once: without a credential, and with an accepted one or on a Unix socket. */
const MOST_OF_STRANGER = 4;
const MOST_OF_KNOWN = 16;

/** The most requests that wait on all connections of a listener. One packet holds about 2,000 at most. */
const MOST_WAITING = 16_384;

/** About how many waiting requests begin in one turn of the event loop. */
const MOST_IN_A_TURN = 64;

/** A connection as the queue sees it. */
export interface QueuedConnection {
  readonly socket: Socket;
  /** The socket that carries HTTP: with TLS, the one on top. */
  readonly spoken: Socket;
  /** True if it came over a Unix socket. */
  readonly isLocal: boolean;
  /** The number of requests that have begun and are not answered yet. */
  readonly running: number;
  /** The requests behind those, which have not begun. */
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
  /** True once a request has waited. */
  wasHeld: boolean;
  /** True once an answer that has begun closes it: whatever began behind that would not be answered (RFC 9112, 9.6). */
  isClosing: boolean;
}

type Begin<C> = (connection: C, request: IncomingMessage, response: ServerResponse) => void;

/**
 * Begins a few requests of each connection at a time. Further ones wait, and their connection is not read until all of
 * them have begun. If too many wait in all, the connection with the most is ended, first one without an accepted
 * credential.
 */
export class RequestQueue<C extends QueuedConnection> {
  readonly #begin: Begin<C>;
  /** Connections with requests that wait. */
  readonly #held = new Set<C>();
  #count = 0;
  /** Connections whose next requests may begin, in the order in which they became due. */
  readonly #due = new Set<C>();
  #hasTurn = false;

  constructor(begin: Begin<C>) {
    this.#begin = begin;
  }

  /** Begins a request that has come, or queues it. */
  take(connection: C, request: IncomingMessage, response: ServerResponse): void {
    if (connection.waiting.length === 0 && hasRoom(connection)) {
      this.#begin(connection, request, response);
      return;
    }
    // The parser may go on for a while with data of an ended connection.
    if (connection.spoken.destroyed) return;
    if (connection.waiting.length === 0) this.#hold(connection);
    connection.waiting.push([request, response]);
    this.#count += 1;
    while (this.#count > MOST_WAITING) this.#endLongest();
  }

  /**
   * Lets waiting requests take the place of an answered one, after everything else that is due in this turn of the
   * event loop.
   */
  goOn(connection: C): void {
    if (connection.waiting.length === 0) return;
    this.#due.add(connection);
    this.#takeTurn();
  }

  #takeTurn(): void {
    if (this.#hasTurn) return;
    this.#hasTurn = true;
    setImmediate(() => {
      this.#hasTurn = false;
      this.#beginSome();
    });
  }

  #beginSome(): void {
    let begun = 0;
    for (const connection of this.#due) {
      if (begun >= MOST_IN_A_TURN) {
        this.#takeTurn();
        return;
      }
      this.#due.delete(connection);
      begun += this.#beginWaiting(connection);
    }
  }

  /** Returns how many requests have begun. */
  #beginWaiting(connection: C): number {
    const { waiting, spoken } = connection;
    // After an answer that closes its connection nothing more is answered.
    if (!spoken.writable) this.drop(connection);
    let begun = 0;
    while (hasRoom(connection)) {
      const next = waiting.shift();
      if (next === undefined) break;
      begun += 1;
      this.#count -= 1;
      runFor(spoken, () => this.#begin(connection, ...next));
    }
    if (waiting.length === 0 && this.#held.delete(connection)) spoken.resume();
    return begun;
  }

  /** Forgets the requests that wait on an ended connection. */
  drop(connection: C): void {
    if (!this.#held.delete(connection)) return;
    this.#count -= connection.waiting.length;
    connection.waiting.length = 0;
  }

  #hold(connection: C): void {
    const { spoken } = connection;
    this.#held.add(connection);
    if (!connection.wasHeld) {
      connection.wasHeld = true;
      // Node reads on after every answer.
      spoken.on('resume', () => {
        if (this.#held.has(connection)) spoken.pause();
      });
    }
    spoken.pause();
  }

  #endLongest(): void {
    const weight = (each: C) => each.waiting.length + (isKnown(each) ? 0 : MOST_WAITING);
    let longest: C | null = null;
    for (const each of this.#held) if (longest === null || weight(each) > weight(longest)) longest = each;
    if (longest === null) return;
    this.drop(longest);
    longest.socket.destroy();
  }
}

function hasRoom(connection: QueuedConnection): boolean {
  const { running, isClosing } = connection;
  if (isClosing) return false;
  return running < MOST_OF_STRANGER || (running < MOST_OF_KNOWN && isKnown(connection));
}

function isKnown({ isLocal, spoken }: QueuedConnection): boolean {
  return isLocal || isAccepted(spoken);
}
