import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exchange } from '../../panel/api/http.js';
import { createOwnInterface } from '../../panel/api/own-interface.js';
import { rotateKey } from '../../panel/api/rotation.js';
import { en } from '../../panel/i18n/en.js';
import { fill } from '../../panel/i18n/message.js';
import { sentence, type Words } from '../../panel/i18n/text.js';
import { DomainError } from '../../src/core/errors.js';
import { createFailure } from '../../src/platform/failure-words.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { fileStage } from '../own-api/homes.js';
import type { OwnReply, OwnStage } from '../own-api/stage.js';
import { serveHere } from '../serve/serve-here.js';
import { WHOLE } from '../whole.js';
import { runHere } from './context.js';

// The panel's words ask the browser for its language.
vi.hoisted(() => vi.stubGlobal('navigator', { languages: ['en'] }));

afterEach(() => {
  vi.unstubAllGlobals();
});

/** The cells of the table in docs/errors.md: what the terminal, the panel and Keyway's own interface say. */
async function said(row: string): Promise<readonly RegExp[]> {
  const text = await readFile(join(ROOT, 'docs/errors.md'), 'utf8');
  const line = text.split('\n').find((each) => each.startsWith(`| ${row} |`)) ?? '';
  return line
    .split('|')
    .slice(2, 5)
    .map((cell) => {
      const sentences = [...cell.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words);
      const words = sentences.findLast((each) => each.includes(' ')) ?? '';
      const literal = words.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
      return new RegExp(literal.replaceAll(/\b(KEY|FILE|REASON|N)\b/g, '.+'));
    });
}

const english: Words = Object.assign((name: keyof typeof en, values = {}) => fill(en[name], 'en', values), {
  language: 'en' as const,
});

/** The sentence of the panel for an answer of Keyway's own interface. */
async function inPanel({ status, body }: OwnReply): Promise<string> {
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(body), { status }));
  const failed = await exchange('http://keyway', { method: 'GET', path: '/' }).catch((error: unknown) => error);
  return sentence(failed, english);
}

const MISSING_COMMA = '{ "mode": "server"\n  "access_keys": ["a"] }';
const GOOD = '{ "mode": "server",\n  "access_keys": ["a"] }';

const rotate = ({ call }: OwnStage, once = 'one') =>
  call('POST /keys/a/rotate', { body: {}, headers: { 'idempotency-key': once } });

async function ownFile() {
  const stage = await fileStage();
  await stage.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
  return { ...stage, spoil: () => writeFile(stage.configPath, MISSING_COMMA) };
}

const changesOf = ({ app }: OwnStage) => app.keyway.backend.changes;

