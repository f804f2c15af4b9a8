import { exec } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CLI, PANEL, ROOT } from './clone.js';

const BUNDLING = 'scripts/finish-build.mjs';
const SOURCES = ['src', 'revisions', 'bench', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];
const PANEL_SOURCES = ['panel', 'src/text', 'vite.config.ts'];
/** `npm run build` writes it when everything is there. */
const STAMP = join(ROOT, 'dist/.built');
const LOCK = join(ROOT, 'dist/.building');

/** Builds the command when it is missing or older than its sources. A build that fails is an error with its words. */
export function buildIfOlder(): Promise<void> {
  return bringUpToDate(SOURCES, [STAMP, CLI], ['tsc -p tsconfig.build.json', `node ${BUNDLING}`]);
}

/** The same for the panel, which a gateway reads once: to be called before there is any. */
export function buildPanelIfOlder(): Promise<void> {
  return bringUpToDate(PANEL_SOURCES, [join(PANEL, 'index.html')], ['vite build']);
}

/** Two runs in one clone build one after the other. What is up to date is only read: it may belong to another user. */
async function bringUpToDate(
  sources: readonly string[],
  results: readonly string[],
  commands: readonly string[],
): Promise<void> {
  const isUpToDate = async () => {
    const [newest, times] = await Promise.all([newestOf(sources), Promise.all(results.map(timeOf))]);
    return times.every((time) => time !== null) && (times[0] ?? 0) > newest;
  };
  if (await isUpToDate()) return;
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  while (!(await takeLock())) await pause(100);
  try {
    if (!(await isUpToDate())) for (const command of commands) await runHere(command);
  } finally {
    await rm(LOCK, { force: true });
  }
}

/** With the programs of this clone's dependencies before others. */
async function runHere(command: string): Promise<void> {
  const env = { ...process.env, PATH: [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter) };
  try {
    await promisify(exec)(command, { cwd: ROOT, env });
  } catch (error) {
    const words = error instanceof Error && 'stdout' in error ? `${error.stdout}${error.message}` : String(error);
    throw new Error(`${command} failed:\n${words}`, { cause: error });
  }
}

/** When the newest of these files and folders was changed, in milliseconds since the epoch. */
async function newestOf(paths: readonly string[]): Promise<number> {
  return Math.max(...(await Promise.all(paths.map((path) => newestIn(join(ROOT, path))))));
}

async function newestIn(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const names = await readdir(path);
  return Math.max(found.mtimeMs, ...(await Promise.all(names.map((name) => newestIn(join(path, name))))));
}

async function timeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );
}

/** The lock holds the id of its process, so that one left behind by a killed run does not last. */
async function takeLock(): Promise<boolean> {
  try {
    await writeFile(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const owner = Number(await readFile(LOCK, 'utf8').catch(() => '0'));
    if (owner > 0 && !isAlive(owner)) await removeLockOf(owner);
    return false;
  }
}

/** Moved away first: of several that find it left behind, one removes it, and nobody the lock that comes after it. */
async function removeLockOf(owner: number): Promise<void> {
  const moved = `${LOCK}-${process.pid}`;
  try {
    await rename(LOCK, moved);
  } catch {
    return;
  }
  if ((await readFile(moved, 'utf8')) === String(owner)) await rm(moved);
  else await rename(moved, LOCK);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user may not be told anything, but it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
