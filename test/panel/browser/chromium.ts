import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { LaunchOptions } from 'playwright-core';

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--js-flags=--expose-gc',
  '--enable-precise-memory-info',
];

/** How to start a Chromium, and what removes what was only unpacked for it. */
export interface Chromium {
  readonly options: LaunchOptions;
  /** To be called when no browser of it runs any more. */
  remove(): Promise<void>;
}

/**
 * The Chromium that npm brings, unpacked into a folder that belongs to this checkout and to this user alone, where it stays
 * for the next time. Where the checkout cannot be written it is a temporary one. Safe to call in several processes at once.
 */
export async function bundledChromium(): Promise<Chromium> {
  const bundled = dirname(dirname(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))));
  const { version } = JSON.parse(await readFile(join(bundled, 'package.json'), 'utf8'));
  const cache = join(dirname(dirname(bundled)), '.cache');
  // The fonts are named by whole paths, so a checkout that was moved or copied unpacks them again.
  const place = createHash('sha256').update(cache).digest('hex').slice(0, 8);
  const kept = join(cache, `chromium-${version}-${process.getuid?.() ?? 'user'}-${place}`);
  if (await exists(kept)) return startedFrom(kept, false);
  const beside = await mkdir(cache, { recursive: true })
    .then(() => mkdtemp(`${kept}-`))
    .catch((error: unknown) => (isForbidden(error) ? null : Promise.reject(error)));
  const folder = beside ?? (await mkdtemp(join(tmpdir(), 'keyway-chromium-')));
  try {
    await unpack(bundled, folder, beside === null ? folder : kept);
    if (beside === null) return startedFrom(folder, true);
    await rename(beside, kept).catch(async (error: unknown) => {
      // Another process was quicker.
      if (!(await exists(kept))) throw error;
      await rm(beside, { recursive: true });
    });
    return startedFrom(kept, false);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

function startedFrom(folder: string, isTemporary: boolean): Chromium {
  const libraries = [join(folder, 'al2023/lib'), process.env.LD_LIBRARY_PATH ?? ''].filter((path) => path !== '');
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(':'), FONTCONFIG_PATH: join(folder, 'fonts') };
  return {
    options: { executablePath: join(folder, 'chromium'), headless: true, args: ARGUMENTS, env },
    async remove() {
      if (isTemporary) await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The package unpacks into the temporary folder of its process, whatever stands there, so it gets a process with one of its
 * own. `place` is where the folder will stand.
 */
async function unpack(bundled: string, folder: string, place: string): Promise<void> {
  const program = 'import(process.argv[1]).then(({ default: chromium }) => chromium.executablePath())';
  // The bundled libraries are unpacked too where this names the platform that they were made for.
  const env = { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' };
  await promisify(execFile)(process.execPath, ['-e', program, join(bundled, 'build/esm/index.js')], { env });
  const fonts = join(folder, 'fonts/fonts.conf');
  await writeFile(fonts, (await readFile(fonts, 'utf8')).replaceAll('>/tmp/fonts', `>${place}/fonts`));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether what was to be written belongs to somebody else, or lies where nobody writes. */
function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code));
}
