import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { AnnouncedServer, KeySnapshot, OutboundRule } from '../../src/core/model.js';
import type { ClockPort } from '../../src/core/ports.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { isJsonObject, parseJson } from '../../src/wire/json/json.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { type Behaviour, behaviourOf } from './behaviour.js';
import { parseConfiguration, readAtStart } from './configuration.js';
import { createPauses, createServerFile, type Pause, type ServerFile } from './file.js';
import { answer } from './http.js';
import { createMemory, type Memory } from './memory.js';
import type { Server } from './operations.js';

export interface StandInOptions {
  /** A revision's id or a server package version. */
  readonly line: string;
  /** Path of its configuration file. */
  readonly file: string;
  /** On loopback; one that is free now when left out: whoever restarts it gives one that nobody else gets meanwhile. */
  readonly port?: number;
  /** How many times faster than every 5 s the file is looked at; 1 when left out, 0 for never by itself (`reload`). */
  readonly reloadFactor?: number;
  /** Decides the pauses and the order of its hash table; 1 when left out. */
  readonly seed?: number;
  /** The longest pause between two steps of a write or a reload, in milliseconds; 0 when left out. */
  readonly pauseMilliseconds?: number;
  /** Takes the place of these pauses, so that a test decides what falls between two steps. */
  readonly pause?: Pause;
  /** Bytes over which it refuses a body, as those of 0.4 do by what is inferred of them; none when left out. */
  readonly mostBodyBytes?: number;
  /** What it tells its clients; left out, the address of its file, without a query. */
  readonly announced?: AnnouncedServer;
  /** The host of its TLS links, from 0.4.6 on; without TLS when left out. */
  readonly tlsHost?: string;
  readonly clock?: ClockPort;
}

/** A server of a line that misbehaves as the real ones do (protocol: "Where recorded servers differ"), over a file and on a socket. */
export interface StandIn {
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  readonly version: string;
  /** `{base}` and the API root, as its line has them. */
  readonly paths: { readonly base: string; readonly api: string };
  /** The keys that it holds, in no order. */
  keys(): readonly KeySnapshot[];
  /** The outbound rules that it goes by; null where its file configured none at its start. */
  rules(): readonly OutboundRule[] | null;
  /** Traffic of a client: bytes and connections are added. */
  count(accessKey: string, traffic: { up?: bigint; down?: bigint; connections?: bigint }): void;
  /** Looks at its file now. */
  reload(): Promise<void>;
  /** Ends it and starts it from its file, on the same port, perhaps as another line. Writes under way are finished first. */
  restart(line?: string): Promise<void>;
  close(): Promise<void>;
}

/** Every 5 s, as the real ones do. Milliseconds. */
const RELOAD_EVERY = 5_000;

/** Starts one. Rejects where a real server would not start from its file. */
export async function startStandIn(options: StandInOptions): Promise<StandIn> {
  let running = await run(options, options.port ?? 0);
  return {
    origin: `http://127.0.0.1:${running.port}`,
    get version() {
      return running.behaviour.version;
    },
    get paths() {
      return running.behaviour.revision.root.paths(running.memory.start.webpath);
    },
    keys: () => running.memory.keys().flatMap(([accessKey]) => running.memory.snapshot(accessKey) ?? []),
    rules: () => running.memory.rules,
    count: (accessKey, { up = 0n, down = 0n, connections = 0n }) =>
      running.memory.count(accessKey, up, down, connections),
    reload: () => running.file.reload(),
    async restart(line) {
      await running.end();
      running = await run({ ...options, line: line ?? running.behaviour.version }, running.port);
    },
    close: () => running.end(),
  };
}

interface Running {
  readonly behaviour: Behaviour;
  readonly memory: Memory;
  readonly file: ServerFile;
  readonly port: number;
  end(): Promise<void>;
}

async function run(options: StandInOptions, port: number): Promise<Running> {
  const { seed = 1, pauseMilliseconds = 0, reloadFactor = 1, clock = systemClock } = options;
  const behaviour = behaviourOf(options.line);
  const start = readAtStart(parseConfiguration(await readFile(options.file)), behaviour);
  const memory = createMemory(start, { clock, random: systemRandom }, seed);
  const statistics = join(dirname(options.file), '.ostp_stats.json');
  if (behaviour.keepsCounters) await readCounters(statistics, memory);
  const pause = options.pause ?? createPauses(seed, pauseMilliseconds);
  const file = createServerFile(options.file, behaviour, memory, pause);
  const announced = options.announced ?? (await announcedBy(options.file, start.listen));
  const { mostBodyBytes = Number.POSITIVE_INFINITY } = options;
  const tlsHost = behaviour.tellsEndpoint ? (options.tlsHost ?? null) : null;
  const parts = { behaviour, memory, file, announced, tlsHost, mostBodyBytes };
  const http = await listen({ ...parts, clock, random: systemRandom }, port);
  const looking = reloadFactor === 0 ? null : lookEvery(RELOAD_EVERY / reloadFactor, file);
  return {
    behaviour,
    memory,
    file,
    port: (http.address() as AddressInfo).port,
    async end() {
      await looking?.end();
      await file.settled();
      if (behaviour.keepsCounters) await writeFile(statistics, countersText(memory));
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
    },
  };
}

/** The counters of users that still stand in the file, as they were stored at the last clean end. */
async function readCounters(path: string, memory: Memory): Promise<void> {
  const stored = await readFile(path).catch(() => null);
  if (stored === null) return;
  const root = parseJson(stored);
  for (const user of isJsonObject(root) && Array.isArray(root.users) ? root.users : []) {
    const { access_key: key, bytes_up: up, bytes_down: down } = isJsonObject(user) ? user : {};
    if (typeof key !== 'string' || typeof up !== 'bigint' || typeof down !== 'bigint') continue;
    if (memory.hasKey(key)) memory.count(key, up, down, 0n);
  }
}

function countersText(memory: Memory): string {
  const users = memory.keys().flatMap(([key]) => {
    const { counters } = memory.snapshot(key) ?? { counters: null };
    return counters === null
      ? []
      : [{ access_key: key, bytes_up: counters.bytesUp, bytes_down: counters.bytesDown, connections: 0n }];
  });
  return encodeJson({ users });
}

async function listen(server: Server, port: number): Promise<HttpServer> {
  const http = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    answer(server, request, response).catch((error) => response.destroy(error));
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  return http;
}

/** Looks at the file again and again, the next time only when the last is done. */
function lookEvery(milliseconds: number, file: ServerFile): { end(): Promise<void> } {
  let last: Promise<void> | null = null;
  const timer = setInterval(() => {
    last ??= file.reload().finally(() => {
      last = null;
    });
  }, milliseconds);
  timer.unref();
  return {
    async end() {
      clearInterval(timer);
      await last;
    },
  };
}

/** The host of the file beside the configuration, where there is one, else that of its own address. */
async function announcedBy(path: string, address: string): Promise<AnnouncedServer> {
  const colon = address.lastIndexOf(':');
  const beside = await readFile(join(dirname(path), '.ostp_public_ip'), 'utf8').catch(() => '');
  return {
    host: beside.trim() || address.slice(0, colon),
    port: Number(address.slice(colon + 1)),
    shareScheme: 'ostp',
    shareQuery: '',
  };
}
