import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** One request of the soak. */
export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds between one piece of the answer and the next. */
  readonly slowness?: number;
}

export interface LoadAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** Milliseconds from sending to the answer's end. */
  readonly took: number;
}

/** A kept connection that has one request under way at a time. */
export interface LoadConnection {
  /** Rejects when the connection breaks, or when the answer is shorter than it said. */
  send(request: LoadRequest): Promise<LoadAnswer>;
  close(): void;
}

/** A kept connection was closed before it brought an answer. */
class KeptClosed extends Error {}

/** The client's own address is loopback's usual one, unless another is given. */
export function openLoadConnection(origin: string, localAddress?: string): LoadConnection {
  const { hostname, port } = new URL(origin);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...(localAddress === undefined ? {} : { localAddress }) });
  return {
    async send({ method, path, headers = {}, body, slowness = 0 }) {
      const began = performance.now();
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const options = { agent, hostname, port, method, path, headers: { ...headers, ...length } };
      const ask = () =>
        new Promise<IncomingMessage>((resolve, reject) => {
          const asked = request(options, resolve);
          asked.on('error', (error) => reject(asked.reusedSocket ? new KeptClosed(error.message) : error)).end(body);
        });
      // As every client does: an idle connection may be closed at any time, a request that meets that is made again.
      const response = await ask().catch((error) => (error instanceof KeptClosed ? ask() : Promise.reject(error)));
      const parts: Buffer[] = [];
      for await (const part of response) {
        parts.push(Buffer.from(part));
        if (slowness > 0) await pause(slowness);
      }
      return { status: response.statusCode ?? 0, body: Buffer.concat(parts), took: performance.now() - began };
    },
    close: () => agent.destroy(),
  };
}

/** Milliseconds; longer than the server waits for a head. */
const LONGEST_SILENCE = 60_000;

/** What a client does to its connection after it has sent its bytes. */
export type Ending = 'half-close' | 'destroy' | 'destroy at first byte' | 'reset' | 'reset at first byte';

/** Sends bytes on a connection of its own, ends it in this way, and resolves to what came back, once all is over. */
export function sendRaw(origin: string, bytes: string, ending: Ending, localAddress?: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const from = localAddress === undefined ? {} : { localAddress };
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, ...from });
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text;
      if (ending === 'destroy at first byte') socket.destroy();
      if (ending === 'reset at first byte') socket.resetAndDestroy();
    });
    socket.setTimeout(LONGEST_SILENCE, () => {
      answer += '(silence)';
      socket.destroy();
    });
    // A server may well break off what was broken off before.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(answer));
    if (ending === 'half-close') socket.end(bytes);
    else if (ending === 'destroy') socket.write(bytes, () => socket.destroy());
    else if (ending === 'reset') socket.write(bytes, () => socket.resetAndDestroy());
    else socket.write(bytes);
  });
}
