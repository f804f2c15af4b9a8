import { readFile, readlink } from 'node:fs/promises';
import { getPriority } from 'node:os';

/** A running process, told apart from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Its start, as a text of the system for comparison only; empty if the system does not provide it. */
  readonly started: string;
}

/** Tells processes apart, for the lock of the data folder. */
export interface ProcessesPort {
  /** Resolves to this process; null if the system does not provide it. */
  own(): Promise<ProcessIdentity | null>;
  /** Resolves to the process with this number; null if there is none. */
  find(pid: number): Promise<ProcessIdentity | null>;
  /** Resolves to a text that stays the same until the next boot; empty if the system does not provide it. */
  boot(): Promise<string>;
}

/** Reads processes from `/proc`, which only Linux has. */
export function createProcesses(): ProcessesPort {
  return {
    own: thisProcess,
    find: async (other) => (isAlive(other) ? lookUp(other) : null),
    boot: thisBoot,
  };
}

let known: Promise<ProcessIdentity | null> | null = null;

/** Returns this process's identity, which never changes, so the system is asked once. */
function thisProcess(): Promise<ProcessIdentity | null> {
  known ??= ownPid().then((number) => (number === null ? null : lookUp(number)));
  return known;
}

async function ownPid(): Promise<number | null> {
  const number = Number(await readlink('/proc/self').catch(() => ''));
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}

function isAlive(pid: number): boolean {
  try {
    getPriority(pid);
    return true;
  } catch (error) {
    // ESRCH says that there is no such process; any other error (EPERM, a system without priorities) says nothing, so
    // it counts as alive.
    const info = error instanceof Error && 'info' in error ? error.info : null;
    return !(typeof info === 'object' && info !== null && 'code' in info && info.code === 'ESRCH');
  }
}

/** Reads the system's boot and, from proc_pid_stat(5), the start time in clock ticks since then. */
async function lookUp(pid: number): Promise<ProcessIdentity> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const boot = await thisBoot();
  // The second field is the command in parentheses and may hold anything; the start time is the 22nd field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const started = fields[19] ?? '';
  return { pid, started: started === '' ? '' : `${boot} ${started}` };
}

let boot: Promise<string> | null = null;

function thisBoot(): Promise<string> {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'latin1').then(
    (id) => id.trim(),
    () => '',
  );
  return boot;
}
