import { createConnection, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What the proxy does to bytes. */
export interface Faults {
  /** New connections are refused, and present ones cut. */
  refuse(isRefusing: boolean): void;
  /** Cuts every connection. */
  cut(): void;
  /** Nothing goes through any more, this way or both, and nobody is told; with null all of it at once again. */
  hang(way: Way | null): void;
  /**
   * The next message that contains this text is cut off: before it goes to the database, or before its answer comes back; or
   * then for good: as if all were refused from then on.
   */
  cutAround(text: string, when: 'before' | 'after' | 'for good'): void;
  /**
   * The client of the next message that contains this text stands still: with half of it sent, or without reading its answer.
   * Its connection stays open to the database whatever it does, until it goes on.
   */
  standAround(text: string, where: 'within' | 'answer'): void;
  goOn(): void;
  /** Whether a client stands, and its message has gone as far as it goes. */
  isStanding(): boolean;
  /** What the database says to connections that listen is swallowed. */
  swallowHints(isSwallowing: boolean): void;
  /** Cuts every connection; new ones lead to this database's server. */
  leadTo(target: string): void;
}

/** To the database, from it, or both. */
export type Way = 'to' | 'from' | 'both';

export interface DatabaseProxy extends Faults {
  /** The same database, by way of the proxy. */
  readonly url: string;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  listens: boolean;
  swallowsAnswer: boolean;
  /** What the client has not sent yet; null where it does not stand. */
  unsent: Buffer | null;
}

/** A proxy before a PostgreSQL over which things go wrong. */
export async function startProxy(target: string): Promise<DatabaseProxy> {
  let { hostname, port } = new URL(target);
  const pairs = new Set<Pair>();
  let isRefusing = false;
  let hanging: Way | null = null;
  let isSwallowing = false;
  let standing: { readonly text: string; readonly where: 'within' | 'answer' } | null = null;
  let around: { readonly text: string; readonly when: 'before' | 'after' | 'for good' } | null = null;

  function end(pair: Pair): void {
    if (pair.unsent !== null) return;
    pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }

  const proxy = createServer((client) => {
    if (isRefusing) {
      client.destroy();
      return;
    }
    const server = createConnection(Number(port), hostname);
    const pair: Pair = { client, server, listens: false, swallowsAnswer: false, unsent: null };
    pairs.add(pair);
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on('data', (bytes) => {
      if (bytes.includes('listen keyway')) pair.listens = true;
      if (around !== null && bytes.includes(around.text)) {
        const { when } = around;
        around = null;
        if (when === 'before') {
          end(pair);
          return;
        }
        pair.swallowsAnswer = true;
        isRefusing = when === 'for good';
      }
      if (standing !== null && bytes.includes(standing.text)) {
        const sent = standing.where === 'within' ? bytes.length >> 1 : bytes.length;
        standing = null;
        pair.unsent = bytes.subarray(sent);
        hold(pair, 'both');
        server.write(bytes.subarray(0, sent));
        return;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (pair.swallowsAnswer) end(pair);
      else if (!(pair.listens && isSwallowing)) client.write(bytes);
    });
    for (const socket of [client, server]) {
      socket.on('error', () => end(pair));
      socket.on('close', () => end(pair));
    }
    if (hanging !== null) hold(pair, hanging);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  const url = new URL(target);
  url.port = `${address.port}`;

  const cut = () => {
    for (const pair of [...pairs]) end(pair);
  };
  return {
    url: url.href,
    cut,
    refuse(refusing) {
      isRefusing = refusing;
      if (refusing) cut();
    },
    hang(way) {
      hanging = way;
      for (const pair of pairs) hold(pair, way);
    },
    cutAround(text, when) {
      around = { text, when };
    },
    standAround(text, where) {
      standing = { text, where };
    },
    isStanding: () => [...pairs].some(({ unsent }) => unsent !== null),
    goOn() {
      standing = null;
      for (const pair of pairs) {
        if (pair.unsent === null) continue;
        pair.server.write(pair.unsent);
        pair.unsent = null;
        if (pair.client.destroyed) end(pair);
        else hold(pair, null);
      }
    },
    leadTo(other) {
      ({ hostname, port } = new URL(other));
      cut();
    },
    swallowHints(swallowing) {
      isSwallowing = swallowing;
    },
    async close() {
      for (const pair of pairs) pair.unsent = null;
      cut();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

function hold({ client, server }: Pair, way: Way | null): void {
  for (const [socket, isHeld] of [
    [client, way === 'to' || way === 'both'],
    [server, way === 'from' || way === 'both'],
  ] as const) {
    if (isHeld) socket.pause();
    else socket.resume();
  }
}

/** One that closes with the test. */
export async function proxyForTest(target: string): Promise<DatabaseProxy> {
  const proxy = await startProxy(target);
  onTestFinished(() => proxy.close());
  return proxy;
}
