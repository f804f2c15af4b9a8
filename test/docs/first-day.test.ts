import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';

const PAGE = join(ROOT, 'docs/first-start.md');
const [OPEN, CLOSE] = [
  '<!-- first day: written by test/docs/first-day.test.ts with KEYWAY_WRITE_DOCS=1 -->\n\n```text\n',
  '```\n\n<!-- /first day -->',
];

/** What a terminal shows of a first day, with what differs from one to the next as it was once. */
async function firstDay(): Promise<string> {
  const folder = await folderForTest();
  const answers = ['192.0.2.7'];
  const at = { folder, terminal: true, ownAddresses: ['192.0.2.7'] };
  const served = await serveHere(['start', '--bind', '127.0.0.1:0'], { ...at, lines: answers });
  const url = await served.url;
  await expect.poll(served.text).toMatch(/^Wrote 192\.0\.2\.7 .*\n$/m);
  const commands = [
    ['keys', 'add', 'Anna', '--limit', '10GB'],
    ['keys', 'list'],
    ['keys', 'link', 'Anna'],
    ['keys', 'set', 'Anna', '--limit', '20GB'],
    ['keys', 'export'],
  ];
  const others: string[] = [];
  for (const argv of commands) {
    const { code, output, complaints } = await runHere(argv, { folder });
    expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
    others.push(`$ keyway ${argv.join(' ')}\n${output}`);
  }
  const before = await served.text();
  const { output, asked } = await served.stop();
  const typed = asked.map((question, index) => `${question}${answers[index]}\n`).join('');
  // On a terminal both come in their order.
  const [announced = '', kept = ''] = before.split(/(?<=^Panel: .*\n)/m);
  const again = await serveHere(['start', '--bind', '127.0.0.1:0'], { ...at, lines: [] });
  const nextUrl = await again.url;
  await expect.poll(again.text).toMatch(/^Panel: .*\n$/m);
  const second = await again.text();
  await again.stop();
  const first = ['$ keyway start\n', announced, output, typed, kept, '\n', others.join('\n')].join('');
  return plain(`${first}\n$ keyway start\n${second}`, folder, [url, nextUrl]);
}

/** Every key, password and web path is another one each time; so are folder, port and the time of day. */
function plain(text: string, folder: string, urls: readonly string[]): string {
  const keys = new Map<string, string>();
  const numbered = (key: string) => {
    const known = keys.get(key) ?? `${'0'.repeat(key.length - 1)}${keys.size + 1}`;
    keys.set(key, known);
    return known;
  };
  return urls
    .reduce((left, url) => left.replaceAll(url, 'http://127.0.0.1:9090'), text)
    .replaceAll(folder, '/home/you/keyway')
    .replaceAll(/\[\d\d:\d\d:\d\d\]/g, '[09:30:00]')
    .replaceAll(/\b[0-9a-z]{6}(?:-[0-9a-z]{6}){3}\b/g, 'k4m9xq-7w2vtd-h0s8zn-p3c6yr')
    .replaceAll(/\b[0-9a-f]{32}\b/g, numbered)
    .replaceAll(/\b[0-9a-f]{16}\b/g, '6b1f0c9a5d2e7384');
}

it('docs/first-start.md shows what the terminal of a first day shows', async () => {
  const page = await readFile(PAGE, 'utf8');
  const [start, end] = [page.indexOf(OPEN), page.indexOf(CLOSE)];
  expect(start).toBeGreaterThan(0);
  const text = await firstDay();
  if (process.env.KEYWAY_WRITE_DOCS === '1')
    await writeFile(PAGE, page.slice(0, start + OPEN.length) + text + page.slice(end));
  else expect(page.slice(start + OPEN.length, end)).toBe(text);
});
