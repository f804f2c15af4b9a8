import type { ServerResponse } from 'node:http';
import { constants, createGzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LogPort } from '../core/ports.js';
import type { Principal } from '../core/principal.js';
import { acceptedCoding } from '../northbound/list-body.js';
import { OwnError } from './errors.js';

/** An event of a stream (WHATWG HTML, "Server-sent events"); one without an id is not gone on from. */
export interface StreamEvent {
  readonly event: string;
  readonly id?: string;
  /** On one line. */
  readonly data: string;
}

/** The events of one stream, made as they are taken; they end with the signal. */
export type EventSource = (signal: AbortSignal) => AsyncIterable<StreamEvent>;

/** Streams that one credential may have open. */
const MOST_STREAMS = 16;
/** Milliseconds between two checks that the caller's credential is still accepted. */
const LOOK = 500;
/** Milliseconds after which a stream says that it is there. */
const SIGN_OF_LIFE = 15_000;
/** Milliseconds for which a caller may take nothing. */
const PATIENCE = 60_000;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  vary: 'accept-encoding',
};

export class Streams {
  readonly #log: Pick<LogPort, 'warn'>;
  readonly #open = new Set<{ readonly owner: string; end(): void }>();
  #isEnding = false;

  constructor(log: Pick<LogPort, 'warn'>) {
    this.#log = log;
  }

  /** Ends all streams, and each that is begun later. */
  end(): void {
    this.#isEnding = true;
    for (const stream of this.#open) stream.end();
  }

  /** Tells whether somebody asks for a stream. */
  static isWanted({ headers }: FastifyRequest): boolean {
    return (headers.accept ?? '').toLowerCase().includes('text/event-stream');
  }

  /** Sends a stream until its caller leaves, loses access, or reads nothing for a minute. Throws `tooManyStreams`. */
  begin(source: EventSource, reply: FastifyReply, { name }: Principal, isLetIn: () => Promise<boolean>): void {
    const owned = [...this.#open].filter(({ owner }) => owner === name).length;
    if (owned >= MOST_STREAMS) throw new OwnError('tooManyStreams');
    reply.hijack();
    const { raw, request } = reply;
    if (request.method === 'HEAD') {
      raw.writeHead(200, HEADERS);
      raw.end();
      return;
    }
    const controller = new AbortController();
    const { signal } = controller;
    const end = () => controller.abort();
    const stream = { owner: name, end };
    this.#open.add(stream);
    const { socket } = request.raw;
    socket.once('end', end);
    raw.once('close', end);
    const look = setInterval(() => {
      Promise.resolve(isLetIn()).then(
        (isIn) => isIn || end(),
        () => undefined,
      );
    }, LOOK);
    this.#send(source, raw, acceptedCoding(request.headers['accept-encoding']) !== null, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#log.warn({ err: error }, 'a stream of events ended for a reason of its own');
      })
      .finally(() => {
        clearInterval(look);
        this.#open.delete(stream);
        socket.off('end', end);
        end();
      });
    if (this.#isEnding) end();
  }

  async #send(source: EventSource, response: ServerResponse, isPacked: boolean, signal: AbortSignal): Promise<void> {
    response.writeHead(200, { ...HEADERS, ...(isPacked ? { 'content-encoding': 'gzip' } : {}) });
    const packed = isPacked ? createGzip({ flush: constants.Z_SYNC_FLUSH }) : null;
    packed?.pipe(response);
    const out = packed ?? response;
    const giveUp = () => response.destroy();
    const taken = (): Promise<void> =>
      new Promise((resolve) => {
        const patience = setTimeout(giveUp, PATIENCE);
        const done = () => {
          clearTimeout(patience);
          out.off('drain', done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        out.once('drain', done);
        signal.addEventListener('abort', done);
        if (signal.aborted) done();
      });
    // The header goes out before the first event.
    let isTaken = out.write(':\n\n');
    const life = setInterval(() => {
      if (isTaken) isTaken = out.write(':\n\n');
    }, SIGN_OF_LIFE);
    try {
      if (!signal.aborted) {
        for await (const event of source(signal)) {
          if (signal.aborted) break;
          isTaken = out.write(textOf(event));
          if (!isTaken) await taken();
          isTaken = true;
          if (signal.aborted) break;
        }
      }
    } finally {
      clearInterval(life);
      // Lines that wait for a caller who does not read are dropped with the connection.
      if (out.writableNeedDrain) giveUp();
      else out.end();
    }
  }
}

function textOf({ event, id, data }: StreamEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}
