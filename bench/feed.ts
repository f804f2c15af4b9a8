import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER_CORE, startChild } from './child.js';
import { type Bench, countText, type Measure, type Row, timeText } from './measure.js';
import { listUsers } from './requests.js';
import { sampleKeyName, TOKEN } from './sample-keys.js';
import { type BenchServer, startCommand } from './servers.js';
import { median } from './statistics.js';

const ENTRIES = 1000;

interface FeedServer extends BenchServer {
  readonly feedPort: number;
}

async function startFeedServer(path: string): Promise<FeedServer> {
  const child = startChild(new URL('./feed-server.js', import.meta.url), [path], SERVER_CORE);
  const ready = await child.hear();
  if (typeof ready !== 'object' || ready === null || !('port' in ready) || !('feedPort' in ready)) {
    throw new Error('the feed server has not begun well');
  }
  return { port: Number(ready.port), feedPort: Number(ready.feedPort), child };
}

/** Where the load client finds the feed. */
const feedOf = (server: FeedServer): BenchServer => ({ port: server.feedPort, child: server.child });

/** So many reports that go through all keys in an order like chance, each of a thousand entries. */
export function reports(keys: number, count: number, ack: 'memory' | 'durable'): readonly string[] {
  return Array.from({ length: count }, (_, report) => {
    const entries = Array.from({ length: ENTRIES }, (_, i) => {
      const index = ((report * ENTRIES + i) * 7919) % keys;
      return {
        access_key: sampleKeyName(index),
        bytes_up: 1000 + i,
        bytes_down: 50_000 + report + i,
        connections: i % 3,
      };
    });
    const body = JSON.stringify({ entries });
    const head = [
      `POST /v1/usage?ack=${ack} HTTP/1.1`,
      'Host: 127.0.0.1',
      `Authorization: Bearer ${TOKEN}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    return `${head.join('\r\n')}\r\n\r\n${body}`;
  });
}

const BAR = 100_000;
const KEYS = 100_000;

export const feedRates: Measure = {
  name: 'feed',
  async run(bench) {
    const server = await bench.using(startFeedServer(await bench.file(KEYS)));
    await sleep(2000);
    const rows: Row[] = [];
    for (const ack of ['memory', 'durable'] as const) {
      const rate = await rateOf(bench, server, ack);
      rows.push({
        measure: `usage entries a second at 100k keys, one connection, reports of 1,000, acknowledged: ${ack}`,
        gateway: 'gateway with its file and store',
        against: '',
        value: `${countText(rate)}/s`,
        bar: `≥ ${countText(BAR)}/s`,
        met: rate >= BAR,
      });
    }
    return rows;
  },
};

/** Returns the entries that are counted in a second, the median of some rounds. Every key comes up once in a hundred reports. */
async function rateOf(bench: Bench, server: FeedServer, ack: 'memory' | 'durable'): Promise<number> {
  const requests = reports(KEYS, KEYS / ENTRIES, ack);
  const [length, count] = bench.quick ? [1000, 2] : [3000, 5];
  const rates: number[] = [];
  for (let round = 0; round <= count; round += 1) {
    const order = { connections: 1, requests, until: { milliseconds: length } };
    const { rate } = await bench.load.put(feedOf(server), order);
    if (round > 0) rates.push(rate * ENTRIES);
  }
  return median(rates);
}

const REPORTED_PER_SECOND = 50_000;
const LIST_BAR = 150;

export const listsBesideFeed: Measure = {
  name: 'lists-beside-feed',
  async run(bench) {
    const server = await bench.using(startFeedServer(await bench.file(KEYS)));
    const listing = await bench.secondLoad();
    const requests = reports(KEYS, KEYS / ENTRIES, 'memory');
    const seconds = bench.quick ? 3 : 15;
    await listing.put(server, { connections: 1, requests: listUsers, until: { each: 5 } });
    const perReport = (1000 * ENTRIES) / REPORTED_PER_SECOND;
    let going = true;
    const order = { connections: 1, requests, until: { each: 1 } };
    const reporting = (async () => {
      const began = performance.now();
      let sent = 0;
      for (; going; sent += 1) {
        await sleep(Math.max(0, began + sent * perReport - performance.now()));
        await bench.load.put(feedOf(server), {
          ...order,
          requests: requests.slice(sent % requests.length).slice(0, 1),
        });
      }
      return (sent * ENTRIES * 1000) / (performance.now() - began);
    })();
    const lists = await listing.put(server, {
      connections: 1,
      requests: listUsers,
      until: { milliseconds: seconds * 1000 },
    });
    going = false;
    const rate = await reporting;
    return [
      {
        measure: 'GET /users at 100k keys while usage of 50,000 entries a second comes in, p99',
        gateway: `${countText(rate)} entries/s, list p50 ${timeText(lists.p50)}`,
        against: `${countText(lists.answers)} lists, slowest ${timeText(lists.slowest)}`,
        value: timeText(lists.p99),
        bar: `≤ ${LIST_BAR} ms`,
        met: lists.p99 <= LIST_BAR,
      },
    ];
  },
};

const MEMORY_BAR = 600;
const START_BAR_MS = 2500;

/** What the counters of a key and all that stands around them take, beside a server that has no keys. */
export const manyCounters: Measure = {
  name: 'counters-100k',
  async run(bench) {
    const empty = await bench.using(startFeedServer(await bench.file(0)));
    const path = await bench.file(KEYS);
    const server = await bench.using(startFeedServer(path));
    for (let from = 0; from < KEYS / ENTRIES; from += 100) {
      const requests = reports(KEYS, from + 100, 'memory').slice(from);
      await bench.load.put(feedOf(server), { connections: 1, requests, until: { each: 100 } });
    }
    await sleep(3000);
    const perKey = ((await heldBytes(server)) - (await heldBytes(empty))) / KEYS;
    await server.child.stop();
    const times: number[] = [];
    for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) {
      const started = await bench.using(startCommand(path));
      times.push(started.firstAnswer);
      await started.child.stop();
    }
    const time = median(times);
    return [
      {
        measure: 'memory with 100k keys with counters, after collection: heap and buffers',
        gateway: 'gateway with its file and store',
        against: '',
        value: `${perKey.toFixed(0)} bytes a key`,
        bar: `≤ ${MEMORY_BAR} bytes a key`,
        met: perKey <= MEMORY_BAR,
      },
      {
        measure: 'start with 100k counters to first answer',
        gateway: 'keyway serve',
        against: '',
        value: timeText(time),
        bar: '≤ 2.5 s',
        met: time <= START_BAR_MS,
      },
    ];
  },
};

/** What the process holds once everything that can go has gone. */
async function heldBytes(server: FeedServer): Promise<number> {
  const usage = await server.child.ask({ memory: true });
  if (typeof usage !== 'object' || usage === null || !('heapUsed' in usage) || !('external' in usage)) {
    throw new Error('the feed server does not tell its memory');
  }
  return Number(usage.heapUsed) + Number(usage.external);
}
