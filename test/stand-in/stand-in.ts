import { once } from 'node:events';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { AnnouncedServer, KeySnapshot, OutboundRule } from '../../src/core/model.js';
import type { ClockPort } from '../../src/core/ports.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { isJsonObject, parseJson } from '../../src/wire/json/json.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { type Behaviour, behaviourOf, type Lacking } from './behaviour.js';
import { parseConfiguration, readAtStart, type StartState } from './configuration.js';
import { createPauses, createServerFile, type Pause, type ServerFile } from './file.js';
import { answer } from './http.js';
import { createMemory, type Memory } from './memory.js';
import type { FailedLogins, Server } from './operations.js';

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
  /** What it has not yet, as betas that report 0.4.6. */
  readonly lacking?: readonly Lacking[];
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
  /** Traffic of a client: bytes and connections are added; from 0.4.6 on connections end, too. */
  count(accessKey: string, traffic: { up?: bigint; down?: bigint; connections?: bigint }): void;
  /** Looks at its file now. */
  reload(): Promise<void>;
  /** How long the longest look at its file has taken that it did by itself, ms. */
  readonly longestLook: number;
  /** Ends it and starts it from its file, on the same port, perhaps as another line. Writes under way are finished first. */
  restart(line?: string): Promise<void>;
  /** Does so without a clean end, from 0.4.6 on with the counters of the last write. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

/** Every 5 s, as the real ones do. Milliseconds. */
const RELOAD_EVERY = 5_000;
/** The time between two writes of the counters, from 0.4.6 on. */
const STORE_EVERY = 30_000;

/** Starts one. Rejects where a real server would not start from its file. */
export async function startStandIn(options: StandInOptions): Promise<StandIn> {
  let longestLook = 0;
  const look = async (file: ServerFile) => {
    const began = performance.now();
    await file.reload();
    longestLook = Math.max(longestLook, performance.now() - began);
  };
  let running = await run(options, look, options.port ?? 0);
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
    count: (accessKey, { up = 0n, down = 0n, connections = 0n }) => {
      // What is counted of handshakes has no end.
      const counted = connections < 0n && !running.behaviour.later.countsSessions ? 0n : connections;
      running.memory.count(accessKey, up, down, counted);
    },
    reload: () => running.file.reload(),
    get longestLook() {
      return longestLook;
    },
    async restart(line) {
      await running.end({ isClean: true });
      running = await run({ ...options, line: line ?? running.behaviour.version }, look, running.port);
    },
    async crash() {
      await running.end({ isClean: false });
      running = await run(options, look, running.port);
    },
    close: () => running.end({ isClean: true }),
  };
}

interface Running {
  readonly behaviour: Behaviour;
  readonly memory: Memory;
  readonly file: ServerFile;
  readonly port: number;
  end(how: { readonly isClean: boolean }): Promise<void>;
}

/** `look` is called every 5 s. */
async function run(options: StandInOptions, look: (file: ServerFile) => Promise<void>, port: number): Promise<Running> {
  const { seed = 1, pauseMilliseconds = 0, reloadFactor = 1, clock = systemClock } = options;
  const behaviour = behaviourOf(options.line, options.lacking);
  const start = readAtStart(parseConfiguration(await readFile(options.file)), behaviour);
  const memory = createMemory(start, { clock, random: systemRandom }, seed);
  const { later } = behaviour;
  const beside = join(dirname(options.file), '.ostp_stats.json');
  const counters = later.keepsCounters ? new CountersFile(beside, memory, clock) : null;
  await counters?.read();
  await counters?.write();
  const pause = options.pause ?? createPauses(seed, pauseMilliseconds);
  const file = createServerFile(options.file, behaviour, memory, pause);
  const announced = options.announced ?? (await announcedBy(options.file, start, later.tellsServer));
  const { mostBodyBytes = Number.POSITIVE_INFINITY } = options;
  const tlsHost = later.tellsServer ? (options.tlsHost ?? null) : null;
  const failedLogins = later.failedLogins === null ? null : createFailedLogins(later.failedLogins, clock);
  const parts = { behaviour, memory, file, announced, tlsHost, failedLogins, mostBodyBytes };
  const { http, answering } = await listen({ ...parts, clock, random: systemRandom }, port);
  const looking = reloadFactor === 0 ? null : every(RELOAD_EVERY / reloadFactor, () => look(file));
  const storing =
    counters === null || reloadFactor === 0 ? null : every(STORE_EVERY / reloadFactor, () => counters.write());
  return {
    behaviour,
    memory,
    file,
    port: (http.address() as AddressInfo).port,
    async end({ isClean }) {
      await looking?.end();
      await storing?.end();
      await file.settled();
      if (isClean) await counters?.write(true);
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
      // What still writes would do so below the one that is started next.
      await Promise.allSettled(answering);
    },
  };
}

