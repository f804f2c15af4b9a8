import { readFile, readlink } from 'node:fs/promises';
import { getPriority } from 'node:os';

/** A running process, told apart from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Its start, in words of the system that only compare for equality; empty where the system does not tell. */
  readonly started: string;
}

/** A process that was looked up. */
export interface FoundProcess extends ProcessIdentity {
  /** It was stopped by a signal, as by Ctrl-Z; default false. */
  readonly isSuspended?: boolean;
}

/** Knowledge of processes for the lock of the data folder. */
export interface ProcessesPort {
  /** This process; null where the system does not tell. */
  own(): Promise<ProcessIdentity | null>;
  /** The process that has this number now; null when there is none. */
  find(pid: number): Promise<FoundProcess | null>;
  /** The same text as long as the system runs, and another after the next boot; empty where the system does not tell. */
  boot(): Promise<string>;
}

/** The processes as `/proc` tells them, which Linux alone has. */
export function createProcesses(): ProcessesPort {
  return {
    own: thisProcess,
    find: async (other) => (isAlive(other) ? lookUp(other) : null),
    boot: thisBoot,
  };
}

let known: Promise<ProcessIdentity | null> | null = null;

/** It stays the same as long as there is somebody to ask, so that the system is asked once. */
function thisProcess(): Promise<ProcessIdentity | null> {
  known ??= ownPid().then((number) => (number === null ? null : identityOf(number)));
  return known;
}

async function identityOf(pid: number): Promise<ProcessIdentity> {
  const { started } = await lookUp(pid);
  return { pid, started };
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
    // ESRCH says that there is none; anything else (EPERM, a system without priorities) says nothing: take it as alive.
    const info = error instanceof Error && 'info' in error ? error.info : null;
    return !(typeof info === 'object' && info !== null && 'code' in info && info.code === 'ESRCH');
  }
}

/** The system's boot and, from proc_pid_stat(5), the start time in clock ticks since then, and the state. */
async function lookUp(pid: number): Promise<FoundProcess> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const boot = await thisBoot();
  // The second field is the command in parentheses and may hold anything; the state is the 3rd, the start time the 22nd field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const started = fields[19] ?? '';
  return { pid, started: started === '' ? '' : `${boot} ${started}`, isSuspended: fields[0] === 'T' };
}

let boot: Promise<string> | null = null;

function thisBoot(): Promise<string> {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'latin1').then(
    (id) => id.trim(),
    () => '',
  );
  return boot;
}
