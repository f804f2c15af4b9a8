import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../revisions/all.js';

const root = resolve(import.meta.dirname, '..');

function sources(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(root, path)).isDirectory()) return sources(path);
    return /\.tsx?$/.test(path) ? [path] : [];
  });
}

const files = ['src', 'revisions', 'panel'].flatMap(sources).map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));

const paths = new Set(files.map(({ path }) => path));

/**
 * Which rooms a room may import besides itself (docs/design.md, "Rooms"). A room is a folder; one that is not listed belongs to
 * the one around it, and a room with rooms inside is all of them to those outside.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'src/core': [],
  'src/text': [],
  'src/wire': ['src/core'],
  revisions: ['src/wire'],
  'src/sockets': ['src/core'],
  'src/platform': ['src/core'],
  'src/document': ['src/core', 'src/wire'],
  'src/document/convert': ['src/core', 'src/document', 'src/wire'],
  'src/document/check': ['src/core', 'src/document', 'src/wire'],
  'src/files': ['src/core', 'src/document', 'src/platform'],
  'src/homes/file/configuration': ['src/core', 'src/document', 'src/files', 'src/platform', 'src/wire'],
  'src/homes/file/counters': ['src/core', 'src/document', 'src/files', 'src/platform', 'src/wire'],
  'src/homes/file': [
    'src/core',
    'src/document',
    'src/files',
    'src/homes/file/configuration',
    'src/homes/file/counters',
    'src/platform',
  ],
  'src/client': ['src/core', 'src/wire'],
  'src/homes/upstream': ['src/client', 'src/core', 'src/document', 'src/files', 'src/platform', 'src/wire'],
  'src/homes/database': ['src/core', 'src/document', 'src/platform', 'src/wire'],
  'src/subscription': ['src/core', 'src/text', 'src/wire'],
  'src/northbound': ['src/core', 'src/sockets', 'src/subscription', 'src/wire'],
  'src/own-api': [
    'src/core',
    'src/subscription',
    'src/document',
    'src/northbound',
    'src/platform',
    'src/sockets',
    'src/text',
    'src/wire',
  ],
  'src/dns': ['src/core', 'src/sockets', 'src/wire'],
  'src/feed': ['src/core', 'src/sockets', 'src/wire'],
  'src/ops': ['src/core', 'src/sockets', 'src/wire'],
  'src/lab/format': ['src/client', 'src/core', 'src/own-api', 'src/wire'],
  'src/lab/play': ['src/client', 'src/core', 'src/own-api', 'src/lab/format', 'src/wire'],
  'src/lab/record': ['src/client', 'src/core', 'src/lab/format', 'src/lab/play', 'src/sockets', 'src/wire'],
  'src/lab/compare': ['src/client', 'src/lab/format', 'src/lab/play', 'src/lab/record', 'src/wire'],
  'src/lab/reads': [
    'src/client',
    'src/core',
    'src/document',
    'src/lab/compare',
    'src/lab/format',
    'src/lab/play',
    'src/wire',
  ],
  'src/lab/live': [
    'src/client',
    'src/core',
    'src/lab/compare',
    'src/lab/format',
    'src/lab/play',
    'src/lab/reads',
    'src/wire',
  ],
  'src/lab/report': ['src/lab/compare', 'src/lab/format', 'src/lab/reads', 'src/wire'],
  'src/settings': ['revisions', 'src/core', 'src/files', 'src/platform', 'src/wire'],
  'src/gateway': [
    'revisions',
    'src/client',
    'src/core',
    'src/dns',
    'src/document',
    'src/files',
    'src/homes/database',
    'src/homes/file',
    'src/homes/upstream',
    'src/northbound',
    'src/ops',
    'src/own-api',
    'src/platform',
    'src/settings',
    'src/sockets',
    'src/subscription',
    'src/wire',
  ],
  'src/serve': [
    'src/core',
    'src/dns',
    'src/feed',
    'src/gateway',
    'src/northbound',
    'src/ops',
    'src/platform',
    'src/settings',
    'src/sockets',
  ],
  'src/embedded': [
    'revisions',
    'src/client',
    'src/core',
    'src/document',
    'src/gateway',
    'src/lab',
    'src/platform',
    'src/wire',
  ],
  'src/commands': [
    'revisions',
    'src/client',
    'src/core',
    'src/document',
    'src/embedded',
    'src/feed',
    'src/files',
    'src/gateway',
    'src/homes/database',
    'src/homes/file',
    'src/homes/upstream',
    'src/lab',
    'src/own-api',
    'src/platform',
    'src/serve',
    'src/settings',
    'src/text',
    'src/wire',
  ],
  src: [
    'src/client',
    'src/commands',
    'src/core',
    'src/gateway',
    'src/homes/database',
    'src/homes/file',
    'src/northbound',
    'src/platform',
    'src/sockets',
    'src/wire',
  ],
  'panel/store': [],
  'panel/text': ['src/text'],
  'panel/api': ['panel/text', 'src/text'],
  'panel/i18n': ['panel/api', 'panel/store'],
  'panel/state': ['panel/api', 'panel/i18n', 'panel/store', 'panel/text', 'src/text'],
  'panel/ui': ['panel/api', 'panel/i18n', 'panel/state', 'panel/store', 'panel/text', 'src/text'],
  'panel/pages': ['panel/api', 'panel/i18n', 'panel/state', 'panel/store', 'panel/text', 'panel/ui', 'src/text'],
  panel: ['panel/api', 'panel/i18n', 'panel/pages', 'panel/state', 'panel/store', 'panel/ui'],
};

/** The folders of `test/` that belong to no room of `src/` (CONTRIBUTING.md, "Where what lives"). */
const WITHOUT_ROOM = [
  'acceptance',
  'bench',
  'docs',
  'mutations',
  'package',
  'panel',
  'ports',
  'revisions',
  'soak',
  'stand-in',
];

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** The innermost room of the table around a file. */
function roomOf(path: string): string {
  const around = Object.keys(ROOMS).filter((room) => isWithin(path, room));
  return around.reduce((inner, room) => (room.length > inner.length ? room : inner), '');
}

