// What the compiler does not do: the command must be executable (npm links it into node_modules/.bin as it is), what
// was made of sources that are gone must not be shipped, the database's schema must be, TypeBox becomes one file, and a
// stamp tells tests what is built.
import { existsSync } from 'node:fs';
import { chmod, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

await chmod(join(root, 'dist/src/cli.js'), 0o755);

for (const folder of ['src', 'revisions', 'bench']) {
  for (const name of await readdir(join(root, 'dist', folder), { recursive: true })) {
    const [source] = name.split(/\.d\.ts$|\.js$/);
    if (source !== name && !existsSync(join(root, folder, `${source}.ts`)))
      await rm(join(root, 'dist', folder, name), { force: true });
  }
}

await cp(join(root, 'src/homes/database/schema'), join(root, 'dist/src/homes/database/schema'), { recursive: true });

const license = await readFile(join(root, 'node_modules/typebox/license'), 'utf8');
await build({
  configFile: false,
  root,
  publicDir: false,
  logLevel: 'warn',
  ssr: { noExternal: ['typebox'] },
  build: {
    ssr: 'src/wire/typebox.ts',
    outDir: 'dist/src/wire',
    emptyOutDir: false,
    minify: false,
    rollupOptions: { output: { entryFileNames: 'typebox.js', banner: `/*!\n${license.trim()}\n*/` } },
  },
});

await writeFile(join(root, 'dist/.built'), '');
