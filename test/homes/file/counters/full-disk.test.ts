import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Check } from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { feedOpenApiDocument } from '../../../../src/feed/openapi.js';
import { encodeJson } from '../../../../src/wire/json/write-json.js';
import { runHere } from '../../../commands/context.js';
import { configurationOf, type FeedStage, feedStage, report } from '../../../feed/stage.js';
import { folderForTest } from '../../../folder-for-test.js';
import { someOf } from '../../../whole.js';
import { type SmallDisk, smallDisk } from './small-disk.js';
import { openStore } from './store-folder.js';

/** So many that their batch does not fit into what is left of the last page. */
const KEYS = Array.from({ length: 300 }, (_, index) => `key-${String(index).padStart(20, '0')}`);
const [FIRST = '', SECOND = '', THIRD = ''] = KEYS;

/** The counters alone are on the small disk. */
async function stageOn(disk: SmallDisk, start: { keys: readonly string[] } | { folder: string }): Promise<FeedStage> {
  return feedStage(start, { dataDir: join(disk.folder, 'data'), fileSystem: disk.fileSystem });
}

const everyKey = (id: string, bytes: number) => report(id, ...KEYS.map((key) => [key, bytes, 0] as const));

function bytesUp({ gateway }: FeedStage): readonly string[] {
  return [...new Set(KEYS.map((key) => String(gateway.core.keys.get(key)?.counters?.bytesUp)))];
}

