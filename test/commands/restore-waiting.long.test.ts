import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keyDigest } from '../../src/core/key-digest.js';
import { type FeedStage, feedStage, listenForCommands, until } from '../feed/stage.js';
import { type RanHere, runHere } from './context.js';

async function api({ gateway }: FeedStage, method: 'POST' | 'DELETE', path: string, payload: unknown = {}) {
  const headers = { authorization: 'api-token', 'content-type': 'application/json' };
  const url = `/panel/api${path}`;
  return (await gateway.app.inject({ method, url, headers, payload: JSON.stringify(payload) })).json();
}

const run = ({ folder }: { folder: string }, ...argv: readonly string[]) =>
  runHere(['config', ...argv, '--config', 'server.json'], { folder });

interface Stage {
  readonly stage: FeedStage;
  readonly first: string;
  readonly id: string;
  text(): Promise<string>;
  restore(...flags: readonly string[]): Promise<RanHere>;
}

/** A gateway whose file is broken by now, with an addition and a removal that wait; and the version with `alpha` alone. */
async function waiting(): Promise<Stage> {
  const stage = await feedStage({ keys: ['alpha'] });
  await listenForCommands(stage);
  const path = join(stage.folder, 'server.json');
  const first = await readFile(path, 'utf8');
  expect(await api(stage, 'POST', '/users', { access_key: 'kept' })).toMatchObject({ ok: true });
  await writeFile(path, '{ broken');
  const failed = await Promise.all([
    api(stage, 'POST', '/users', { access_key: 'added-key', name: 'Guest' }),
    api(stage, 'DELETE', '/users/alpha'),
  ]);
  for (const answer of failed) expect(answer).toMatchObject({ error: 'failed to save configuration' });
  // Behind it there may be what the file held before it broke.
  const versions = JSON.parse((await run(stage, 'list', '--json')).output) as readonly { id: string }[];
  const id = versions.at(-1)?.id ?? '';
  const restore = (...flags: readonly string[]) => run(stage, 'restore', id, ...flags);
  return { stage, first, id, text: () => readFile(path, 'utf8'), restore };
}

const keysIn = ({ gateway }: FeedStage) =>
  ['alpha', 'kept', 'added-key'].filter((key) => gateway.core.keys.get(key) !== undefined);

describe('keyway config restore beside a gateway that could not write', () => {
  it('names what waits and comes back over the version, without the keys themselves', async () => {
    const { stage, id, text, restore } = await waiting();
    const { code, output, complaints } = await restore();
    expect([code, complaints]).toEqual([0, '']);
    const [, heading, ...lines] = output.trimEnd().split('\n');
    expect(heading).toBe('What could not be written before comes back over it, 2 changes:');
    expect(lines.pop()).toBe(`To have the version alone: keyway config restore ${id} --drop-waiting`);
    expect(lines.sort()).toEqual([
      `  the key ${keyDigest('added-key')} ("Guest")`,
      `  the removal of the key ${keyDigest('alpha')}`,
    ]);
    await until(async () => (await text()).includes('added-key'));
    await until(() => keysIn(stage).join() === 'added-key');
    expect(await text()).not.toContain('alpha');
    // The file shows the write before the disk has it.
    await until(() => stage.gateway.local?.configuration?.status().writing === false);
    expect(stage.gateway.local?.configuration?.status()).toMatchObject({ lastWriteError: null, pendingChanges: 0 });
  });

  it('gives up what waits with --drop-waiting: the version is what stands, in the file and live', async () => {
    const { stage, first, text, restore } = await waiting();
    const { code, output } = await restore('--drop-waiting', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ waiting: { count: 2 }, dropped: true });
    expect(output).not.toMatch(/added-key|alpha/);
    expect(await text()).toBe(first);
    expect(keysIn(stage)).toEqual(['alpha']);
    expect(stage.gateway.local?.configuration?.status()).toMatchObject({ lastWriteError: null, pendingChanges: 0 });
    expect(await api(stage, 'POST', '/users', { access_key: 'kept' })).toMatchObject({ ok: true });
    expect(await text()).not.toContain('added-key');
    const left = (await readdir(join(stage.folder, 'server.json.keyway'))).filter((name) => name.includes('request'));
    expect(left).toEqual([]);
  });

  it('and has another data folder changes nothing and says so', async () => {
    const { stage, id, text } = await waiting();
    const other = join(stage.folder, 'other');
    const versions = join(stage.folder, 'server.json.keyway', 'versions');
    const [name = ''] = await readdir(versions);
    await mkdir(join(other, 'versions'), { recursive: true });
    await copyFile(join(versions, name), join(other, 'versions', name));
    for (const flags of [['--drop-waiting'], []]) {
      const refused = await run(stage, 'restore', id, '--data-dir', other, ...flags);
      expect([refused.code, refused.complaints]).toEqual([1, expect.stringContaining('is in use by process ')]);
      expect(refused.complaints).toContain('name the data folder that it was started with');
      expect(await text()).toBe('{ broken');
    }
  });
});

describe('keyway config restore where no gateway serves', () => {
  it.each([
    { flags: [] },
    { flags: ['--drop-waiting'] },
  ])('restores the version, with nothing that waits: $flags', async ({ flags }) => {
    const stage = await feedStage({ keys: ['alpha'] });
    const path = join(stage.folder, 'server.json');
    const first = await readFile(path, 'utf8');
    await api(stage, 'POST', '/users', { access_key: 'kept' });
    await stage.close();
    // The newest is what the file holds.
    const versions = JSON.parse((await run(stage, 'list', '--json')).output) as readonly { id: string }[];
    const { code, output } = await run(stage, 'restore', versions.at(-1)?.id ?? '', ...flags);
    expect([code, output.trimEnd().split('\n').length]).toEqual([0, 1]);
    expect(await readFile(path, 'utf8')).toBe(first);
  });
});
