import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The built command. */
export const CLI = join(ROOT, 'dist/src/cli.js');

const SOURCES = ['src', 'revisions', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];
const STAMP = join(ROOT, 'dist/.built');
const LOCK = join(ROOT, 'dist/.building');
const run = promisify(execFile);

/**
 * Builds `dist/` when it is missing or older than the sources. Test files that run at once wait for each other. A build
 * that fails is an error with the compiler's words.
 */
export function buildIfOlder(): Promise<void> {
  return buildAlone(async () => {
    const newest = await newestOf(SOURCES);
    const built = existsSync(STAMP) ? (await stat(STAMP)).mtimeMs : 0;
    if (built > newest && existsSync(CLI)) return;
    await build();
    await writeFile(STAMP, '');
  });
}

/** Runs while no other test file builds anything into `dist/`. */
export async function buildAlone(act: () => Promise<void>): Promise<void> {
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  while (!(await takeLock())) await pause(100);
  try {
    await act();
  } finally {
    await rm(LOCK, { force: true });
  }
}

/** When the newest of these files and folders was changed, in milliseconds since the epoch. */
export async function newestOf(paths: readonly string[]): Promise<number> {
  return Math.max(...(await Promise.all(paths.map((path) => newestIn(join(ROOT, path))))));
}

async function build(): Promise<void> {
  try {
    await run('npm', ['run', '--silent', 'build'], { cwd: ROOT });
  } catch (error) {
    const words = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    throw new Error(`npm run build failed:\n${words}`, { cause: error });
  }
}

/** The lock holds the id of its process, so that one left behind by a killed run does not last. */
async function takeLock(): Promise<boolean> {
  try {
    await writeFile(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const owner = Number(await readFile(LOCK, 'utf8').catch(() => '0'));
    if (owner > 0 && !isAlive(owner)) await rm(LOCK, { force: true });
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function newestIn(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const names = await readdir(path);
  return Math.max(found.mtimeMs, ...(await Promise.all(names.map((name) => newestIn(join(path, name))))));
}
