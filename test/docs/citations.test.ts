import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

const SOURCES = ['src', 'revisions', 'panel', 'test', 'bench'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('citations.test.ts'))
    .map((name) => join(folder, name)),
);

/** Comments as one line each, so that a citation that goes over a line's end is found. */
const TEXTS = SOURCES.map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8').replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' '),
}));

/** The headings of a page, and the bold beginnings of its list items, which are headings of a few lines. */
function headingsOf(page: string): ReadonlySet<string> {
  const text = readFileSync(join(root, 'docs', page), 'utf8');
  return new Set(
    [...text.matchAll(/^(?:#+ (.+)|- \*\*(.+?)\.?\*\*.*)$/gm)].map(([, heading, lead = '']) => heading ?? lead),
  );
}

const PAGES: Readonly<Record<string, ReadonlySet<string>>> = {
  protocol: headingsOf('protocol.md'),
  design: headingsOf('design.md'),
};

/** `protocol: "A"`, `design: "B"; "C"`. */
const CITATION = /\b(protocol|design): ((?:"[^"]+"(?:; )?)+)/gi;

const cited = TEXTS.flatMap(({ path, text }) =>
  [...text.matchAll(CITATION)].flatMap(([, page = '', sections = '']) =>
    [...sections.matchAll(/"([^"]+)"/g)].map(([, section = '']) => ({ path, page: page.toLowerCase(), section })),
  ),
);

describe('what the code cites', () => {
  it('is a section of docs/protocol.md or docs/design.md that exists', () => {
    expect(cited.length).toBeGreaterThan(60);
    expect(cited.filter(({ page, section }) => PAGES[page]?.has(section) !== true)).toEqual([]);
  });

  it('is nothing that is not in the repository', () => {
    const elsewhere = /\((?:spec|issue)[:, ]|\bspec[:,] ["`]|\bissue (?:\d|")|\bdesign\.md adds/i;
    expect(TEXTS.filter(({ text }) => elsewhere.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe('what the pages for developers name', () => {
  it('is a path that exists', () => {
    const pages = [
      'CONTRIBUTING.md',
      'docs/design.md',
      'docs/protocol.md',
      'revisions/README.md',
      'fixtures/README.md',
      'bench/README.md',
    ];
    const named = pages.flatMap((page) =>
      [
        ...readFileSync(join(root, page), 'utf8').matchAll(
          /`((?:src|revisions|test|panel|docs|bench|scripts)\/[\w./-]*)`/g,
        ),
      ].map(([, path = '']) => ({ page, path })),
    );
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('the walk from socket to disk in docs/design.md', () => {
  const [, walk = ''] = readFileSync(join(root, 'docs/design.md'), 'utf8').split(
    '## One change, from socket to disk\n',
  );
  const steps = (walk.split('\n## ')[0] ?? '').split(/^\d+\. /m).slice(1);
  const named = steps.flatMap((step, index) => {
    const quoted = [...step.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    const files = quoted.filter((name) => name.startsWith('src/'));
    const text = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
    const names = quoted.filter((name) => /^#?\w+(?:\.\w+)?$/.test(name));
    return names.map((name) => ({ step: index + 1, name, files, text }));
  });

  it('names in each step functions that are in the files of that step', () => {
    expect(steps.length).toBeGreaterThan(10);
    expect(named.length).toBeGreaterThan(25);
    const missing = named.filter(
      ({ name, text }) => !new RegExp(`(?<![\\w#])${name.replace('.', '\\.')}\\b`).test(text),
    );
    expect(missing.map(({ step, name, files }) => ({ step, name, files }))).toEqual([]);
  });
});
