import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Where servers and the load run, so that neither takes the other's time. */
export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

/** Whether processes can be kept to a core here. */
export const canPin =
  availableParallelism() > 1 && ['/usr/bin/taskset', '/bin/taskset'].some((path) => existsSync(path));

/** A Node process that runs a script of this package. */
export interface Child {
  readonly pid: number;
  /** Sends a message and waits for the answer; one at a time. Rejects when the process ends instead. */
  ask(question: object): Promise<unknown>;
  /** The next message, without a question. */
  hear(): Promise<unknown>;
  /** Rejects when the process ends, with what it wrote to its error output. */
  readonly ended: Promise<never>;
  /** Ends it cleanly; it is killed when it has not ended after 20 s. */
  stop(): Promise<void>;
}

const STOP_MS = 20_000;

/** Starts `node script …args` on a core, or wherever there is room. With `talks` false it is a program that knows nothing of messages. */
export function startChild(script: URL, args: readonly string[], core: number | null, talks = true): Child {
  const command = [process.execPath, fileURLToPath(script), ...args];
  const [program = '', ...rest] = canPin && core !== null ? ['taskset', '-c', String(core), ...command] : command;
  const child = spawn(program, rest, {
    stdio: ['ignore', 'ignore', 'pipe', ...(talks ? (['ipc'] as const) : [])],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const ended = untilEnded(child, script);
  ended.catch(() => undefined); // Only those who wait for it are told.
  const hear = () => Promise.race([new Promise<unknown>((resolve) => child.once('message', resolve)), ended]);
  return {
    pid: child.pid ?? 0,
    ended,
    hear,
    ask(question) {
      const answer = hear();
      child.send(question);
      return answer;
    },
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended.catch(() => undefined);
      clearTimeout(timer);
    },
  };
}

function untilEnded(child: ChildProcess, script: URL): Promise<never> {
  let complaint = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk}`.slice(-4000);
  });
  return new Promise((_resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      reject(new Error(`${fileURLToPath(script)} has ended (${signal ?? code}): ${complaint}`));
    });
  });
}
