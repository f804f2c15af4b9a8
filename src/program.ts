import { executionAsyncResource } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { askLine, askSecret } from './commands/ask.js';
import type { Input, Output, UncaughtListener, World } from './commands/command.js';
import { runCommandLine } from './commands/dispatch.js';
import { linesWithProgress, type ProgressTerminal } from './commands/progress-line.js';
import { createStopSteps } from './commands/stop-signals.js';
import { createFileSystem } from './platform/file-system.js';
import { createServiceManager } from './platform/service-manager.js';
import { ownAddresses, systemClock, systemRandom } from './platform/system-ports.js';
import { findUser } from './platform/system-user.js';
import { connectionToBlame } from './sockets/connection-to-blame.js';
import { isJsonObject, parseJson } from './wire/json/json.js';

/** The exit code that a shell reports of a process that a signal ended, less the signal's number. */
const ENDED_BY_SIGNAL = 128;
const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

function ownVersion(): string {
  const manifest = parseJson(readFileSync(new URL('../../package.json', import.meta.url)));
  const version = isJsonObject(manifest) ? manifest.version : null;
  return typeof version === 'string' ? version : 'unknown';
}

/** The commit that was built; empty where the build knew none. */
function ownCommit(): string {
  return readFileSync(new URL('../commit.txt', import.meta.url), 'utf8').trim();
}

/** Only where both are one: what is redirected or read by another program stays free of it. */
const terminal: ProgressTerminal | null =
  process.stdout.isTTY === true && process.stderr.isTTY === true
    ? { write: (text) => process.stderr.write(text), columns: () => process.stderr.columns || 80 }
    : null;

const { line, complain, progress } = linesWithProgress(
  {
    line: (text) => process.stdout.write(`${text}\n`),
    complain: (text) => process.stderr.write(`${text}\n`),
  },
  terminal,
);

const output: Output = { isTerminal: process.stdout.isTTY === true, descriptor: process.stdout.fd, line };

const input: Input = {
  isTerminal: process.stdin.isTTY === true,
  pieces: async function* () {
    for await (const chunk of process.stdin) yield Buffer.from(chunk);
  },
  ask: (question, problemWith) => askLine(process.stdin, process.stderr, question, problemWith),
  askSecret: (question) => askSecret(process.stdin, process.stderr, question),
};

/** The first signal asks for a clean end; a later one ends at once. */
function untilStopped(): Promise<string> {
  return new Promise((resolve) => {
    const next = createStopSteps(systemClock);
    for (const [signal, number] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        const step = next();
        if (step === 'begin') resolve(signal);
        else if (step === 'at once') process.exit(ENDED_BY_SIGNAL + number);
      });
    }
  });
}

/** Once somebody listens, SIGHUP no longer ends the process. */
function onHangUp(listener: () => void): void {
  process.on('SIGHUP', listener);
}

/** Milliseconds that a clean end may take once nobody knows any more what works. */
const BROKEN_END = 30_000;

/** Once somebody listens, an exception that nobody caught no longer ends the process by itself. */
function onUncaught(listener: UncaughtListener): void {
  // Node hands over rejections that nobody handles here as well: of these nobody knows where they rose.
  process.on('uncaughtException', (error, origin) => {
    const connection = origin === 'uncaughtException' ? connectionToBlame(error) : null;
    if (connection === null) setTimeout(() => process.exit(1), BROKEN_END).unref();
    listener(error, connection);
  });
}

/**
 * Left alone, V8's young generation grows to 48 MB under the first burst of requests and stays there, on servers that are
 * rented by the gigabyte.
 */
function keepMemorySmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

const context: World = {
  environment: process.env,
  folder: process.cwd(),
  version: ownVersion(),
  ownCommit,
  output,
  complain,
  progress,
  input,
  fileSystem: createFileSystem(),
  clock: systemClock,
  random: systemRandom,
  serviceManager: createServiceManager(process.env, process.pid),
  ownAddresses,
  findUser,
  program: [process.execPath, fileURLToPath(new URL('cli.js', import.meta.url))],
  untilStopped,
  wait: (milliseconds) => sleep(milliseconds),
  onHangUp,
  onUncaught,
  keepMemorySmall,
};

// If garbage is collected while no callback of `nextTick` waits, V8 forgets the shape of the objects that stand for them and
// makes each later one by a slow path, which costs a small request half as much again: so one of them is kept.
const kept: object[] = [];
process.nextTick(() => kept.push(executionAsyncResource()));

// A reader of the output may stop early (`keyway revisions | head -1`): no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const code = await runCommandLine(process.argv.slice(2), context);
progress.clear();
// Not left to the event loop: a terminal that was read from keeps it alive. The output goes out first.
process.stdout.write('', () => process.exit(code));
