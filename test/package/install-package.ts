import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';

export const run = promisify(execFile);

/** The package as it was packed, and the folder that it was put into, where nothing else stands. */
export interface PackedPackage {
  readonly place: string;
  readonly tarball: string;
  remove(): Promise<void>;
}

/** The package as npm installed it. */
interface InstalledPackage extends PackedPackage {
  /** Why the dependencies are this clone's own; null when npm installed them. */
  readonly withoutNetwork: string | null;
  /** What npm wrote on standard error while it installed. */
  readonly complaints: string;
}

async function pack(): Promise<PackedPackage> {
  await buildIfOlder();
  const folder = await mkdtemp(join(tmpdir(), 'keyway-package-'));
  const place = join(folder, 'empty');
  await mkdir(place);
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '');
  return { place, tarball, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Packs this clone, and unpacks that in a new folder beside the dependencies of this clone. */
export async function unpackPackage(): Promise<PackedPackage> {
  const packed = await pack();
  await installFromClone(packed.place, packed.tarball);
  return packed;
}

/** Packs this clone, and has npm install that in a new folder. */
export async function installPackage(): Promise<InstalledPackage> {
  const packed = await pack();
  return { ...packed, ...(await install(packed.place, packed.tarball)) };
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
    await rm(join(place, 'node_modules'), { recursive: true, force: true });
    await installFromClone(place, tarball);
    return { complaints: '', withoutNetwork };
  }
}

async function installFromClone(place: string, tarball: string): Promise<void> {
  const modules = join(place, 'node_modules');
  await mkdir(join(modules, '.bin'), { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', modules]);
  await run('mv', [join(modules, 'package'), join(modules, 'keyway')]);
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  // What it depends on, and nothing that only this clone has.
  const needed = Object.keys(packages).filter(
    (path) => /^node_modules\/(?!.*\/node_modules\/)/.test(path) && packages[path].dev !== true,
  );
  for (const path of needed.filter((each) => existsSync(join(ROOT, each)))) {
    await mkdir(dirname(join(place, path)), { recursive: true });
    await symlink(join(ROOT, path), join(place, path));
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
