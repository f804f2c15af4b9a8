import { expect, test } from 'vitest';
import { current } from '../../revisions/current.js';
import type { FileSystemPort } from '../../src/core/ports.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { SavedDifferences } from '../../src/shadow/saved-differences.js';
import type { Passed } from '../../src/shadow/traffic.js';
import type { JsonValue } from '../../src/wire/json/json.js';
import { writeJson } from '../../src/wire/json/write-json.js';

const FOUND = {
  caller: { send: () => Promise.reject(new Error('asks nothing')), close: () => undefined },
  target: { origin: 'http://127.0.0.1', apiRoot: '/panel/api', base: '/panel' },
  revision: current,
  version: '0.2.96',
};

function passed(path: string, data: JsonValue): Passed {
  return {
    ...{ sequence: 1, client: '127.0.0.1 node', method: 'GET', path: `/panel/api${path}`, status: 200 },
    requestHeaders: new Map([['authorization', 'Bearer secret']]),
    requestBody: Buffer.alloc(0),
    responseHeaders: new Map([['content-type', 'application/json']]),
    responseBody: Buffer.from(writeJson({ ok: true, data })),
    ...{ startedAt: 0, beside: { keys: [], subjects: [] } },
  };
}

function savedIn(fileSystem: FileSystemPort, milliseconds: number) {
  const told: string[] = [];
  const onFailure = (sentence: string) => void told.push(sentence);
  const options = { folder: '/saved', milliseconds, date: '2026-11-24', fileSystem, onFailure };
  return { saved: new SavedDifferences(options), told };
}

test('a difference is saved where keyway replay can play it, and else it is told why not', async () => {
  const fileSystem = createMemoryFiles();
  const { saved, told } = savedIn(fileSystem, 50_000);
  const entry = { id: '7', time: '12:00:00', eventEn: 'Sign-in', eventRu: 'Вход', success: true };
  saved.save(passed('/audit', [entry]), 'with entries', FOUND);
  saved.save(passed('/audit', []), 'without entries', FOUND);
  saved.save(passed('/router/rules', 'x'.repeat(1024 * 1024)), 'large', FOUND);
  await saved.settled();
  expect(await fileSystem.list('/saved')).toEqual(['difference-001.json']);
  expect((await fileSystem.read('/saved/difference-001.json', 100_000)).toString()).toContain('"without entries"');
  expect(told.toSorted()).toEqual([
    '--save: listAudit tells of what no scenario can begin with: what differs there is not saved',
    '--save: what differs in an answer above 1 MiB is not saved',
  ]);
});

test('a difference that is found while others are saved at the end is saved, too', async () => {
  const fileSystem = createMemoryFiles();
  const { saved, told } = savedIn(fileSystem, 50_000);
  saved.save(passed('/audit', []), 'one', FOUND);
  const settled = saved.settled();
  await Promise.resolve();
  saved.save(passed('/audit', []), 'other', FOUND);
  await settled;
  expect(await fileSystem.list('/saved')).toEqual(['difference-001.json', 'difference-002.json']);
  expect(told).toEqual([]);
});

test('what a folder that hangs has not taken at the end is told', async () => {
  const fileSystem = { ...createMemoryFiles(), makeFolder: () => new Promise<never>(() => undefined) };
  const { saved, told } = savedIn(fileSystem, 10);
  saved.save(passed('/audit', []), 'one', FOUND);
  saved.save(passed('/audit', []), 'other', FOUND);
  await saved.settled();
  expect(told).toEqual(['--save: what differs in 2 requests is not saved: no time was left']);
});
