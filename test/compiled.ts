import { spawnSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/**
 * Compiles a file of `test/`, as another process runs it, into `folder/built`, which finds this package's modules. Resolves to
 * the path that Node runs; rejects with the compiler's words.
 */
export async function compileForProcess(file: string, folder: string): Promise<string> {
  const built = join(folder, 'built');
  const project = join(folder, 'tsconfig.json');
  const root = resolve('.');
  const compilerOptions = {
    rootDir: root,
    outDir: built,
    declaration: false,
    // Types are looked at by `npm run types`.
    noCheck: true,
    typeRoots: [join(root, 'node_modules/@types')],
  };
  const settings = { extends: join(root, 'tsconfig.json'), files: [join(root, file)], include: [] };
  await writeFile(project, JSON.stringify({ ...settings, compilerOptions }));
  const compiled = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', project], { encoding: 'utf8' });
  if (compiled.stdout + compiled.stderr !== '') throw new Error(compiled.stdout + compiled.stderr);
  await writeFile(join(built, 'package.json'), '{ "type": "module" }');
  await symlink(join(root, 'node_modules'), join(built, 'node_modules'));
  return join(built, file.replace(/\.ts$/, '.js'));
}
