import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';

export const run = promisify(execFile);

/** The package, installed where nothing else stands. */
export interface InstalledPackage {
  readonly place: string;
  readonly tarball: string;
  /** Why the dependencies are this clone's own; null when npm installed them. */
  readonly withoutNetwork: string | null;
  /** What npm wrote on standard error while it installed. */
  readonly complaints: string;
  remove(): Promise<void>;
}

/** Packs this clone, and installs what was packed in a new folder. */
export async function installPackage(): Promise<InstalledPackage> {
  await buildIfOlder();
  const folder = await mkdtemp(join(tmpdir(), 'keyway-package-'));
  const place = join(folder, 'empty');
  await mkdir(place);
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '');
  const remove = () => rm(folder, { recursive: true, force: true });
  return { place, tarball, ...(await install(place, tarball)), remove };
}

/** What npm says when the registry is out of reach and its cache has not everything. */
const OUT_OF_REACH = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b/;

async function install(place: string, tarball: string) {
  const flags = ['--engine-strict', '--prefix', place, '--no-audit', '--no-fund'];
  const cached = ['--prefer-offline', '--fetch-retries', '0'];
  try {
    const { stderr } = await run('npm', ['install', ...flags, ...cached, tarball], { cwd: place });
    return { complaints: stderr, withoutNetwork: null };
  } catch (error) {
    const words = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    const [reason] = OUT_OF_REACH.exec(words) ?? [];
    if (reason === undefined) throw error;
    const withoutNetwork = `npm cannot install here (${reason})`;
    process.stderr.write(`${withoutNetwork}: its tarball is tested with the dependencies of this clone\n`);
    await installFromClone(place, tarball);
    return { complaints: '', withoutNetwork };
  }
}

async function installFromClone(place: string, tarball: string): Promise<void> {
  const modules = join(place, 'node_modules');
  await rm(modules, { recursive: true, force: true });
  await mkdir(join(modules, '.bin'), { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', modules]);
  await run('mv', [join(modules, 'package'), join(modules, 'keyway')]);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  await symlink('../keyway/dist/src/cli.js', join(modules, '.bin/keyway'));
}

/** The files below a folder of this clone, as paths from its root. */
export async function filesBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(join(ROOT, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .sort();
}