const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(/(?:from|import\(|import)\s*'(\.[^']+\.js)'/g)].map(([, target = '']) => {
    const compiled = relative(root, resolve(root, dirname(path), target)).replace(/\.js$/, '');
    return { path, target: [`${compiled}.ts`, `${compiled}.tsx`].find((source) => paths.has(source)) ?? compiled };
  }),
);

/** Files that import one another in a circle, type imports included. */
function circles(): readonly (readonly string[])[] {
  const targets = new Map(files.map(({ path }) => [path, new Set<string>()]));
  for (const { path, target } of imports) targets.get(path)?.add(target);
  // What imports nothing that is left, or is imported by nothing that is left, is in no circle.
  for (let before = -1; before !== targets.size; ) {
    before = targets.size;
    const imported = new Set([...targets.values()].flatMap((found) => [...found]));
    for (const [path, found] of [...targets]) {
      const isEnd = ![...found].some((target) => targets.has(target));
      if (isEnd || !imported.has(path)) targets.delete(path);
    }
  }
  return [...targets].map(([path, found]) => [path, ...[...found].filter((target) => targets.has(target))]);
}

/** The files that are loaded with one, itself first: those that it imports other than for types or when they are needed. */
function loadedWith(path: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(path)) return found;
  found.add(path);
  const { text = '' } = files.find((file) => file.path === path) ?? {};
  for (const [, target = ''] of text.matchAll(/^(?:import|export)(?! type)[^;']*'(\.[^']+)\.js';/gm))
    loadedWith(`${relative(root, resolve(root, dirname(path), target))}.ts`, found);
  return found;
}

describe('the architecture', () => {
  it('finds every file that an import names', () => {
    expect(imports.filter(({ target }) => !paths.has(target))).toEqual([]);
  });

  it('lets every room import only what the table allows it', () => {
    const forbidden = imports.filter(({ path, target }) => {
      const [from, to] = [roomOf(path), roomOf(target)];
      return from !== to && ROOMS[from]?.some((allowed) => isWithin(to, allowed)) !== true;
    });
    expect(forbidden).toEqual([]);
  });

  it('has every folder in a room of its table, and no room that is empty', () => {
    const rooms = new Set(files.map(({ path }) => roomOf(path)));
    expect(files.filter(({ path }) => roomOf(path) === '')).toEqual([]);
    expect(Object.keys(ROOMS).filter((room) => !rooms.has(room))).toEqual([]);
  });

  it('has a folder of tests for each room of src, and every other folder of test/ stands in the list of those', () => {
    const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
    const folders = tests.filter((name) => statSync(join(root, 'test', name)).isDirectory());
    const tested = (room: string) => folders.includes(room.replace(/^src\//, ''));
    const whole = Object.keys(ROOMS).filter((room) => /^src\/(?:homes\/)?\w[\w-]*$/.test(room));
    expect(whole.filter((room) => !tested(room))).toEqual([]);
    const isOfNoRoom = (folder: string) => WITHOUT_ROOM.some((name) => isWithin(folder, name));
    const strange = folders.filter((folder) => !isOfNoRoom(folder) && !existsSync(join(root, 'src', folder)));
    expect(strange).toEqual([]);
  });

  it('keeps only the two entries directly in src, and the program that one of them starts', () => {
    const entries = ['src/cli.ts', 'src/index.ts', 'src/program.ts'];
    expect([...paths].filter((path) => /^src\/[^/]+$/.test(path)).sort()).toEqual(entries);
  });

  it('has cli.ts load nothing but what an older Node has, too, before it has looked at its version', () => {
    const { text = '' } = files.find(({ path }) => path === 'src/cli.ts') ?? {};
    expect([...text.matchAll(/^import .*$/gm)].map(String)).toEqual(["import { readFileSync } from 'node:fs';"]);
    expect(text).not.toMatch(/^(?:export|await|const .* = await)\b/m);
  });

  it.each(['pg', 'pino', 'prom-client', 'undici'])('loads %s, which takes long, only where it is needed', (name) => {
    const loaded = loadedWith('src/index.ts');
    expect(loaded.size).toBeGreaterThan(200);
    const loading = files.filter(
      ({ path, text }) => loaded.has(path) && new RegExp(`^import(?! type)[^;']*'${name}';`, 'm').test(text),
    );
    expect(loading.map(({ path }) => path)).toEqual([]);
  });

  it('has no files that import one another in a circle, by types alone included', () => {
    expect(circles()).toEqual([]);
  });

  it('names a revision id nowhere outside revisions/', () => {
    const ids = REVISIONS.map(({ id }) => id.replaceAll('.', '\\.')).join('|');
    const compared = new RegExp(`(?:[!=]==?|case|includes\\(|has\\()\\s*['"\`](?:${ids})['"\`]`);
    const named = files.filter(({ path, text }) => roomOf(path) !== 'revisions' && compared.test(text));
    expect(named.map(({ path }) => path)).toEqual([]);
  });

  it('compares the id of a revision nowhere outside revisions/', () => {
    const compared = files.filter(
      ({ path, text }) => roomOf(path) !== 'revisions' && /revision\.id\s*[!=]==?|[!=]==?\s*\w*revision\.id/.test(text),
    );
    expect(compared.map(({ path }) => path)).toEqual([]);
  });

  it('asks which home holds the state nowhere but where homes are made and opened', () => {
    const given = ['src/commands', 'src/feed', 'src/northbound', 'src/ops', 'src/serve'];
    const overDatabases = 'src/commands/database.ts';
    const asking =
      /\b(?:upstream|database|local|config)(?: [!=]== null|\?\.)|\bhome\.kind\b|\bkind [!=]== '(?:file|memory|upstream|database)'/;
    const asked = files.filter(
      ({ path, text }) => path !== overDatabases && given.some((room) => isWithin(path, room)) && asking.test(text),
    );
    expect(asked.map(({ path, text }) => [path, asking.exec(text)?.[0]])).toEqual([]);
  });

  it('touches `process` in src/cli.ts and src/program.ts alone', () => {
    const touching = files.filter(
      ({ path, text }) =>
        !/^src\/(?:cli|program)\.ts$/.test(path) && /(?<![\w.'"`/-])process\.\w|from 'node:process'/.test(text),
    );
    expect(touching.map(({ path }) => path)).toEqual([]);
  });

  it('takes randomness from its port alone', () => {
    expect(files.filter(({ text }) => text.includes('Math.random')).map(({ path }) => path)).toEqual([]);
  });
});

describe('revisions', () => {
  it('never spread one another', () => {
    const spreading = files.filter(
      ({ path, text }) => roomOf(path) === 'revisions' && !/(?:index|table)\.ts$/.test(path) && text.includes('...'),
    );
    expect(spreading.map(({ path }) => path)).toEqual([]);
  });
});
