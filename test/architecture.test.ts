import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../revisions/index.js';

const root = resolve(import.meta.dirname, '..');

function sources(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(root, path)).isDirectory()) return name === 'panel' && folder === 'src' ? [] : sources(path);
    return path.endsWith('.ts') ? [path] : [];
  });
}

const files = [...sources('src'), ...sources('revisions')].map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));

/** Which parts a part may import (design: "Imports go one way"). A file directly in src/ composes and may import all. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  wire: ['core'],
  revisions: ['wire'],
  local: ['core', 'wire'],
  northbound: ['core', 'wire'],
  dns: ['core', 'wire'],
  feed: ['core', 'wire'],
  ops: ['core', 'wire'],
  replay: ['core', 'wire'],
};

function partOf(path: string): string {
  const parts = path.split('/');
  if (parts[0] === 'revisions') return 'revisions';
  return parts.length > 2 ? (parts[1] ?? '') : 'compose';
}

const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, target = '']) => ({
    path,
    target: relative(root, resolve(root, dirname(path), target)),
  })),
);

describe('the architecture', () => {
  it('lets every part import only what design.md allows it', () => {
    const forbidden = imports.filter(({ path, target }) => {
      const [from, to] = [partOf(path), partOf(target)];
      return from !== to && ALLOWED[from] !== undefined && !ALLOWED[from].includes(to);
    });
    expect(forbidden).toEqual([]);
  });

  it('has every part of src in its table of allowed imports, or composing', () => {
    const parts = new Set(files.map(({ path }) => partOf(path)));
    expect([...parts].filter((part) => ALLOWED[part] === undefined && !['compose', 'commands'].includes(part))).toEqual(
      [],
    );
  });

  it('names a revision id nowhere outside revisions/', () => {
    const ids = REVISIONS.map(({ id }) => id.replaceAll('.', '\\.')).join('|');
    const compared = new RegExp(`(?:[!=]==?|case|includes\\(|has\\()\\s*['"\`](?:${ids})['"\`]`);
    // A capability may have the name of the revision that brought it.
    const withoutCapabilities = (text: string) => text.replaceAll(/\b(?:capabilities|effects)\.has\('\w+'\)/g, '');
    const named = files.filter(
      ({ path, text }) => partOf(path) !== 'revisions' && compared.test(withoutCapabilities(text)),
    );
    expect(named.map(({ path }) => path)).toEqual([]);
  });

  it('compares the id of a revision nowhere outside revisions/', () => {
    const compared = files.filter(
      ({ path, text }) => partOf(path) !== 'revisions' && /revision\.id\s*[!=]==?|[!=]==?\s*\w*revision\.id/.test(text),
    );
    expect(compared.map(({ path }) => path)).toEqual([]);
  });

  it('touches `process` in src/cli.ts alone', () => {
    const touching = files.filter(
      ({ path, text }) => path !== 'src/cli.ts' && /(?<![\w.'"`/-])process\.\w|from 'node:process'/.test(text),
    );
    expect(touching.map(({ path }) => path)).toEqual([]);
  });
});

describe('revisions', () => {
  it('never spread one another', () => {
    const spreading = files.filter(
      ({ path, text }) => partOf(path) === 'revisions' && !/(?:index|table)\.ts$/.test(path) && text.includes('...'),
    );
    expect(spreading.map(({ path }) => path)).toEqual([]);
  });
});
