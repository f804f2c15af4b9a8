import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { compileForProcess } from '../compiled.js';
import type { StandInOptions } from './stand-in.js';

/** What a stand-in's own process can be told. */
export type ProcessOptions = Pick<StandInOptions, 'line' | 'file' | 'port' | 'reloadFactor' | 'seed'> & {
  readonly pauseMilliseconds?: number;
};

export interface StandInProcess {
  readonly origin: string;
  readonly child: ChildProcess;
  /** Ends it at once (SIGKILL), whatever it was doing. */
  kill(): Promise<void>;
}

/** Compiles the stand-in for its processes below this folder; resolves to the script. */
export const compileStandIn = (folder: string): Promise<string> =>
  compileForProcess('test/stand-in/process.ts', folder);

/** Starts a stand-in in a process of its own; rejects with what it complained of when it does not start. */
export async function startStandInProcess(script: string, options: ProcessOptions): Promise<StandInProcess> {
  const { line, file, port = 0, reloadFactor = 1, seed = 1, pauseMilliseconds = 0 } = options;
  const numbers = { port, 'reload-factor': reloadFactor, seed, pause: pauseMilliseconds };
  const flags = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const argv = [script, '--line', line, '--file', file, ...flags];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const closed = once(child, 'close');
  const first = once(createInterface({ input: child.stdout }), 'line');
  const origin = await Promise.race([first.then(([text]) => String(text)), closed.then(() => null)]);
  if (origin === null)
    throw new Error(`the stand-in did not start, and ended with ${child.exitCode ?? child.signalCode}: ${complaints}`);
  return {
    origin,
    child,
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
