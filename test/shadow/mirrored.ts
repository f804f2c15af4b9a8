import { onTestFinished } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import { createCaller } from '../../src/client/caller.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { readExchange } from '../../src/replay/record/passed-heads.js';
import { startProxy } from '../../src/replay/record/proxy.js';
import { Mirror, type MirrorOptions } from '../../src/shadow/mirror.js';
import { type DifferenceKind, type ShadowReport, Tally } from '../../src/shadow/tally.js';
import { machineTime, WritesBeside } from '../../src/shadow/traffic.js';
import { TOKEN } from '../replay/live-server.js';

/** A mirror in this process, with a proxy before the target that gives it what passes. */
export interface Mirrored {
  readonly url: string;
  /** Sends a request through the proxy; the mirror has it when this resolves. */
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves when all that passed was taken. */
  settled(): Promise<void>;
  /** Resolves when the mirror is no more than so many exchanges behind. */
  within(exchanges: number): Promise<void>;
  readonly mirror: Mirror;
  report(): ShadowReport;
  /** The kinds of differences that nothing explains, as `operation where`. */
  unexplained(): readonly string[];
  readonly failures: unknown[];
}

export type Wanted = Pick<MirrorOptions, 'shadow'> & Partial<Omit<MirrorOptions, 'shadow'>>;

/** A second server as the command asks for it, with the token of `startLiveServer`. */
export function second(origin: string, given: { writes?: boolean; destructive?: boolean } = {}) {
  const { writes = false, destructive = false } = given;
  const credentials = { token: TOKEN, operator: null };
  const rest = { forwardsCredentials: false, timeoutMilliseconds: 2_000, ca: null, revision: null };
  return { origin, webpath: '', credentials, writes, destructive, ...rest };
}

export async function mirrored(target: string, wanted: Wanted, token: string | null = TOKEN): Promise<Mirrored> {
  const tally = new Tally(() => systemClock.now());
  const mirror = new Mirror({
    target: { origin: target, webpath: '', revision: null, token, ca: null },
    prepares: false,
    expected: [],
    timeoutMilliseconds: 2_000,
    followEvery: 60_000,
    lines: { all: REVISIONS, resolve: resolveRevision },
    clock: systemClock,
    random: systemRandom,
    tally,
    onDifference: () => undefined,
    ...wanted,
  });
  const writes = new WritesBeside();
  const underWay = new UnderWay();
  const failures: unknown[] = [];
  let work = Promise.resolve();
  let behind = 0;
  const proxy = await startProxy({
    origin: target,
    listen: { host: '127.0.0.1', port: 0 },
    watch(request) {
      const startedAt = machineTime();
      writes.begin(request);
      underWay.begin();
      return {
        keeps: () => true,
        passed(exchange) {
          const beside = writes.end(request.sequence, exchange);
          const passed = { ...readExchange(exchange), startedAt, beside };
          behind += 1;
          work = work
            .then(() => mirror.take(passed))
            .catch((error) => void failures.push(error))
            .finally(() => {
              behind -= 1;
            });
          underWay.end();
        },
        unkept() {
          writes.end(request.sequence, null);
          underWay.end();
        },
      };
    },
    onFailure: () => undefined,
  });
  onTestFinished(async () => {
    await proxy.close();
    await work;
    await mirror.close();
  });
  await mirror.begin().catch((error) => void failures.push(error));
  const caller = createCaller({ origin: proxy.url, timeoutMilliseconds: 30_000 });
  onTestFinished(() => caller.close());
  const settled = async () => {
    // An exchange is handed out a moment after its client has it.
    await underWay.ended();
    await work;
  };
  return {
    url: proxy.url,
    async send(method, path, body, headers = {}) {
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      await caller.send({
        method,
        path,
        headers: new Map(
          Object.entries({ authorization: `Bearer ${TOKEN}`, 'user-agent': 'node', ...type, ...headers }),
        ),
        body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      });
      await settled();
    },
    settled,
    within: async (exchanges) => {
      if (behind > exchanges) await work;
    },
    mirror,
    report: () => tally.report(),
    unexplained: () => unexplainedIn(tally.report().differences),
    failures,
  };
}

/** Counts the requests that the proxy has taken and not handed out yet. */
class UnderWay {
  #count = 0;
  #waiting: (() => void)[] = [];

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when there are none. */
  async ended(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

export function unexplainedIn(kinds: readonly DifferenceKind[]): readonly string[] {
  return kinds.filter(({ because }) => because === null).map(({ operation, where }) => `${operation} ${where}`);
}
