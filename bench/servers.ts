import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, SERVER_CORE, startChild } from './child.js';
import { TOKEN } from './sample-keys.js';

/** A server under measurement, in a process of its own on the servers' core. */
export interface BenchServer {
  readonly port: number;
  readonly child: Child;
}

const POLL_MS = 10;
const START_LIMIT_MS = 60_000;
/** After its start `collecting-cli.ts` has collected by then. */
const COLLECTED_MS = 3_000;

const script = (name: string) => new URL(name, import.meta.url);

/** Comparison (a). */
export const startBare = (): Promise<BenchServer> => startTalking('./bare-fastify.js', []);
/** Comparison (b) over this file. */
export const startNaive = (path: string): Promise<BenchServer> => startTalking('./naive-server.js', [path]);
/** The gateway with counters, which can be changed; over this file. */
export const startEmbedded = (path: string): Promise<BenchServer> => startTalking('./gateway-server.js', [path]);

/** The running server of the measures in front of one, with so many keys; a list costs it what it costs, or so many milliseconds. */
export const startUpstream = (keys: number, core?: number, cost = 0): Promise<BenchServer> =>
  startTalking('./upstream-server.js', [String(keys), String(cost)], core);

async function startTalking(
  name: string,
  args: readonly string[],
  core: number | null = SERVER_CORE,
): Promise<BenchServer> {
  const child = startChild(script(name), args, core);
  const ready = await child.hear();
  if (typeof ready !== 'object' || ready === null || !('port' in ready)) throw new Error(`${name} has not begun well`);
  return { port: Number(ready.port), child };
}

/** Starts `keyway serve` as it is built, without a request log; also says how long the first answer took, in milliseconds. */
export async function startCommand(
  path: string,
  flags: readonly string[] = [],
): Promise<BenchServer & { readonly firstAnswer: number }> {
  return startServing(['--config', path, ...flags]);
}

/** The same, with its garbage collected before anybody has asked for much. */
export async function startCollected(path: string): Promise<BenchServer> {
  const server = await startServing(['--config', path], SERVER_CORE, './collecting-cli.js');
  await sleep(COLLECTED_MS);
  return server;
}

/** Starts `keyway serve` in front of the server at this port, with a data folder of its own. */
export async function startFront(upstreamPort: number): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-bench-front-'));
  const upstream = ['--upstream', `http://127.0.0.1:${upstreamPort}/panel`, '--data-dir', folder];
  const { port, child } = await startServing([...upstream, '--token', TOKEN]);
  const stop = async () => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { port, child: { ...child, stop } };
}

/** The same over a database; where several share the machine with it, none has a core of its own. */
export async function startOverDatabase(
  url: string,
  flags: readonly string[] = [],
  core: number | null = SERVER_CORE,
): Promise<BenchServer & { readonly firstAnswer: number }> {
  return startServing(['--database', url, ...flags], core);
}

async function startServing(
  flags: readonly string[],
  core: number | null = SERVER_CORE,
  program = '../src/cli.js',
): Promise<BenchServer & { readonly firstAnswer: number }> {
  const port = await freePort();
  const began = performance.now();
  const args = ['serve', '--bind', `127.0.0.1:${port}`, '--log-level', 'warn', ...flags];
  const child = startChild(script(program), args, core, false);
  await Promise.race([untilAnswering(port), child.ended]);
  return { port, child, firstAnswer: performance.now() - began };
}

async function untilAnswering(port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/panel/api/server/status`;
  const headers = { authorization: `Bearer ${TOKEN}` };
  for (const limit = performance.now() + START_LIMIT_MS; performance.now() < limit; await sleep(POLL_MS)) {
    const answer = await fetch(url, { headers }).catch(() => null); // Nobody listens yet.
    if (answer === null) continue;
    const text = await answer.text();
    if (answer.status === 200) return;
    throw new Error(`the gateway answers its first request with ${answer.status}: ${text}`);
  }
  throw new Error(`the gateway does not answer within ${START_LIMIT_MS / 1000} s`);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no free port');
  return address.port;
}
