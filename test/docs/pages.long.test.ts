import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { CLI, ROOT } from '../clone.js';
import { blocksOf, commandsOf, shellOf } from './markdown.js';
import { startPage } from './page-run.js';

const run = promisify(execFile);

const FOLDER = join(ROOT, 'docs');
const PAGES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(FOLDER, name), 'utf8') }));

/** What pages take for the reader's own, besides the sample. */
const FILLED: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  'test-your-client.md': async (folder) => {
    const modules = join(folder, 'node_modules');
    await mkdir(join(modules, '.bin'), { recursive: true });
    await symlink(ROOT, join(modules, 'keyway'));
    await symlink(CLI, join(modules, '.bin/keyway'));
    await symlink(join(ROOT, 'node_modules/vitest'), join(modules, 'vitest'));
    await symlink(join(ROOT, 'node_modules/vitest/vitest.mjs'), join(modules, '.bin/vitest'));
  },
  'replay-ci.md': async (folder) => {
    await cp(join(import.meta.dirname, 'client'), folder, { recursive: true });
    await cp(join(ROOT, 'fixtures/recorded/panels'), join(folder, 'recordings'), { recursive: true });
  },
};

describe('docs/', () => {
  beforeAll(buildIfOlder, 300_000);

  it('holds the generated tables as they would be written now, that of the dependencies among them', async () => {
    const script = join(ROOT, 'scripts/write-docs.mjs');
    await expect(run(process.execPath, [script, '--check'])).resolves.toBeDefined();
  });

  // Each in a folder of its own, on ports of its own, and most of the time waiting for a process.
  it.concurrent.for(PAGES)(
    '$name: every block of shell runs, in order, on a running gateway',
    { timeout: 180_000 },
    async (page, { onTestFinished }) => {
      const blocks = blocksOf(page.text).flatMap(shellOf);
      if (blocks.length === 0) return;
      const run = await startPage(page.text, FILLED[page.name]);
      onTestFinished(() => run.close());
      for (const block of blocks) {
        await run.run(block);
        for (const command of commandsOf(block.text)) process.stdout.write(`ran (docs/${page.name}): ${command}\n`);
      }
    },
  );
});
