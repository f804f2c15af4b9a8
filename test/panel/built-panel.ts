import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const PANEL = join(ROOT, 'dist/panel');

const LOCK = join(ROOT, 'dist/.building-panel');
const SOURCES = ['src/panel', 'vite.config.ts'];

/** Builds the panel when it is missing or older than its sources; test files that run at once wait for each other. */
export async function buildPanelIfOlder(): Promise<void> {
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  const end = Date.now() + 60_000;
  while (!(await takeLock())) {
    if (Date.now() > end) await rm(LOCK, { recursive: true, force: true });
    await pause(100);
  }
  try {
    const index = join(PANEL, 'index.html');
    const newest = Math.max(...SOURCES.map((path) => newestIn(join(ROOT, path))));
    if (existsSync(index) && statSync(index).mtimeMs > newest) return;
    // A process of its own: within the tests' the build would take itself for a development one.
    const env = { ...process.env, NODE_ENV: 'production' };
    await promisify(execFile)('npx', ['vite', 'build'], { cwd: ROOT, env });
  } finally {
    await rm(LOCK, { recursive: true, force: true });
  }
}

async function takeLock(): Promise<boolean> {
  try {
    await mkdir(LOCK);
    return true;
  } catch {
    return false;
  }
}

function newestIn(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestIn(join(path, name))));
}
