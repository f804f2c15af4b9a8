import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type ESTree, type Plugin, parseSync, Visitor } from 'vite';
import { en } from './panel/i18n/en.js';
import { EVENTS } from './panel/i18n/events.js';
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

/** Methods of a package that no code of the page calls, and that none of what it calls does. */
const UNCALLED = { file: 'node_modules/lean-qr/nano.mjs', methods: ['u', 'toCanvas'] };

/** Leaves methods out that nobody calls, as the build does with what nobody imports. Throws where the package has become another one. */
function dropUncalled(): Plugin {
  return {
    name: 'drop-uncalled',
    apply: 'build',
    transform(code, id) {
      if (!id.endsWith(UNCALLED.file)) return null;
      const dropped: ESTree.Span[] = [];
      new Visitor({
        Property: (property) => {
          const { key, method } = property;
          if (method && key.type === 'Identifier' && UNCALLED.methods.includes(key.name)) dropped.push(property);
        },
      }).visit(parseSync(id, code).program);
      if (dropped.length !== UNCALLED.methods.length) throw new Error(`${id}: expected ${UNCALLED.methods.join(', ')}`);
      return dropped.reduceRight(
        (text, { start, end }) => text.slice(0, start) + text.slice(end).replace(/^,/, ''),
        code,
      );
    },
  };
}

/** A name in a source, whole or the beginning of some that are put together there, such as `page.${name}`. */
interface Spelled {
  readonly name: string;
  readonly isWhole: boolean;
  readonly start: number;
  readonly end: number;
}

/** Finds the names of texts, which stand in calls of `words` alone. Throws where one stands elsewhere, or not in its letters. */
function namesIn(path: string, code: string): readonly Spelled[] {
  const found: Spelled[] = [];
  const read = (node: ESTree.Argument): void => {
    const { start, end } = node;
    if (node.type === 'ConditionalExpression') [node.consequent, node.alternate].forEach(read);
    else if (node.type === 'Literal' && typeof node.value === 'string')
      found.push({ name: node.value, isWhole: true, start, end });
    else if (node.type === 'TemplateLiteral') {
      const name = node.quasis[0]?.value.raw ?? '';
      found.push({ name, isWhole: false, start: start + 1, end: start + 1 + name.length });
    } else throw new Error(`${path}: words(${code.slice(start, end)}) does not spell the name of a text`);
  };
  const { program } = parseSync(path, code);
  new Visitor({
    CallExpression: ({ callee, arguments: [name] }) => {
      if (callee.type === 'Identifier' && callee.name === 'words' && name !== undefined) read(name);
    },
  }).visit(program);
  new Visitor({
    Literal: ({ value, start }) => {
      if (typeof value === 'string' && value in en && !found.some((spelled) => spelled.start === start))
        throw new Error(`${path}: '${value}' is the name of a text, and stands outside of words()`);
    },
  }).visit(program);
  return found.sort((one, other) => other.start - one.start);
}

/** Has Cyrillic letters and those of which there are few beside them change places: a letter of one byte is 8 % less after gzip. */
const swapped = (text: string) =>
  text.replace(/[=-|А-я]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + (letter < 'А' ? 979 : -979)));

/**
 * Reads a table in the page: a text in each line, those after the first ones under names of their own. Each line of these has the ends
 * of those with one beginning, which is the line's number.
 */
function readTable(lines: string, names: string, first: number): object {
  const texts = lines.split('~').map((line) => {
    const [single, several] = line.split('#');
    return several === undefined ? single : { single, several };
  });
  const rest = texts.splice(first);
  const named = (ends: string, beginning: number) =>
    ends.split(' ').map((end) => [`${beginning}.${end}`, rest.shift()] as const);
  return Object.assign(texts, Object.fromEntries(names.split('~').flatMap(named)));
}

/** Reads the texts of audit entries in the page: a line each, with its name and its text in each language. */
function readEvents(lines: string, swap: (text: string) => string): object {
  const read = (line: string) => {
    const [name, en, ru = ''] = line.split('#');
    return [name, { en, ru: swap(ru) }];
  };
  return Object.fromEntries(lines.split('~').map(read));
}