async function api(stage: FeedStage, method: 'POST' | 'DELETE' | 'PUT', path: string, body: unknown = {}) {
  const answer = await stage.gateway.app.inject({
    method,
    url: `/panel/api${path}`,
    headers: { authorization: 'api-token', 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  });
  return [answer.statusCode, answer.json()];
}

/** What the feed's document says of an answer that is not durable. */
function notDurableOf(path: string): object {
  const document = JSON.parse(encodeJson(feedOpenApiDocument()));
  return document.paths[path].post.responses[503].content['application/json'].schema;
}

const failures = (stage: FeedStage) => stage.lines.filter((line) => line.includes('counters could not be written'));

describe.each(
  someOf(
    [
      ['full', 'No space left on device (ENOSPC)', (disk: SmallDisk) => ({ spoil: disk.fill, mend: disk.free })],
      [
        'read-only',
        'Read-only file system (EROFS)',
        (disk: SmallDisk) => ({ spoil: disk.readOnly, mend: disk.writable }),
      ],
    ] as const,
    1,
  ),
)('while the disk of the counters is %s', (_how, reason, ways) => {
  it('counters as they stand are a 503 that says why; sent again when there is room they are durable, and counted once', async () => {
    const disk = await smallDisk();
    const { spoil, mend } = ways(disk);
    const stage = await stageOn(disk, { keys: KEYS });
    const post = (number: number, bytes: number) => ({
      source: 's',
      epoch: 1,
      number,
      from: 'zero',
      counters: KEYS.map((access_key) => ({ access_key, bytes_up: bytes, bytes_down: 0 })),
    });
    expect((await stage.post('/v1/counters', post(1, 1))).body).toMatchObject({ durable: true });
    await spoil();
    const refused = await stage.post('/v1/counters', post(2, 11));
    expect([refused.status, refused.body]).toEqual([
      503,
      {
        error: `the post is counted but not durable: counters could not be written: ${reason}; send it again`,
        repeated: false,
        baseline: false,
        unknown_keys: [],
      },
    ]);
    expect(Check(notDurableOf('/v1/counters'), refused.body)).toBe(true);
    await mend();
    expect((await stage.post('/v1/counters', post(2, 11))).body).toMatchObject({ durable: true, repeated: true });
    await stage.close();
    const later = await stageOn(disk, stage);
    await later.post('/v1/counters', post(3, 12));
    expect(bytesUp(later)).toEqual(['12']);
  });

  it('a durable report is a 503 that says why; sent again when there is room it is durable, and counted once', async () => {
    const disk = await smallDisk();
    const { spoil, mend } = ways(disk);
    const stage = await stageOn(disk, { keys: KEYS });
    expect((await stage.post('/v1/usage', everyKey('before', 1))).body).toMatchObject({ durable: true });
    await spoil();
    const refused = await stage.post('/v1/usage', everyKey('r', 10));
    expect([refused.status, refused.body]).toEqual([
      503,
      {
        error: `the report is counted but not durable: counters could not be written: ${reason}; send it again with the same report_id`,
        repeated: false,
        unknown_keys: [],
      },
    ]);
    expect(Check(notDurableOf('/v1/usage'), refused.body)).toBe(true);
    const nameless = await stage.post('/v1/usage', report(null, ...KEYS.map((key) => [key, 100, 0] as const)));
    expect([nameless.status, nameless.text]).toEqual([503, expect.stringContaining('it must not be sent again')]);
    expect((await stage.post('/v1/usage?ack=memory', everyKey('m', 1000))).body).toMatchObject({ durable: false });
    expect(bytesUp(stage)).toEqual(['1111']);
    expect(failures(stage)).toHaveLength(1);
    await mend();
    expect((await stage.post('/v1/usage', everyKey('r', 10))).body).toMatchObject({ durable: true, repeated: true });
    expect(stage.lines.join()).toContain('counters can be written again');
    await stage.close();
    expect(bytesUp(await stageOn(disk, stage))).toEqual(['1111']);
  });

  it('a reset and a repeated create are answered as the specification says, and stand after a restart', async () => {
    const disk = await smallDisk();
    const { spoil, mend } = ways(disk);
    const stage = await stageOn(disk, { keys: KEYS });
    await stage.post('/v1/usage', everyKey('before', 1));
    await spoil();
    await stage.post('/v1/usage', everyKey('r', 10));
    expect(await api(stage, 'POST', `/users/${FIRST}/reset`)).toEqual([200, { ok: true, data: true }]);
    expect(await api(stage, 'POST', '/users', { access_key: SECOND })).toEqual([200, { ok: true, data: SECOND }]);
    // The version before is kept on that disk, too: without it the file is not written.
    const unsaved = [400, { ok: false, error: 'failed to save configuration' }];
    expect(await api(stage, 'DELETE', `/users/${THIRD}`)).toEqual(unsaved);
    const counters = (at: FeedStage) =>
      [FIRST, SECOND, THIRD].map((key) => at.gateway.core.keys.get(key)?.counters?.bytesUp);
    expect(counters(stage)).toEqual([0n, 0n, undefined]);
    expect(failures(stage)).toHaveLength(1);
    await mend();
    expect((await api(stage, 'PUT', `/users/${FIRST}/limit`, { limit_bytes: 5 }))[0]).toBe(200);
    await stage.close();
    const later = await stageOn(disk, stage);
    expect(counters(later)).toEqual([0n, 0n, undefined]);
    expect(later.gateway.core.keys.get(KEYS[3] ?? '')?.counters?.bytesUp).toBe(11n);
    expect(later.gateway.local?.keys.kept(THIRD)).toBe(null);
  });

  it('a stop says that something was not written, and what was acknowledged before is there afterwards', async () => {
    const disk = await smallDisk();
    const { spoil, mend } = ways(disk);
    const stage = await stageOn(disk, { keys: KEYS });
    await stage.post('/v1/usage', everyKey('before', 1));
    await spoil();
    await stage.post('/v1/usage?ack=memory', everyKey('lost', 10));
    await stage.close();
    expect(failures(stage)).toHaveLength(1);
    await mend();
    // A disk that nothing can be removed from keeps the lock, too; it is this very process that it names.
    await rm(join(disk.folder, 'data/lock'), { force: true });
    const later = await stageOn(disk, stage);
    expect(bytesUp(later)).toEqual(['1']);
    expect((await later.post('/v1/usage', everyKey('before', 1))).body).toMatchObject({ repeated: true });
    expect((await later.post('/v1/usage', everyKey('lost', 10))).body).toMatchObject({ repeated: false });
  });

  it('a start is one clear error, and changes nothing', async () => {
    const disk = await smallDisk();
    const { spoil, mend } = ways(disk);
    const stage = await stageOn(disk, { keys: KEYS });
    await stage.post('/v1/usage', everyKey('before', 1));
    await stage.close();
    await spoil();
    await expect(stageOn(disk, stage)).rejects.toThrow(
      `The data folder ${join(disk.folder, 'data')} cannot be used: ${reason}. Name another with --data-dir.`,
    );
    await mend();
    expect(bytesUp(await stageOn(disk, { folder: stage.folder }))).toEqual(['1']);
  });
});

describe('a disk without room for the whole state beside its log', () => {
  it('is not filled up by what was written of it: counters are written on', async () => {
    const disk = await smallDisk();
    const { fileSystem } = disk;
    const append: typeof fileSystem.append = async (path, content) => {
      await fileSystem.append(path, content);
      if (path.endsWith('.tmp')) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    };
    const options = { compactBytes: 1, fileSystem: { ...fileSystem, append } };
    const { report, complaints } = await openStore(disk.folder, KEYS, options);
    await report('a', [[FIRST, 1n]]);
    await expect.poll(() => complaints.join()).toContain('could not be rewritten');
    await expect.poll(() => readdir(join(disk.folder, 'counters-2'))).toEqual(['log-0000000001']);
  });
});

describe('where nothing can be kept', () => {
  it('a data folder that is a file is one clear error at start', async () => {
    const folder = await folderForTest();
    await writeFile(join(folder, 'server.json'), configurationOf([]));
    await writeFile(join(folder, 'data'), '');
    const argv = ['serve', '--config', 'server.json', '--data-dir', 'data', '--bind', '127.0.0.1:0'];
    const { code, complaints } = await runHere([...argv, '--log-level', 'silent'], { folder });
    expect([code, complaints]).toEqual([1, expect.stringMatching(/^The data folder .*data cannot be used: .*\n$/)]);
    expect(complaints).toContain('--data-dir');
  });
});
