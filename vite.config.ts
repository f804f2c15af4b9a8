import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { en } from './panel/i18n/en.js';
import { ru } from './panel/i18n/ru.js';

const root = fileURLToPath(new URL('panel/', import.meta.url));
const outDir = fileURLToPath(new URL('dist/panel/', import.meta.url));

/** Writes a `.gz` and a `.br` beside every text file of the build, so that nothing is compressed while serving. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:js|css|html|svg)$/.test(name)) continue;
        const path = join(outDir, name);
        const content = readFileSync(path);
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
      }
    },
  };
}

/** Takes the place of Vite's helper for what is fetched later, which looks after styles and preloads that no text of a language has. */
function fetchPlainly(): Plugin {
  return {
    name: 'fetch-plainly',
    apply: 'build',
    enforce: 'pre',
    load: (id) => (id.endsWith('vite/preload-helper.js') ? 'export const __vitePreload = (fetch) => fetch();' : null),
  };
}

/** Texts that are asked for by a name put together, such as `page.${name}`, by the beginnings of those names. */
function namedTexts(sources: readonly string[]): readonly string[] {
  const beginnings = sources.flatMap((source) =>
    [...source.matchAll(/`([a-z][\w.]*\.)\$\{/g)].map(([, start = '']) => start),
  );
  return Object.keys(en).filter((name) => beginnings.some((start) => name.startsWith(start)));
}

/**
 * Makes the tables of texts lists, and the names of texts in the sources their places: names are 4 kB (gzip) of what a
 * reader fetches. Texts whose names are put together keep them.
 */
function numberTexts(): Plugin {
  const isSource = (path: string) => /\.tsx?$/.test(path);
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isSource);
  const named = new Set(namedTexts(paths.map((path) => readFileSync(join(root, path), 'utf8'))));
  // No text has the place 0, which would read as none.
  const places = new Map(
    ['', ...Object.keys(en).filter((name) => !named.has(name))].map((name, place) => [name, place]),
  );
  const listOf = (table: Readonly<Record<string, unknown>>) => {
    const list = [...places.keys()].map((name) => JSON.stringify(table[name] ?? 0));
    const rest = Object.fromEntries(Object.entries(table).filter(([name]) => named.has(name)));
    return `Object.assign([${list.join(',')}],${JSON.stringify(rest)})`;
  };
  const tables = new Map([
    [join(root, 'i18n/en.ts'), `export const en = ${listOf(en)}`],
    [join(root, 'i18n/ru.ts'), `export const ru = ${listOf(ru)}`],
  ]);
  return {
    name: 'number-texts',
    apply: 'build',
    enforce: 'pre',
    load: (id) => tables.get(id) ?? null,
    transform: (code, id) =>
      id.startsWith(root) && isSource(id) && !tables.has(id)
        ? code.replace(/'([\w.]+)'/g, (quoted, name: string) => String(places.get(name) ?? quoted))
        : null,
  };
}

/** The panel: `npm run build` puts it into `dist/panel/`, all paths relative, names with content hashes. */
export default defineConfig({
  root,
  base: './',
  publicDir: false,
  logLevel: 'warn',
  // Never the development flavour, which names this machine's paths: whatever NODE_ENV says, a build is the same.
  // The classic calls are 0.7 kB (gzip) shorter than those of the automatic runtime.
  oxc: {
    jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment', development: false },
    jsxInject: `import { Fragment, h } from 'preact'`,
  },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    // Packages only define things: what nobody imports of them goes, though they do not say so themselves.
    rolldownOptions: { treeshake: { moduleSideEffects: (id) => !id.includes('/node_modules/') } },
  },
  plugins: [fetchPlainly(), numberTexts(), precompress()],
});
