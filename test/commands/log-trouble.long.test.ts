import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { copyFile, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { CLI, ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { freePorts } from '../free-ports.js';
import { realSmallDisk } from '../homes/file/counters/small-disk.js';
import { isInstalled } from '../installed.js';
import { type Exposition, parseExposition } from '../ops/exposition.js';
import { CTRL_S, holderOf, isRunning, KEYWAY, startOnTerminal } from './terminal.js';

beforeAll(buildIfOlder, 300_000);

const hasScript = isInstalled('script', 'a terminal that is stopped');
const run = promisify(execFile);
/** What a stop may take, in milliseconds, and what this machine may need beside it. */
const GRACE = 10_000;
const SLACK = 10_000;

async function temporaryFolder(): Promise<string> {
  const folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  return folder;
}

/** A gateway on ports that are known without its log. */
interface Place {
  readonly argv: readonly string[];
  /** So many requests, each of which must be answered. */
  ask(count: number): Promise<void>;
  metrics(): Promise<Exposition>;
  listening(): Promise<void>;
}

async function place(): Promise<Place> {
  const [api, ops] = await freePorts(2);
  const binds = ['--bind', `127.0.0.1:${api}`, '--ops-bind', `127.0.0.1:${ops}`];
  const one = async () => {
    const response = await fetch(`http://127.0.0.1:${api}/panel/api/users/guest-2026`, {
      headers: { authorization: 'Bearer sample-static-token' },
      signal: AbortSignal.timeout(30_000),
    });
    await response.arrayBuffer();
    return response.status;
  };
  return {
    argv: ['serve', '--config', 'server.jsonc', '--no-resolver', ...binds, '--log-requests'],
    async ask(count) {
      const statuses = new Set<number>();
      for (let left = count; left > 0; left -= 20) {
        const batch = Array.from({ length: Math.min(20, left) }, one);
        for (const status of await Promise.all(batch)) statuses.add(status);
      }
      expect([...statuses]).toEqual([200]);
    },
    metrics: async () => parseExposition(await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text()),
    async listening() {
      const isReady = async () => (await fetch(`http://127.0.0.1:${ops}/readyz`).catch(() => null))?.ok === true;
      await expect.poll(isReady).toBe(true);
    },
  };
}

async function start(argv: readonly string[], folder: string, stdio: StdioOptions): Promise<ChildProcess> {
  const child = spawn(process.execPath, [CLI, ...argv], { cwd: folder, stdio });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Ends it with SIGTERM; resolves to its exit code and the milliseconds that it took. */
async function stop(child: ChildProcess): Promise<{ readonly code: unknown; readonly took: number }> {
  const began = performance.now();
  const ended = child.exitCode === null ? once(child, 'exit') : Promise.resolve([child.exitCode]);
  child.kill('SIGTERM');
  const [code] = await ended;
  return { code, took: performance.now() - began };
}

const lostLines = async (at: Place) => (await at.metrics()).value('keyway_log_lines_lost_total') ?? -1;

describe('a gateway whose log', () => {
  it('is on a full disk answers everything, counts what it loses, and says so when there is room again', async (test) => {
    const disk = await realSmallDisk();
    if (typeof disk === 'string') {
      process.stdout.write(`skipped where no small disk can be mounted: ${disk}\n`);
      test.skip(disk);
      return;
    }
    const folder = await temporaryFolder();
    const at = await place();
    const file = await open(join(disk.folder, 'log'), 'a');
    const child = await start(at.argv, folder, ['ignore', file.fd, 'inherit']);
    await at.listening();
    await at.ask(20);
    expect(await lostLines(at)).toBe(0);
    await disk.fill();
    await at.ask(400);
    await expect.poll(() => lostLines(at)).toBeGreaterThan(200);
    await disk.free();
    const text = () => readFile(join(disk.folder, 'log'), 'utf8');
    await expect.poll(text).toContain('the log goes on');
    await at.ask(20);
    const lost = await lostLines(at);
    expect(await stop(child)).toMatchObject({ code: 0 });
    await file.close();
    const records = (await text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(records.at(-1)).toMatchObject({ msg: 'stopped' });
    const told = records.filter(({ msg }) => msg.startsWith('the log goes on'));
    expect(told.reduce((sum, record) => sum + record.lost, 0)).toBe(lost);
    expect(told[0].msg).toBe(
      `the log goes on; lines lost before this one: ${told[0].lost}; the reason: No space left on device (ENOSPC)`,
    );
    expect(records.filter(({ msg }) => msg === 'request')).toHaveLength(440 - lost);
  });

  it('is read by nobody any more answers everything, counts what it loses, and ends cleanly', async () => {
    const folder = await temporaryFolder();
    const at = await place();
    const child = await start(at.argv, folder, ['ignore', 'pipe', 'inherit']);
    await at.listening();
    child.stdout?.destroy();
    await at.ask(100);
    await expect.poll(() => lostLines(at)).toBeGreaterThan(50);
    const { code, took } = await stop(child);
    expect(code).toBe(0);
    expect(took).toBeLessThan(GRACE + SLACK);
  });

  it.each([
    'a pipe',
    'a socket',
  ] as const)('goes to %s whose reader hangs answers everything, and ends within its grace', async (kind) => {
    const folder = await temporaryFolder();
    const at = await place();
    const fifo = kind === 'a pipe' ? await hangingPipe(folder) : null;
    const child = await start(at.argv, folder, ['ignore', fifo ?? 'pipe', 'inherit']);
    // Node's own pipes to a child are sockets; one that is not read takes some hundred kilobytes.
    child.stdout?.pause();
    await at.listening();
    await at.ask(fifo === null ? 2_500 : 100);
    expect(await lostLines(at)).toBe(0);
    const { code, took } = await stop(child);
    expect(code).toBe(0);
    expect(took).toBeLessThan(GRACE + SLACK);
    child.stdout?.destroy();
  });

  it.runIf(hasScript)('is on a terminal that is stopped answers everything, and ends within its grace', async () => {
    const folder = await temporaryFolder();
    const at = await place();
    const terminal = startOnTerminal(`exec ${KEYWAY} ${at.argv.join(' ')}`, folder);
    onTestFinished(() => terminal.kill());
    await at.listening();
    const pid = await holderOf(join(folder, 'server.jsonc.keyway'));
    onTestFinished(() => void (isRunning(pid) && process.kill(pid, 'SIGKILL')));
    await expect.poll(terminal.shown).toContain('listening on');
    terminal.type(CTRL_S);
    // What is typed is echoed by nobody: lines stop some time after.
    await expect.poll(() => isQuiet(at, terminal.shown)).toBe(true);
    await at.ask(200);
    const began = performance.now();
    process.kill(pid, 'SIGTERM');
    await expect.poll(() => isRunning(pid), { timeout: GRACE + SLACK }).toBe(false);
    expect(performance.now() - began).toBeLessThan(GRACE + SLACK);
    expect(await terminal.ended).toBe(0);
  });
});

/** A named pipe that is full and open for reading; resolves to what writes into it. */
async function hangingPipe(folder: string): Promise<number> {
  const path = join(folder, 'pipe');
  await run('mkfifo', [path]);
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const filling = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    while (writeSync(filling, Buffer.alloc(4096)) > 0);
  } catch {
    // It is full.
  }
  const writing = openSync(path, constants.O_WRONLY);
  onTestFinished(() => {
    for (const descriptor of [reading, filling, writing]) closeSync(descriptor);
  });
  return writing;
}

/** Whether a request is answered and no line about it comes. */
async function isQuiet(at: Place, shown: () => string): Promise<boolean> {
  const before = shown();
  await at.ask(1);
  await new Promise((done) => setTimeout(done, 100));
  return shown() === before;
}

describe('a command whose output', () => {
  it('is read only in part ends quietly', async () => {
    const folder = await temporaryFolder();
    const command = `("$0" "$1" openapi --revision current; echo "ended with $?" >&2) | head -1`;
    const { stdout, stderr } = await run('sh', ['-c', command, process.execPath, CLI], { cwd: folder });
    expect([stdout, stderr]).toEqual(['{\n', 'ended with 0\n']);
  });
});
