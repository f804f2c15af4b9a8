import { readFileSync } from 'node:fs';

/** What `/proc` counts processor time in (Linux: USER_HZ), per second. */
const TICKS = 100;

/** Processor time of a process in seconds, its own and the kernel's for it (proc_pid_stat(5)). */
export function processorSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Resident memory in bytes, now or at its highest (proc_pid_status(5)). */
export function residentBytes(pid: number, when: 'now' | 'highest'): number {
  const name = when === 'now' ? 'VmRSS' : 'VmHWM';
  const [, kibibytes] =
    new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status has no ${name}`);
  return Number(kibibytes) * 1024;
}
