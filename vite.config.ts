import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { en } from './panel/i18n/en.js';
import type { Message } from './panel/i18n/message.js';
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

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The beginnings of names that the sources put together, such as `page.${name}`. */
function beginningsIn(sources: readonly string[]): readonly string[] {
  const found = sources.flatMap((source) =>
    [...source.matchAll(/`([a-z][\w.]*\.)\$\{/g)].map(([, start = '']) => start),
  );
  return [...new Set(found)].filter((start) => Object.keys(en).some((name) => name.startsWith(start)));
}

/**
 * Gives texts numbers for names, in their tables and in the sources: names are 4 kB (gzip) of what a reader fetches. Where a
 * name is put together its beginning becomes a letter.
 */
function numberTexts(): Plugin {
  const isSource = (path: string) => /\.tsx?$/.test(path);
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isSource);
  const beginnings = beginningsIn(paths.map((path) => readFileSync(join(root, path), 'utf8')));
  const letters = new Map(beginnings.map((start, place) => [start, LETTERS.charAt(place)]));
  if (beginnings.length > LETTERS.length) throw new Error('There are not enough letters for the beginnings of names.');
  /** No text has the number 0, which would read as none. */
  let count = 0;
  const short = new Map(
    Object.keys(en).map((name): [string, string | number] => {
      const start = beginnings.find((each) => name.startsWith(each));
      if (start !== undefined) return [name, `${letters.get(start)}${name.slice(start.length)}`];
      count += 1;
      return [name, count];
    }),
  );
  const shortened = (table: Readonly<Record<string, Message>>) => {
    const lines = [''];
    const others: Record<string, Message> = {};
    for (const [name, text] of Object.entries(table)) {
      const key = short.get(name) ?? name;
      if (typeof key === 'number') lines[key] = typeof text === 'string' ? text : '';
      if (typeof key === 'string' || typeof text !== 'string') others[key] = text;
    }
    return `Object.assign(${JSON.stringify(lines.join('\n'))}.split('\\n'),${JSON.stringify(others)})`;
  };
  const tables = new Map([
    [join(root, 'i18n/en.ts'), `export const en = ${shortened(en)}`],
    [join(root, 'i18n/ru.ts'), `export const ru = ${shortened(ru)}`],
  ]);
  return {
    name: 'number-texts',
    apply: 'build',
    enforce: 'pre',
    load: (id) => tables.get(id) ?? null,
    transform: (code, id) =>
      id.startsWith(root) && isSource(id) && !tables.has(id)
        ? code
            .replace(/'([\w.]+)'/g, (quoted, name: string) => JSON.stringify(short.get(name)) ?? quoted)
            .replace(/`([\w.]+)\$\{/g, (begun, start: string) => {
              const letter = letters.get(start);
              return letter === undefined ? begun : `\`${letter}\${`;
            })
        : null,
  };
}

/** Puts modules without markup before those with it, each by its path: what is alike stands together, which is compressed better. */
function orderModules(): Plugin {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/i18n.(en|ru)|^(app|main)\.tsx/.test(path))
    .sort();
  const ordered = [/\.ts$/, /\.tsx$/].flatMap((kind) => paths.filter((path) => kind.test(path)));
  return {
    name: 'order-modules',
    apply: 'build',
    enforce: 'pre',
    transform: (code, id) =>
      id === join(root, 'main.tsx') ? ordered.map((path) => `import './${path}';`).join('') + code : null,
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
  plugins: [fetchPlainly(), orderModules(), numberTexts(), precompress()],
});
