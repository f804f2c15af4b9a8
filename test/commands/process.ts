import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { CLI } from '../clone.js';

/** What a child process left behind. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly complaints: string;
}

export interface RunOptions {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Another one than that of this clone. */
  readonly command?: string;
}

/** A started `keyway`, its output gathered. */
export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  /** The log so far, one record per line of JSON. */
  log(): readonly Readonly<Record<string, unknown>>[];
  /** The first log record that holds; fails when the process ends before. */
  logged(holds: (record: Readonly<Record<string, unknown>>) => boolean): Promise<Readonly<Record<string, unknown>>>;
  readonly ended: Promise<Ended>;
}

/** Starts the built command without a terminal, in an environment without `KEYWAY_…` but for the given ones. */
export function startKeyway(argv: readonly string[], { folder, environment = {}, command = CLI }: RunOptions): Running {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('KEYWAY_'));
  const env = { ...Object.fromEntries(inherited), ...environment };
  const child = spawn(process.execPath, [command, ...argv], { cwd: folder, env });
  let output = '';
  let complaints = '';
  let isOver = false;
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of [...listeners]) listener();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    notify();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => {
      isOver = true;
      resolve({ code, signal, output, complaints });
      notify();
    });
  });
  const log = () => linesOf(output).flatMap((line) => (line.startsWith('{') ? [recordOf(line)] : []));
  return {
    child,
    log,
    logged: (holds) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const record = log().find(holds);
          // What a process wrote last is read after its end.
          if (record === undefined && !isOver) return;
          listeners.delete(look);
          if (record === undefined) reject(new Error(`ended before it was logged:\n${output}${complaints}`));
          else resolve(record);
        };
        listeners.add(look);
        look();
      }),
    ended,
  };
}

/** Runs a command to its end with this input. */
export async function runKeyway(argv: readonly string[], options: RunOptions, input = ''): Promise<Ended> {
  const running = startKeyway(argv, options);
  running.child.stdin.on('error', () => undefined);
  running.child.stdin.end(input);
  return running.ended;
}

/** Where a started `keyway record` says that it listens. */
export function listeningAt({ child }: Running): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const [, url] = /use (\S+) instead/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}

/** The whole lines of a text. */
function linesOf(text: string): readonly string[] {
  return text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
}

function recordOf(line: string): Readonly<Record<string, unknown>> {
  const record: unknown = JSON.parse(line);
  return typeof record === 'object' && record !== null ? { ...record } : {};
}
