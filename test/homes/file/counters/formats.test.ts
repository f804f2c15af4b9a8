import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { FILE_LIMITS } from '../../../../src/core/file-limits.js';
import { STORE_FORMATS, type StoreFormat } from '../../../../src/homes/file/counters/formats.js';
import { readStore } from '../../../../src/homes/file/counters/read-store.js';
import { FORMAT } from '../../../../src/homes/file/counters/store-file.js';
import { runHere } from '../../../commands/context.js';
import { configurationOf } from '../../../feed/stage.js';
import { bytesUp, dataFolder, openStore } from './store-folder.js';

const run = promisify(execFile);

/** A format before the first, for these tests: one file with a line of text for each key. */
const EARLIER: StoreFormat = {
  format: FORMAT - 1,
  async read(fileSystem, folder, files, each) {
    const damage: string[] = [];
    for (const { name } of files) {
      const text = (await fileSystem.read(join(folder, name), FILE_LIMITS.counters)).toString('utf8');
      for (const line of text.trim().split('\n')) {
        const [accessKey = '', bytes = ''] = line.split(' ');
        if (!/^\d+$/.test(bytes)) damage.push(`${name} has a line that is none: ${line}`);
        else {
          const counters = {
            accessKey,
            bytesUp: BigInt(bytes),
            bytesDown: 0n,
            connections: 0n,
            createdAt: 5,
            leftAt: null,
          };
          each({ kind: 'counters', counters });
        }
      }
    }
    return { state: files.at(-1) ?? null, lastLog: null, logBytes: 0, unfinished: 0, damage, files };
  },
};

/** What a later Keyway may write. */
const LATER: StoreFormat = { format: FORMAT + 1, read: readStore };

const KEYS = ['a', 'b'];
const OLD = `counters-${FORMAT - 1}`;
const PRESENT = `counters-${FORMAT}`;

async function earlierStore(text: string): Promise<string> {
  const folder = await dataFolder();
  await mkdir(join(folder, OLD));
  await writeFile(join(folder, OLD, 'state-0000000001'), text);
  return folder;
}

describe('a store of an earlier format', () => {
  const formats = [EARLIER, ...STORE_FORMATS.filter(({ format }) => format === FORMAT)];

  it('is taken over into a folder of its own at the first start, and the old copy stays as it was', async () => {
    const folder = await earlierStore('a 18446744073709551615\nb 7\n');
    const upgraded = await openStore(folder, KEYS, { formats });
    expect([bytesUp(upgraded, 'a'), bytesUp(upgraded, 'b')]).toEqual([2n ** 64n - 1n, 7n]);
    expect(upgraded.lines.join()).toContain('the counters are written in a new format; the old copy stays where it is');
    await upgraded.report('r', [['b', 1n]]);
    await upgraded.store.close();
    expect(await readFile(join(folder, OLD, 'state-0000000001'), 'utf8')).toBe('a 18446744073709551615\nb 7\n');
    const again = await openStore(folder, KEYS, { formats });
    expect([bytesUp(again, 'b'), again.reports.has('r')]).toEqual([8n, true]);
    expect(again.lines.join()).not.toContain('new format');
  });

  it('is taken over again where the upgrade was interrupted before it had written everything', async () => {
    const folder = await earlierStore('a 5\nb 7\n');
    await mkdir(join(folder, PRESENT));
    await writeFile(join(folder, PRESENT, 'state-0000000001.tmp'), '{"keyway":"counters"');
    const upgraded = await openStore(folder, KEYS, { formats });
    expect([bytesUp(upgraded, 'a'), bytesUp(upgraded, 'b')]).toEqual([5n, 7n]);
    await upgraded.store.close();
    expect(await readdir(join(folder, PRESENT))).toEqual(['state-0000000001']);
  });

  it('that is damaged is moved aside, and what can be read of it is upgraded', async () => {
    const folder = await earlierStore('a 5\nb what\n');
    const upgraded = await openStore(folder, KEYS, { formats });
    expect(upgraded.complaints.join()).toContain('has a line that is none: b what');
    expect([bytesUp(upgraded, 'a'), bytesUp(upgraded, 'b')]).toEqual([5n, 0n]);
    expect((await readdir(folder)).sort()).toEqual([PRESENT, 'damaged-counters-1'].sort());
  });
});

describe('a store that a later Keyway has upgraded', () => {
  async function laterStore(): Promise<string> {
    const folder = await dataFolder();
    const before = await openStore(folder, KEYS);
    await before.report('before', [['a', 5n]]);
    await before.store.close();
    const later = await openStore(folder, KEYS, { formats: [...STORE_FORMATS, LATER] });
    expect(bytesUp(later, 'a')).toBe(5n);
    await later.report('after', [['a', 100n]]);
    await later.store.close();
    return folder;
  }

  it('is refused by an earlier one with the command that goes back, which brings the counters of before', async () => {
    const folder = await laterStore();
    const refusal = await openStore(folder, KEYS).then(
      () => '',
      (error: unknown) => String(error instanceof Error ? error.message : error),
    );
    expect(refusal).toContain(`were written by a newer Keyway (format ${FORMAT + 1}, this one reads up to ${FORMAT})`);
    const [, command = ''] = /before the upgrade: (mv .*) —/.exec(refusal) ?? [];
    expect(command).toBe(`mv '${folder}/counters-${FORMAT + 1}' '${folder}/counters-${FORMAT + 1}.left'`);
    await run('sh', ['-c', command]);
    const back = await openStore(folder, KEYS);
    expect([bytesUp(back, 'a'), back.reports.has('before'), back.reports.has('after')]).toEqual([5n, true, false]);
  });

  it('goes back by a command that works for a folder of any name', async () => {
    const folder = join(await dataFolder(), "it's 1 $HOME");
    await mkdir(join(folder, `counters-${FORMAT + 1}`), { recursive: true });
    await writeFile(join(folder, `counters-${FORMAT + 1}`, 'state-0000000001'), '');
    const refusal = await openStore(folder, KEYS).catch((error: unknown) => String(error));
    const [, command = ''] = /starts without counters: (mv .*) —/.exec(String(refusal)) ?? [];
    await run('sh', ['-c', command]);
    expect(await readdir(folder)).toEqual([`counters-${FORMAT + 1}.left`]);
    await openStore(folder, KEYS);
  });

  it('makes keyway serve end with that one error and exit code 1, the store untouched', async () => {
    const folder = await dataFolder();
    const later = join(folder, 'server.json.keyway', `counters-${FORMAT + 1}`);
    await mkdir(later, { recursive: true });
    await writeFile(join(later, 'state-0000000001'), 'of a later Keyway');
    await writeFile(join(folder, 'server.json'), configurationOf(['a']));
    const argv = ['serve', '--config', 'server.json', '--bind', '127.0.0.1:0', '--log-level', 'silent'];
    const { code, complaints } = await runHere(argv, { folder });
    expect(code).toBe(1);
    expect(complaints).toMatch(/^The counters in .*server\.json\.keyway were written by a newer Keyway .*\n$/);
    expect(await readFile(join(later, 'state-0000000001'), 'utf8')).toBe('of a later Keyway');
    expect(await readdir(join(folder, 'server.json.keyway'))).not.toContain('lock');
    for (const command of [
      ['backup', 'state.jsonl'],
      ['counters', 'export'],
    ]) {
      const answer = await runHere([...command, '--config', 'server.json'], { folder });
      expect([answer.code, answer.output]).toEqual([1, '']);
      expect(answer.complaints).toContain('were written by a newer Keyway');
    }
  });
});