/** The counters of a server beside its file, from 0.4.6 on; what has been written is what a crash leaves. */
class CountersFile {
  readonly #path: string;
  readonly #memory: Memory;
  readonly #clock: ClockPort;

  constructor(path: string, memory: Memory, clock: ClockPort) {
    this.#path = path;
    this.#memory = memory;
    this.#clock = clock;
  }

  /** Gives the users that still stand in the configuration their bytes back; what cannot be read gives nobody any. */
  async read(): Promise<void> {
    const root = await readFile(this.#path)
      .then((bytes) => parseJson(bytes))
      .catch(() => null);
    for (const user of root !== null && isJsonObject(root) && Array.isArray(root.users) ? root.users : []) {
      const { access_key: key, bytes_up: up, bytes_down: down } = isJsonObject(user) ? user : {};
      if (typeof key !== 'string' || typeof up !== 'bigint' || typeof down !== 'bigint') continue;
      if (this.#memory.hasKey(key)) this.#memory.count(key, up, down, 0n);
    }
  }

  /** `isLast`: at a clean end, when no session is left. */
  async write(isLast = false): Promise<void> {
    const seconds = (milliseconds: number) => BigInt(Math.floor(milliseconds / 1000));
    const now = this.#clock.now();
    const users = this.#memory.counted().map(([key, { bytesUp, bytesDown, connections, limitBytes }]) => {
      const isOnline = connections > 0n && !isLast;
      return {
        access_key: key,
        name: null,
        bytes_up: bytesUp,
        bytes_down: bytesDown,
        connections: isLast ? 0n : connections,
        limit_bytes: limitBytes,
        online: isOnline,
        last_seen: isOnline ? seconds(now) : null,
      };
    });
    const sessions = users.reduce((sum, { connections }) => sum + connections, 0n);
    const started = now - (this.#clock.monotonic() - this.#memory.startedAt);
    const text = encodeJson({ written_at: seconds(now), started_at: seconds(started), sessions, users });
    const temporary = `${this.#path}.tmp`;
    await writeFile(temporary, text, { mode: 0o600 });
    await rename(temporary, this.#path);
  }
}

/** Tokens that come back with the time, of which each failure takes one. */
function createFailedLogins(inAMinute: number, clock: ClockPort): FailedLogins {
  let left = inAMinute;
  let at = clock.monotonic();
  const refill = () => {
    const now = clock.monotonic();
    left = Math.min(inAMinute, left + ((now - at) * inAMinute) / MINUTE);
    at = now;
  };
  return {
    isEmpty() {
      refill();
      return left < 1;
    },
    take() {
      left -= 1;
    },
  };
}

const MINUTE = 60_000;

/** Listens. `answering` are the answers under way, perhaps to clients that are gone. */
async function listen(
  server: Server,
  port: number,
): Promise<{ readonly http: HttpServer; readonly answering: ReadonlySet<Promise<void>> }> {
  const answering = new Set<Promise<void>>();
  const http = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const answered = answer(server, request, response)
      .catch((error) => void response.destroy(error))
      .finally(() => answering.delete(answered));
    answering.add(answered);
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  return { http, answering };
}

/** Does something again and again, the next time only when the last is done. */
function every(milliseconds: number, act: () => Promise<void>): { end(): Promise<void> } {
  let last: Promise<void> | null = null;
  const timer = setInterval(() => {
    last ??= act().finally(() => {
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

/**
 * The host of the file beside the configuration, where there is one, else that of its own address. From 0.4.6 on the domain
 * comes first, the file may have several lines, and the own address is not gone by.
 */
async function announcedBy(
  path: string,
  { listen: address, published }: StartState,
  isLater: boolean,
): Promise<AnnouncedServer> {
  const colon = address.lastIndexOf(':');
  const beside = await readFile(join(dirname(path), '.ostp_public_ip'), 'utf8').catch(() => '');
  const [line = ''] = beside
    .split('\n')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const host = isLater
    ? (published.domain ?? (line || '<YOUR_SERVER_PUBLIC_IP>'))
    : beside.trim() || address.slice(0, colon);
  return { host, port: Number(address.slice(colon + 1)), shareScheme: 'ostp', shareQuery: '' };
}
