import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTables } from '../../scripts/document-tables.js';
import { messageRows, messageTexts } from '../../scripts/message-tables.js';
import { saidTexts } from '../../scripts/said-texts.js';
import { ROOT } from '../clone.js';
import { WHOLE } from '../whole.js';
import { blocksOf, commandsOf, linksOf, quotedIn, SEPARATOR, shellOf, tablesOf } from './markdown.js';

const FOLDER = join(ROOT, 'docs');
const PAGES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(FOLDER, name), 'utf8') }));

/** The sources of the command, without the panel's. */
const SOURCES = ['src', 'revisions'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('panel'))
    .map((path) => readFileSync(join(ROOT, folder, path), 'utf8')),
);

/** Commands of this project that stand in a block that is not run, and why. */
const NOT_RUN: readonly { readonly page: string; readonly starts: string; readonly because: string }[] = [
  {
    page: 'first-start.md',
    starts: 'npm ',
    because: 'it installs on the machine; test/package/package.test.ts does the same in a folder',
  },
  {
    page: 'deploy.md',
    starts: 'npm ',
    because: 'it installs on the machine; test/package/package.test.ts does the same in a folder',
  },
  {
    page: 'backup.md',
    starts: 'npm ci',
    because: 'it brings what the clone of the tests has',
  },
  {
    page: 'first-start.md',
    starts: '$ keyway ',
    because: 'it is what test/docs/first-day.test.ts has run',
  },
];

/** The words with which a command of ours, or one that asks Keyway, begins. */
const OURS = /^(?:\$ )?(?:sudo )?(?:keyway|npx|npm|curl)\s/;

describe('docs/', () => {
  it.each(PAGES)('$name: a block that is not run holds no command of ours, but for those listed', ({ name, text }) => {
    const others = blocksOf(text).filter((block) => shellOf(block).length === 0);
    const commands = others.flatMap((block) => commandsOf(block.text)).filter((command) => OURS.test(command));
    const listed = NOT_RUN.filter(({ page }) => page === name).map(({ starts }) => starts);
    expect(commands.filter((command) => !listed.some((start) => command.startsWith(start)))).toEqual([]);
    for (const { language, line } of blocksOf(text)) expect(language, `${name}:${line}`).not.toBe('');
  });

  it.each(PAGES)('$name: every row that looks like one of a table belongs to one', ({ text }) => {
    const rows = text.split('\n').filter((line) => line.startsWith('|') && !SEPARATOR.test(line));
    expect(tablesOf(text).flat().length).toBe(rows.length);
  });

  it.each(PAGES)('$name: its links lead to files that exist, and its tables are those of the code', ({
    name,
    text,
  }) => {
    for (const target of linksOf(text).filter((each) => each !== ''))
      expect(existsSync(join(FOLDER, dirname(name), target)), target).toBe(true);
    expect(withTables(`docs/${name}`, text)).toBe(text);
  });

  it('docs/replay-ci.md opens with a workflow of 15 lines', () => {
    const [workflow] = blocksOf(PAGES.find(({ name }) => name === 'replay-ci.md')?.text ?? '');
    expect(workflow?.language).toBe('yaml');
    expect(workflow?.text.split('\n').length).toBeLessThanOrEqual(15);
  });

  it('README.md links every page but that for developers, which CONTRIBUTING.md names', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const linked = linksOf(readme).filter((target) => target.startsWith('docs/'));
    for (const target of linked) expect(existsSync(join(ROOT, target)), target).toBe(true);
    const forOperators = PAGES.filter(({ name }) => name !== 'design.md');
    expect(linked).toEqual(expect.arrayContaining(forOperators.map(({ name }) => `docs/${name}`)));
  });

  it('docs/ name only metrics that there are', () => {
    const names = PAGES.flatMap(({ text }) => [...text.matchAll(/\bkeyway_[a-z_]+\b/g)].map(([name]) => name));
    expect(names.length).toBeGreaterThan(5);
    for (const name of names)
      expect(
        SOURCES.some((source) => source.includes(`'${name}'`)),
        name,
      ).toBe(true);
  });

  describe('docs/errors.md', () => {
    const tables = tablesOf(PAGES.find(({ name }) => name === 'errors.md')?.text ?? '');
    const ofMessages = tables.filter(([head]) => head?.[0] === 'message');
    const quoted = Object.values(messageRows(ROOT)).flatMap(({ rows }) => Object.keys(rows).flatMap(quotedIn));

    it('has tables of messages without a gap, each row with as many cells as its head', () => {
      expect(ofMessages.length).toBeGreaterThan(5);
      for (const [head = [], ...rows] of tables)
        for (const row of rows) expect(row.length, row.join(' | ')).toBe(head.length);
    });

    it('quotes only messages that stand in the source', () => {
      for (const words of quoted)
        expect(
          SOURCES.some((source) => source.includes(words)),
          words,
        ).toBe(true);
    });

    if (WHOLE)
      it('has its messages whole, with an ellipsis for each value', () => {
        const { said, written } = messageTexts(ROOT);
        const whole = new Set([...said, ...written]);
        const parts = ofMessages.flatMap(([, ...rows]) => rows.flatMap(([message = '']) => quotedIn(message)));
        expect(parts.filter((part) => !whole.has(part))).toEqual([]);
      });

    it('has every warning and error of the log, every failed start and every contradiction of settings', () => {
      const said = saidTexts(ROOT).filter(({ text }) => /[a-z]{3}/.test(text.replace('expected', '')));
      expect(said.length).toBeGreaterThan(100);
      const missing = said.filter(({ text }) => !quoted.some((words) => text.includes(words)));
      expect(missing.map(({ text, at }) => `${at}: ${text}`)).toEqual([]);
    });
  });
});
