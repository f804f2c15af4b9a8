import { execFile } from 'node:child_process';
import { cp, readFile, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { blocksOf, commandsOf } from './markdown.js';
import { startPage } from './page-run.js';

const run = promisify(execFile);

/** What `npm ci` would bring into a clone. */
async function install(folder: string): Promise<void> {
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await cp(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  // Some versions of Node leave an empty file the time of what was copied, which is older than the clone.
  await utimes(join(folder, 'dist/.built'), new Date(), new Date());
}

beforeAll(buildIfOlder, 300_000);

it('README.md: every block of shell runs, in order, in a clone, and leaves its files as they are', {
  timeout: 240_000,
}, async ({ onTestFinished }) => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  let clone = '';
  const page = await startPage(readme, async (folder) => {
    clone = folder;
    await install(folder);
  });
  onTestFinished(() => page.close());
  const blocks = blocksOf(readme).filter(({ language }) => language === 'sh');
  let ran = 0;
  for (const block of blocks) {
    const commands = commandsOf(block.text);
    if (block.notRun !== null) {
      process.stdout.write(`not run (README.md:${block.line}): ${block.notRun}: ${commands.join('; ')}\n`);
      continue;
    }
    // The dependencies are there.
    await page.run({ ...block, text: block.text.replace(/^npm ci && /, '') });
    process.stdout.write(`ran (README.md): ${commands.join('; ')}\n`);
    ran += commands.length;
  }
  expect(ran).toBeGreaterThan(6);
  const changed = await run('git', ['-c', 'safe.directory=*', 'diff', '--stat'], { cwd: clone });
  expect(changed.stdout).toBe('');
});
