import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import everyTest from '../vitest.every.config.js';
import { ROOT } from './clone.js';
import { allTests, quickTests, SLOW, startsSomething } from './quick.js';
import { ALONE, LONG } from './runs.js';

describe('npm run test:quick', () => {
  it('takes in a test file whose imports start nothing', () => {
    expect(startsSomething('test/core/password.test.ts')).toBeNull();
    expect(quickTests()).toContain('test/core/password.test.ts');
  });

  it.each([
    ['a process', 'test/platform/file-system.test.ts', /^test\/platform\/file-system\.test\.ts: .*node:child_process/],
    ['a process, through a helper', 'test/commands/commands.test.ts', /^test\/shared\.ts: /],
    ['a browser', 'test/panel/browser/keys.test.ts', /playwright-core|inject/],
    ['a database', 'test/homes/database/backend.test.ts', /pg|inject/],
    ['a socket', 'test/dns/tcp.test.ts', /node:net/],
    ['the socket on which scenarios are played', 'test/embedded/embedded.test.ts', /src\/embedded\/(?:play|stage)/],
  ])('leaves out a test file that starts %s', (_, file, why) => {
    expect(startsSomething(file)).toMatch(why);
    expect(quickTests()).not.toContain(file);
  });

  it('names as too slow only test files that it would take in', () => {
    expect(SLOW.filter((file) => !allTests().includes(file))).toEqual([]);
    expect(SLOW.filter((file) => startsSomething(file) !== null)).toEqual([]);
  });
});

describe('npm test', () => {
  it('does its global set-up once: no project of it has one of its own', () => {
    const { globalSetup, projects = [] } = everyTest.test ?? {};
    expect(globalSetup).toEqual(['test/build-setup.ts', 'test/global-setup.ts']);
    expect(projects).toHaveLength(2);
    for (const project of projects) expect(project).not.toHaveProperty('test.globalSetup');
  });
});

describe('the order of running', () => {
  it('names only test files that there are', () => {
    const named = [...ALONE, ...LONG.map((ending) => ending.slice(1))];
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});