/**
 * Gives texts numbers for names, in their tables and in calls of `words`: names are 3 kB (gzip) of what a reader fetches. Those
 * that are put together get one for their beginning, and keep their ends.
 */
function numberTexts(): Plugin {
  const tables = new Map<string, Readonly<Record<string, Message>>>([
    [join(root, 'i18n/en.ts'), en],
    [join(root, 'i18n/ru.ts'), ru],
  ]);
  const isUser = (path: string) => path.startsWith(root) && /\.tsx?$/.test(path) && !tables.has(path);
  const users = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => join(root, path))
    .filter(isUser);
  const spelled = users.flatMap((path) => namesIn(path, readFileSync(path, 'utf8')));
  const withBeginning = (beginning: string) => Object.keys(en).filter((name) => name.startsWith(beginning));
  const beginnings = [...new Set(spelled.flatMap(({ name, isWhole }) => (isWhole ? [] : [name])))].filter(
    (beginning) => withBeginning(beginning).length > 0,
  );
  const numberOf = (beginning: string) => `${beginnings.indexOf(beginning)}.`;
  const whole = Object.keys(en).filter((name) => !beginnings.some((beginning) => name.startsWith(beginning)));
  const shortOf = (name: string): string | number => {
    const [beginning, other] = beginnings.filter((each) => name.startsWith(each));
    if (other !== undefined) throw new Error(`The name of the text '${name}' is put together in two ways`);
    return beginning === undefined ? whole.indexOf(name) : numberOf(beginning) + name.slice(beginning.length);
  };
  const others = beginnings.flatMap(withBeginning);
  const endsOf = (beginning: string) => withBeginning(beginning).map((name) => name.slice(beginning.length));
  const ends = beginnings.map((beginning) => endsOf(beginning).join(' ')).join('~');
  const lineOf = (text: Message | undefined) => (typeof text === 'object' ? `${text.single}#${text.several}` : text);
  const shortened = (table: Readonly<Record<string, Message>>) => {
    const lines = [...whole, ...others].map((name) => lineOf(table[name])).join('~');
    const isSwapped = /[а-я]/.test(lines);
    const text = JSON.stringify(isSwapped ? swapped(lines) : lines);
    return `(${readTable})((${isSwapped ? swapped : 'String'})(${text}),${JSON.stringify(ends)},${whole.length})`;
  };
  const events = Object.entries(EVENTS).map(([name, { en, ru }]) => [name, en, swapped(ru)].join('#'));
  return {
    name: 'number-texts',
    apply: 'build',
    enforce: 'pre',
    load: (id) => {
      if (id === join(root, 'i18n/events.ts'))
        return `export const EVENTS = (${readEvents})(${JSON.stringify(events.join('~'))}, ${swapped})`;
      const table = tables.get(id);
      return table === undefined ? null : `export const ${basename(id, '.ts')} = ${shortened(table)}`;
    },
    transform: (code, id) =>
      isUser(id)
        ? namesIn(id, code).reduce(
            (text, { name, isWhole, start, end }) =>
              text.slice(0, start) + (isWhole ? JSON.stringify(shortOf(name)) : numberOf(name)) + text.slice(end),
            code,
          )
        : null,
  };
}

/** The folders, each before those that import it. */
const FOLDERS = ['text', 'api', 'store', 'state', 'ui', 'pages'];

/** Puts modules without markup before those with it, each by its folder and path: what is alike stands together, which is compressed better. */
function orderModules(): Plugin {
  const placeOf = (path: string) => FOLDERS.indexOf(path.split('/', 1)[0] ?? '');
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/i18n.(en|ru)|^(app|main)\.tsx/.test(path))
    .sort((one, other) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1));
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
    // The first with `light-dark()`, which would be written out for others. The panel's popovers need as new ones.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    // Packages only define things: what nobody imports of them goes, though they do not say so themselves. No read does anything.
    rolldownOptions: {
      treeshake: { moduleSideEffects: (id) => !id.includes('/node_modules/'), propertyReadSideEffects: false },
      // A constant that is used once goes where it is used; the minifier does not do that with a variable.
      output: { topLevelVar: false },
    },
  },
  plugins: [fetchPlainly(), dropUncalled(), orderModules(), numberTexts(), precompress()],
});
