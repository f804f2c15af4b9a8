import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { CLI } from '../clone.js';
import { MISDEEDS, type Misdeed, startHostileServer, wholeAnswer } from '../stand-in/hostile-server.js';

beforeAll(buildIfOlder, 300_000);

const { SOAK_HOSTILE_MINUTES: minutes } = process.env;
const seconds = minutes === undefined ? 3 : Number(minutes) * 60;
/** Bytes of resident memory. */
const MOST_MEMORY = 400 * 1024 * 1024;
/** Milliseconds: 15 s for one byte a second, with one list before it. */
const LATEST_ANSWER = 35_000;
const TOKEN = 'token-of-the-upstream';

const isLinux = platform() === 'linux';
if (!isLinux) process.stdout.write('skipped but on Linux: the memory of another process cannot be read elsewhere\n');

const snapshot = {
  ...{ access_key: 'a', name: TOKEN, bytes_up: 0, bytes_down: 0, connections: 0, limit_bytes: null, online: false },
};
const ok = (data: unknown): Misdeed => wholeAnswer(JSON.stringify({ ok: true, data }));

/** Well for its status, and for everything in the phase `good`; the phases take turns. */
function misdeedsOf(phase: () => string) {
  return (head: string): Misdeed => {
    const [method = '', path = ''] = head.split(' ');
    const uptime = Math.floor(performance.now() / 1000);
    if (path.endsWith('/server/status'))
      return ok({ version: '0.2.96', uptime_seconds: uptime, active_users: 0, total_users: 1 });
    switch (phase()) {
      case 'switches':
        return MISDEEDS.switches;
      case 'drips':
        return MISDEEDS.drips();
      case 'endless':
        return MISDEEDS.endless;
      case 'resets':
        return MISDEEDS.resets;
      case 'echoes':
        return wholeAnswer(JSON.stringify({ ok: false, error: head }));
    }
    if (method !== 'GET') return ok('done');
    if (path.endsWith('/users')) return ok([snapshot]);
    const [, accessKey] = /\/users\/(\w+)$/.exec(path) ?? [];
    return accessKey === undefined ? ok({ mode: 'server' }) : ok({ ...snapshot, access_key: accessKey });
  };
}

interface Running {
  readonly child: ChildProcess;
  readonly api: string;
  readonly ops: string;
  readonly log: string[];
}

async function startKeyway(upstream: string, folder: string): Promise<Running> {
  const argv = ['serve', '--upstream', upstream, '--revision', '0.2.96', '--bind', '127.0.0.1:0'];
  const child = spawn(
    process.execPath,
    [CLI, ...argv, '--ops-bind', '127.0.0.1:0', '--data-dir', join(folder, 'data')],
    { cwd: folder, env: { ...process.env, KEYWAY_UPSTREAM_TOKEN: TOKEN }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const log: string[] = [];
  child.stderr?.on('data', (bytes: Buffer) => log.push(bytes.toString()));
  const lines = createInterface({ input: child.stdout ?? expect.fail() });
  let ops = '';
  const api = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      log.push(line);
      const said: { url?: string; ops?: string } = JSON.parse(line);
      ops = said.ops ?? ops;
      if (said.url !== undefined) resolve(said.url);
    });
    child.once('exit', () => reject(new Error(log.join('\n'))));
  });
  return { child, api, ops, log };
}

async function residentMost(pid: number | undefined): Promise<number> {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

const QUICK = ['good', 'switches', 'good', 'endless', 'good', 'resets', 'good', 'echoes'];
/** One byte a second takes its real time. */
const PHASES = minutes === undefined ? QUICK : [...QUICK, 'good', 'drips'];

it.runIf(isLinux)(
  `for ${seconds} s in front of a server that answers 101, byte by byte, without an end, with what it was sent or not at all, every request is answered, and Keyway ends when it is asked to`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-hostile-upstream-'));
    let phase = 'good';
    const hostile = await startHostileServer(misdeedsOf(() => phase));
    const { child, api, ops, log } = await startKeyway(`${hostile.origin}/panel`, folder);
    const exited = once(child, 'exit');
    try {
      const odd: string[] = [];
      const counts: Record<string, number> = {};
      const ask = async (method: string, path: string, origin = `${api}/panel/api`) => {
        const asked = phase;
        const began = performance.now();
        const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
        const body = method === 'POST' ? '{"access_key":"b"}' : null;
        const answer = await fetch(origin + path, { method, headers, body });
        const text = await answer.text();
        const took = performance.now() - began;
        const what = `${asked} ${method} ${path}: ${answer.status} after ${Math.round(took)} ms: ${text.slice(0, 200)}`;
        const mayFail = asked !== 'good' || phase !== 'good';
        counts[`${asked} ${answer.status}`] = (counts[`${asked} ${answer.status}`] ?? 0) + 1;
        if (text.includes(TOKEN) || took > LATEST_ANSWER) odd.push(what);
        if (answer.status !== 200 && !(mayFail && [400, 502, 504].includes(answer.status))) odd.push(what);
        return answer.status;
      };
      const end = performance.now() + seconds * 1000;
      for (let turn = 0; performance.now() < end; turn += 1) {
        phase = PHASES[turn % PHASES.length] ?? 'good';
        // What failed is asked for again after some time; the operator's traffic is held to the good answers after that.
        if (phase === 'good')
          await expect.poll(() => ask('GET', '/users/a').catch(() => 0), { timeout: 60_000 }).toBe(200);
        await Promise.all([ask('GET', '/users/a'), ask('POST', '/users'), ask('GET', '/server/status')]);
        if (phase !== 'good') await Promise.all([ask('GET', '/users'), sleep(100)]);
        const health = await fetch(`${ops}/healthz`);
        const told = await health.text();
        if (health.status !== 200 || told.includes(TOKEN)) odd.push(`health: ${health.status} ${told}`);
      }
      const memory = await residentMost(child.pid);
      process.stdout.write(`hostile upstream: ${JSON.stringify(counts)}, most ${Math.round(memory / 2 ** 20)} MiB\n`);
      expect(odd.slice(0, 20)).toEqual([]);
      expect(child.exitCode).toBeNull();
      expect(memory).toBeLessThanOrEqual(MOST_MEMORY);
      phase = 'switches';
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
      expect(log.join('\n')).not.toContain(TOKEN);
    } finally {
      child.kill('SIGKILL');
      await hostile.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
  seconds * 1000 + 180_000,
);
