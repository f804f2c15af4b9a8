import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
import { CLI } from '../clone.js';

/** A command on a pseudo-terminal of its own. */
export interface OnTerminal {
  /** What the terminal has shown so far, without colours. */
  shown(): string;
  /** Types this, control characters among it. */
  type(keys: string): void;
  /** The exit code of the command. */
  readonly ended: Promise<number | null>;
  kill(): void;
}

export const CTRL_C = '\u0003';
/** Stops the terminal: whatever is written to it waits. */
export const CTRL_S = '\u0013';

/** The built command as words of the shell: it may stand in a path with blanks. */
export const KEYWAY = '"$NODE" "$CLI"';

/** Runs a command line of the shell on a pseudo-terminal, with script(1), in an environment without `KEYWAY_…`. */
export function startOnTerminal(command: string, folder: string): OnTerminal {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYWAY_')));
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: folder,
    env: { ...env, NODE: process.execPath, CLI },
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  child.stdin.on('error', () => undefined);
  return {
    shown: () => stripVTControlCharacters(shown),
    type: (keys) => void child.stdin.write(keys),
    ended: new Promise((resolve) => child.on('close', resolve)),
    kill: () => void child.kill('SIGKILL'),
  };
}

/** The process that holds a data folder. */
export async function holderOf(dataFolder: string): Promise<number> {
  const { pid }: { readonly pid: number } = JSON.parse(await readFile(`${dataFolder}/lock`, 'utf8'));
  return pid;
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
