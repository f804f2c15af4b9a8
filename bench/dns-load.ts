/** A bounded load of DNS queries over UDP on loopback: so many are on their way, never more. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';

export interface DnsLoadOrder {
  readonly port: number;
  readonly names: readonly string[];
  readonly outstanding: number;
  /** Ends the load; queries on their way are still awaited. */
  readonly until: Promise<unknown>;
}

export interface DnsLoadFigures {
  readonly perSecond: number;
  readonly answered: number;
  /** Queries that got no reply. */
  readonly lost: number;
  /** Milliseconds from query to reply. */
  readonly p50: number;
  readonly p99: number;
  /** Per code how many replies had it. */
  readonly codes: ReadonlyMap<number, number>;
}

/** How long a reply may take before its query counts as lost. */
const LOST_MS = 3000;

/** Puts the load on a resolver. Each of the outstanding queries has an id of its own, and is sent anew when answered. */
export async function loadDns({ port, names, outstanding, until }: DnsLoadOrder): Promise<DnsLoadFigures> {
  const queries = names.map(queryFor);
  const socket = createSocket({
    type: 'udp4',
    recvBufferSize: 1 << 20,
    lookup: (host, _, done) => done(null, host, 4),
  });
  // With that look-up the socket may be bound before the call returns.
  const listening = once(socket, 'listening');
  socket.bind({ address: '127.0.0.1', port: 0 });
  await listening;
  const sentAt = new Float64Array(outstanding);
  const codes = new Map<number, number>();
  const times: number[] = [];
  let next = 0;
  let answered = 0;
  let ended = false;
  let lost = 0;

  function send(slot: number): void {
    const query = Buffer.from(queries[next % queries.length] ?? '');
    next += 1;
    query.writeUInt16BE(slot, 0);
    sentAt[slot] = performance.now();
    socket.send(query, port, '127.0.0.1', () => undefined);
  }

  socket.on('message', (reply) => {
    const slot = reply.readUInt16BE(0);
    const time = performance.now() - (sentAt[slot] ?? 0);
    if (answered % 16 === 0) times.push(time);
    answered += 1;
    sentAt[slot] = 0;
    const code = reply.readUInt8(3) & 0x0f;
    codes.set(code, (codes.get(code) ?? 0) + 1);
    if (!ended) send(slot);
  });
  const start = performance.now();
  for (let slot = 0; slot < outstanding; slot++) send(slot);
  const watch = setInterval(() => {
    for (let slot = 0; slot < outstanding; slot++) {
      const since = sentAt[slot] ?? 0;
      if (since === 0 || performance.now() - since < LOST_MS) continue;
      lost += 1;
      sentAt[slot] = 0;
      if (!ended) send(slot);
    }
  }, 100);
  await until;
  const seconds = (performance.now() - start) / 1000;
  const inTime = answered;
  ended = true;
  while (sentAt.some((since) => since !== 0)) await new Promise((resolve) => setTimeout(resolve, 20));
  clearInterval(watch);
  socket.close();
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? 0;
  return { perSecond: inTime / seconds, answered, lost, p50: at(0.5), p99: at(0.99), codes };
}

/** An A query with the id 0. */
function queryFor(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`));
  return Buffer.concat([Buffer.from('000001000001000000000000', 'hex'), ...labels, Buffer.from('0000010001', 'hex')]);
}
