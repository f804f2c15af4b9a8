import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTables } from '../../scripts/document-tables.js';
import { COMMANDS } from '../../src/commands/commands.js';
import { SETTINGS } from '../../src/settings/table.js';
import { ROOT } from '../clone.js';

const readme = await readFile(join(ROOT, 'README.md'), 'utf8');

describe('README.md', () => {
  it('is read in five minutes: it has at most 1,200 words', () => {
    expect(readme.split(/\s+/).length).toBeLessThanOrEqual(1200);
  });

  it('says in its first 40 lines what Keyway is, how it starts, and where traffic comes from', () => {
    const screen = readme.split('\n').slice(0, 40).join('\n');
    for (const words of [
      '`ostp`',
      'a panel',
      'npm start',
      'ssh -L',
      '--upstream',
      '--qr',
      'latest@new',
      'Traffic stays 0',
    ])
      expect(screen).toContain(words);
  });

  it('without the markers of a table is an error that names the table', () => {
    expect(() => withTables('docs/settings.md', '# Keyway')).toThrow(
      'docs/settings.md: the markers of the table "settings"',
    );
  });

  it('names only commands, flags, scripts and sample files that exist', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    for (const [, script = ''] of readme.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toHaveProperty(script);
    for (const [path] of readme.matchAll(/fixtures\/samples\/[\w.-]+/g))
      expect(existsSync(join(ROOT, path)), path).toBe(true);
    // The name of a command is one word or two, and what follows is no part of a word.
    const command = new RegExp(`^(?:${COMMANDS.map(({ name }) => name).join('|')})(?![\\w.-])`);
    const lines = [...readme.matchAll(/npx keyway ([a-z][^\n`]*)/g)].map(([, words = '']) => words);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.filter((words) => !command.test(words))).toEqual([]);
    const flags = Object.values(SETTINGS).flatMap(({ flag, negation }) => [flag, negation?.flag]);
    const helps = await Promise.all(COMMANDS.map(async ({ load }) => (await load()).help()));
    const shown = helps.flatMap((help) => [...help.matchAll(/^ {2}--([a-z][a-z-]+)/gm)].map(([, flag]) => flag));
    // The flags of scripts are not Keyway's.
    for (const [, flag] of readme.replaceAll(/npm run [^`\n]*/g, '').matchAll(/--([a-z][a-z-]+)/g)) {
      expect([...flags, ...shown, 'settings', 'help']).toContain(flag);
    }
  });
});
