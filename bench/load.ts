import { type HttpConnection, openConnection } from './http-connection.js';
import { quantile } from './statistics.js';

/** What the load client is asked to do: connections that send one request after the other, without pipelining. */
export interface LoadOrder {
  readonly port: number;
  readonly connections: number;
  /** Whole requests as texts; each connection goes round them, starting at another one. */
  readonly requests: readonly string[];
  /** For so long, or so many requests on each connection. What is under way at the end is waited for. */
  readonly until: { readonly milliseconds: number } | { readonly each: number };
  /** Milliseconds from one request of a connection to its next, unless the answer takes longer; default none. */
  readonly every?: number;
}

/** What came of it. Times are in milliseconds. */
export interface LoadResult {
  readonly answers: number;
  /** Answers whose status was none of 2xx; a measure with any is none. */
  readonly refused: number;
  readonly bodyBytes: number;
  /** From the first request to the last answer; the connections are open before. */
  readonly elapsed: number;
  readonly p50: number;
  readonly p99: number;
  readonly slowest: number;
}

/** Puts the load on a server. Rejects when a connection breaks. */
export async function putLoad(order: LoadOrder): Promise<LoadResult> {
  const requests = order.requests.map((text) => Buffer.from(text));
  let fail: (error: Error) => void = () => undefined;
  const broken = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  broken.catch(() => undefined); // Only those who wait for it are told.
  const connections: HttpConnection[] = [];
  for (let i = 0; i < order.connections; i += 1) connections.push(await openConnection(order.port, (e) => fail(e)));
  const tally: Tally = { latencies: [], refused: 0, bodyBytes: 0 };
  const began = performance.now();
  const mayGoOn = untilWhen(order.until, began);
  const { every = 0 } = order;
  const lanes = connections.map((connection, lane) => {
    const first = began + (lane * every) / connections.length;
    return runLane(connection, requests, { lane, first, every, mayGoOn }, tally);
  });
  try {
    await Promise.race([Promise.all(lanes), broken]);
  } finally {
    for (const connection of connections) connection.close();
  }
  const elapsed = performance.now() - began;
  const { latencies, refused, bodyBytes } = tally;
  const [p50, p99, slowest] = [0.5, 0.99, 1].map((share) => quantile(latencies, share));
  return {
    answers: latencies.length,
    refused,
    bodyBytes,
    elapsed,
    p50: p50 ?? 0,
    p99: p99 ?? 0,
    slowest: slowest ?? 0,
  };
}

interface Tally {
  readonly latencies: number[];
  refused: number;
  bodyBytes: number;
}

/** Whether a connection that has had so many answers sends another request. */
type MayGoOn = (answered: number, now: number) => boolean;

function untilWhen(until: LoadOrder['until'], began: number): MayGoOn {
  if ('each' in until) return (answered) => answered < until.each;
  const end = began + until.milliseconds;
  return (_answered, now) => now < end;
}

/** When a connection sends. */
interface Pace {
  readonly lane: number;
  /** Of its first request. */
  readonly first: number;
  readonly every: number;
  readonly mayGoOn: MayGoOn;
}

function runLane(
  connection: HttpConnection,
  requests: readonly Buffer[],
  { lane, first, every, mayGoOn }: Pace,
  tally: Tally,
): Promise<void> {
  return new Promise((resolve) => {
    let answered = 0;
    let next = (lane * 7919) % requests.length;
    function send(): void {
      const request = requests[next] ?? Buffer.alloc(0);
      next = (next + 1) % requests.length;
      const sent = process.hrtime.bigint();
      connection.send(request, ({ status, bytes }) => {
        tally.latencies.push(Number(process.hrtime.bigint() - sent) / 1e6);
        tally.bodyBytes += bytes;
        if (status < 200 || status > 299) tally.refused += 1;
        answered += 1;
        const now = performance.now();
        const wait = first + answered * every - now;
        if (!mayGoOn(answered, now)) resolve();
        else if (wait > 0) setTimeout(send, wait);
        else send();
      });
    }
    if (every > 0) setTimeout(send, first - performance.now());
    else send();
  });
}
