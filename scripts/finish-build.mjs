// What the compiler does not do: the command must be executable (npm links it into node_modules/.bin as it is), what
// was made of sources that are gone must not be shipped, the database's schema must be, TypeBox becomes one file, the
// command becomes some files instead of hundreds, the commit is noted, and a stamp tells tests what is built.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

/** Of a build that was ended before its end there is none. */
const STAMP = join(dist, '.built');
await rm(STAMP, { force: true });

await chmod(join(dist, 'src/cli.js'), 0o755);

for (const folder of ['src', 'revisions', 'bench', 'scripts']) {
  for (const name of await readdir(join(dist, folder), { recursive: true })) {
    const [source] = name.split(/\.d\.ts$|\.js$/);
    if (source !== name && !existsSync(join(root, folder, `${source}.ts`)))
      await rm(join(dist, folder, name), { force: true });
  }
}

await cp(join(root, 'src/homes/database/schema'), join(dist, 'src/homes/database/schema'), { recursive: true });

const SETTINGS = { configFile: false, root, publicDir: false, logLevel: 'error' };

const license = await readFile(join(root, 'node_modules/typebox/license'), 'utf8');
await build({
  ...SETTINGS,
  ssr: { noExternal: ['typebox'] },
  build: {
    ssr: 'src/wire/typebox.ts',
    outDir: 'dist/src/wire',
    emptyOutDir: false,
    minify: false,
    rollupOptions: { output: { entryFileNames: 'typebox.js', banner: `/*!\n${license.trim()}\n*/` } },
  },
});

/** What the command begins with, once cli.js has looked at Node's version. */
const PROGRAM = join(dist, 'src/program.js');
const COMMAND = join(dist, 'command');

/** A module that looks for files beside itself goes on doing so from where the compiler has put it. */
const keepAddresses = {
  name: 'keep-addresses',
  transform(code, id) {
    const path = relative(COMMAND, id).split(sep).join('/');
    const address = `new URL(${JSON.stringify(path)}, import.meta.url).href`;
    return code.includes('import.meta.url') ? code.replaceAll('import.meta.url', address) : null;
  },
};

/** The same at every build: a gateway that runs while another is built may not have loaded all of its files yet. */
function chunkName(source) {
  const path = relative(join(dist, 'src'), resolve(dist, 'src', source));
  return `${path.replace(/\.js$/, '').split(sep).join('-')}.js`;
}

// A start that loads some hundred small files takes half as long again. Packages stay what npm has installed.
await build({
  ...SETTINGS,
  plugins: [keepAddresses],
  build: {
    ssr: true,
    target: 'node20',
    outDir: COMMAND,
    emptyOutDir: true,
    minify: false,
    rollupOptions: {
      input: { program: PROGRAM },
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: ({ facadeModuleId, name }) => chunkName(facadeModuleId ?? name),
      },
    },
  },
});
await writeFile(PROGRAM, "import '../command/program.js';\n");

// A clone knows its commit; a folder without history, as in the image, has none to tell.
const describe = ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=12'];
const { status, stdout } = spawnSync('git', describe, { cwd: root, encoding: 'utf8' });
await writeFile(join(dist, 'commit.txt'), status === 0 && existsSync(join(root, '.git')) ? stdout : '');

await writeFile(STAMP, '');
