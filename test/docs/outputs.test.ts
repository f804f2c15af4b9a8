import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { PASSWORD, startLiveServer, USERNAME, unhurried } from '../lab/live-server.js';
import { blocksOf } from './markdown.js';

/** The outputs that a page shows, in order, as lines. */
async function shownOutputs(page: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  const blocks = blocksOf(text).filter(({ language }) => language === 'text');
  return blocks.map((block) => block.text.split('\n'));
}

/** Every line that is shown is one of the output. */
function expectShown(shown: readonly string[], output: readonly string[]): void {
  expect(shown.length).toBeGreaterThan(1);
  const wrong = shown.filter((line) => !output.includes(line));
  expect(wrong, output.filter((line) => /^(?:not )?compatible|^ {2}(?:not|what)/.test(line)).join('\n')).toEqual([]);
}

test('README.md, docs/replay-ci.md and docs/moving-builds.md show what replay, record and compare print', async () => {
  const [, compatible = []] = await shownOutputs('README.md');
  const [other = []] = await shownOutputs('docs/replay-ci.md');
  const [recorded = [], moved = []] = await shownOutputs('docs/moving-builds.md');
  const environment = { KEYWAY_PASSWORD: PASSWORD };
  const replay = async (served: string) => {
    const { server, wait } = unhurried();
    const { origin } = await startLiveServer(served, {}, server);
    const argv = ['replay', '--target', origin, '--revision', '0.2.48', '--username', USERNAME];
    return (await runHere(argv, { environment, wait })).output.split('\n');
  };
  expectShown(compatible, await replay('0.2.48'));
  expectShown(other, await replay('0.3.6'));

  const folder = await folderForTest();
  const entry = (path: string) => ({
    request: { method: 'GET', url: `http://127.0.0.1:9${path}`, headers: [] },
    response: { status: 401, headers: [], content: { text: '{"ok":false,"error":"unauthorized"}' } },
  });
  const entries = ['/secret/api/users', '/secret/api/server/status'].map(entry);
  await writeFile(join(folder, 'saved.har'), JSON.stringify({ log: { entries } }));
  const flags = ['--target', 'http://127.0.0.1:9', '--revision', '0.2.48', '--out', 'out'];
  const har = await runHere(['record', '--from-har', 'saved.har', ...flags], { folder });
  expectShown(recorded, har.output.split('\n'));

  await mkdir(join(folder, 'recordings'));
  const panel = join(ROOT, 'fixtures/recorded/panels/dns-panel.json');
  await copyFile(panel, join(folder, 'recordings/session-001.json'));
  const move = await runHere(['compare', '--from', '0.2.48', '--to', '0.3.6', 'recordings'], { folder });
  expectShown(moved, move.output.split('\n'));
});
