import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { WHOLE } from '../whole.js';
import { runHere } from './context.js';
import { startKeyway } from './process.js';

let folder = '';
beforeAll(buildIfOlder, 300_000);
beforeEach(async () => {
  folder = await folderForTest();
  const keys = Array.from({ length: 3000 }, (_, index) => `key-${index}`);
  const api = { enabled: true, bind: '127.0.0.1:0', token: 'api-token' };
  await writeFile(join(folder, 'server.json'), JSON.stringify({ mode: 'server', api, access_keys: keys }));
  const lines = keys.map((access_key) => ({ access_key, bytes_up: 1, bytes_down: 2, connections: 0, created_at: 3 }));
  await writeFile(join(folder, 'counters.jsonl'), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
});

/** What makes a terminal's line empty. */
const ERASE = '\r\u001b[2K';

/** What a command shows on a terminal while it works, each text once, less the escapes around it. */
async function shownBy(...argv: readonly string[]): Promise<readonly string[]> {
  const { code, complaints, progress } = await runHere(argv, { folder, terminal: true });
  expect(complaints).toBe('');
  expect(code).toBe(0);
  return [...new Set(progress.map((text) => text.replace(ERASE, '')))].filter((text) => text !== '');
}

function bar(filled: number): string {
  return `[${'#'.repeat(filled)}${'.'.repeat(30 - filled)}]`;
}

const STORED = ['--config', 'server.json'];

describe('on a terminal', () => {
  it('a conversion shows its steps and that it writes', async () => {
    expect(await shownBy('config', 'convert', 'server.json', '--layout', 'inbounds', '--out', 'new.json')).toEqual([
      `${bar(0)} converting server.json`,
      `${bar(10)} converting server.json`,
      `${bar(20)} converting server.json`,
      'writing new.json …',
    ]);
  });

  it('an import of counters shows how far it has read, taken over and written', async () => {
    expect(await shownBy('counters', 'import', 'counters.jsonl', ...STORED)).toEqual([
      ...[0, 8, 15, 23].map((filled) => `${bar(filled)} reading counters.jsonl`),
      'handing them over …',
      'reading the configuration file and its counters …',
      'writing …',
    ]);
  });

  if (WHOLE)
    it('a backup and its restoring show what they do', async () => {
      await runHere(['counters', 'import', 'counters.jsonl', ...STORED], { folder });
      expect(await shownBy('backup', 'state.jsonl', ...STORED)).toEqual([
        'reading the configuration file and its counters …',
        'writing state.jsonl …',
      ]);
      expect(await shownBy('restore', 'state.jsonl', ...STORED)).toEqual([
        ...[0, 7, 13, 20, 27].map((filled) => `${bar(filled)} reading state.jsonl`),
        'handing it over …',
        ...[0, 7, 13, 20, 27].map((filled) => `${bar(filled)} taking over`),
        'writing …',
      ]);
    });

  if (WHOLE)
    it('an import that another Keyway does shows that it waits', async () => {
      const serving = startKeyway(['serve', ...STORED], { folder });
      try {
        await serving.logged((record) => record.url !== undefined);
        expect(await shownBy('counters', 'import', 'counters.jsonl', ...STORED)).toEqual([
          ...[0, 8, 15, 23].map((filled) => `${bar(filled)} reading counters.jsonl`),
          'handing them over …',
          'waiting for the Keyway that serves …',
        ]);
      } finally {
        serving.child.kill('SIGTERM');
        await serving.ended;
      }
    });

  it('a replay shows how many scenarios have been played', async () => {
    const paths = ['list-users', 'get-user', 'status'].map((name) => join(ROOT, `fixtures/current/${name}.json`));
    const { progress, output } = await runHere(['replay', ...paths], { folder, terminal: true });
    expect(output).toMatch(/^3 equal, 0 different, 0 skipped$/m);
    const texts = progress.join('');
    for (const count of [0, 1, 2, 3]) expect(texts).toContain(`${bar(count * 10)} ${count} of 3`);
  });
});

if (WHOLE)
  describe('in a pipe', () => {
    it('a command shows no progress', async () => {
      const { child, ended } = startKeyway(['counters', 'import', 'counters.jsonl', ...STORED], { folder });
      child.stdin.end();
      const { code, output, complaints } = await ended;
      expect(complaints).toBe('');
      for (const shown of [ERASE, bar(0), '…']) expect(output).not.toContain(shown);
      expect(code).toBe(0);
    });
  });
