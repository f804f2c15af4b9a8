import { symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'vite';
import { ROOT } from './clone.js';

/**
 * Compiles a file of `test/`, as another process runs it, with all that it imports into one file below `folder/built`, which
 * finds this package's modules: such a process starts in half the time. Resolves to the path that Node runs; rejects with
 * the bundler's words.
 */
export async function compileForProcess(file: string, folder: string): Promise<string> {
  const built = join(folder, 'built');
  await build({
    configFile: false,
    root: ROOT,
    publicDir: false,
    logLevel: 'silent',
    ssr: { noExternal: ['typebox'] },
    build: { ssr: file, target: 'node20', outDir: built, minify: false },
  });
  await writeFile(join(built, 'package.json'), '{ "type": "module" }');
  await symlink(join(ROOT, 'node_modules'), join(built, 'node_modules'));
  return join(built, basename(file).replace(/\.ts$/, '.js'));
}