describe('a change that is in memory only', () => {
  const ROW = 'in force, in memory only';

  it('is told so in the terminal, which prints the key, and goes into the file once that is mended', async () => {
    const folder = await folderForTest();
    const path = join(folder, 'keyway.jsonc');
    await writeFile(path, GOOD);
    await (await serveHere(['serve', '--bind', '127.0.0.1:0', '--allow-open'], { folder })).url;
    await writeFile(path, MISSING_COMMA);
    const added = await runHere(['keys', 'add', 'Anna'], { folder });
    const key = added.output.trim();
    const [terminal] = await said(ROW);
    expect(added).toMatchObject({ code: 1, complaints: expect.stringMatching(terminal ?? '') });
    expect(added.complaints).toContain(
      `Made ${key}, in memory of process ${process.pid} until it ends; not in ${path}`,
    );
    expect(added.complaints).toContain(`${path}: line 2, column 3: `);
    const turned = await runHere(['keys', 'rotate', 'Anna'], { folder });
    expect(turned).toMatchObject({ code: 1, complaints: expect.stringContaining(`Made ${turned.output.trim()}, in`) });
    await writeFile(path, GOOD);
    await expect.poll(() => readFile(path, 'utf8')).toContain(turned.output.trim());
    expect(await readFile(path, 'utf8')).not.toContain(key);
  });

  if (WHOLE)
    it('keeps the notes of a table beside the keys that it brings', async () => {
      const folder = await folderForTest();
      const path = join(folder, 'keyway.jsonc');
      await writeFile(path, GOOD);
      await (await serveHere(['serve', '--bind', '127.0.0.1:0', '--allow-open'], { folder })).url;
      await writeFile(path, MISSING_COMMA);
      await writeFile(join(folder, 'keys.csv'), 'key,name,note\na,Anna,of Anna\nb,Bea,of Bea\n');
      const imported = await runHere(['keys', 'import', 'keys.csv'], { folder });
      expect(imported).toMatchObject({ code: 1, complaints: expect.stringContaining('Imported 2 keys, in memory of') });
      const { output } = await runHere(['keys', 'list', '--json'], { folder });
      expect(JSON.parse(output)).toMatchObject([{ note: 'of Anna' }, { note: 'of Bea' }]);
    });

  it('is 507 with its data at the own interface, and under its Idempotency-Key again the same key', async () => {
    const stage = await ownFile();
    await stage.spoil();
    const first = await rotate(stage);
    const again = await rotate(stage);
    const [, panel, own] = await said(ROW);
    expect(first).toMatchObject({
      status: 507,
      body: { code: 'saved_in_memory', error: expect.stringMatching(own ?? '') },
    });
    const { data } = Object(first.body);
    expect(again).toMatchObject({ status: 507, body: { data } });
    expect(await inPanel(first)).toMatch(panel ?? '');
    const patched = await stage.call(`PATCH /keys/${data.access_key}`, { body: { limit_bytes: 5 } });
    expect(patched).toMatchObject({ status: 507, body: { data: { name: 'Anna', limit_bytes: 5n } } });
    await writeFile(stage.configPath, GOOD);
    expect(await rotate(stage)).toMatchObject({ status: 200, body: { data } });
    expect(await readFile(stage.configPath, 'utf8')).toContain(data.access_key);
  });

  it('counts as done in a batch, with the reason', async () => {
    const stage = await ownFile();
    await stage.spoil();
    const items = [{ op: 'create', name: 'Bea' }];
    const made = await stage.call('POST /keys/batch?wait=30', { body: { items } });
    expect(made.body).toMatchObject({
      data: {
        done: 1n,
        failed: 0n,
        items: [{ ok: true, code: 'saved_in_memory', error: expect.stringMatching(/line 2/) }],
      },
    });
  });

  if (WHOLE)
    it('gives the panel the new secret to hand out', async () => {
      const stage = await ownFile();
      await stage.spoil();
      const { status, body } = await rotate(stage);
      vi.stubGlobal('fetch', async () => new Response(JSON.stringify(body), { status }));
      const own = createOwnInterface({ exchange: (call) => exchange('http://keyway', call), stream: vi.fn() });
      const { key, unsaved } = await rotateKey(own, 'a', 'one');
      expect(key).toBe(Object(body).data.access_key);
      expect(unsaved).toMatchObject({ kind: 'inMemory' });
    });
});

describe('a change that was not made', () => {
  const ROW = 'not made';

  it('is told so by a command that opens the file by itself, and does not come later', async () => {
    const folder = await folderForTest();
    const path = join(folder, 'keyway.jsonc');
    await writeFile(path, GOOD);
    const real = createFileSystem();
    let failures = 1;
    const fileSystem = {
      ...real,
      createSynced: async (...asked: Parameters<typeof real.createSynced>) => {
        if (!basename(asked[0]).startsWith('.keyway.jsonc.keyway-') || failures === 0)
          return real.createSynced(...asked);
        failures -= 1;
        throw createFailure('ENOSPC', 'no space');
      },
    };
    const added = await runHere(['keys', 'add', 'Anna'], { folder, fileSystem });
    const [terminal] = await said(ROW);
    expect(added).toMatchObject({ code: 1, output: '', complaints: expect.stringMatching(terminal ?? '') });
    expect({ failures, file: await readFile(path, 'utf8') }).toEqual({ failures: 0, file: GOOD });
  });

  it('is told so by the own interface and the panel', async () => {
    const stage = await ownFile();
    vi.spyOn(changesOf(stage), 'apply').mockRejectedValue(new DomainError('saveFailed'));
    const refused = await stage.call('PATCH /keys/a', { body: { limit_bytes: 5 } });
    const [, panel, own] = await said(ROW);
    expect(refused).toMatchObject({
      status: 500,
      body: { code: 'save_failed', error: expect.stringMatching(own ?? '') },
    });
    expect(await inPanel(refused)).toMatch(panel ?? '');
  });
});

describe('a change whose answer was lost', () => {
  it('is told as perhaps made, by all three', async () => {
    const stage = await ownFile();
    vi.spyOn(changesOf(stage), 'apply').mockRejectedValue(new DomainError('outcomeUnknown', 'no answer'));
    const lost = await stage.call('PATCH /keys/a', { body: { limit_bytes: 5 } });
    const [terminal, panel, own] = await said('perhaps made, its answer lost');
    expect(lost).toMatchObject({
      status: 504,
      body: { code: 'outcome_unknown', error: expect.stringMatching(own ?? '') },
    });
    expect(await inPanel(lost)).toMatch(panel ?? '');
    // The terminal repeats the sentence of the answer.
    expect(Object(lost.body).error).toMatch(terminal ?? '');
  });
});
