import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { serveHere } from '../serve/serve-here.js';
import { CREDENTIALS } from '../stand-in/files.js';
import { standInOf } from '../stand-in/test-stand-in.js';
import { runHere } from './context.js';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'keyway.jsonc'));
});

const run = (argv: readonly string[], environment = {}) => runHere(argv, { folder, environment });

/** The status of a list of keys that somebody with this token asks for. */
const asked = async (url: string, token: string, path = '/panel/api/users') =>
  (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status;

const status = (url: string, token: string) => asked(url, token, '/panel/api/server/status');

describe('keyway token on a file', () => {
  it('holds when it ends, through the Keyway that serves', async () => {
    const served = await serveHere(['serve', '--bind', '127.0.0.1:0', '--revision', '0.2.48'], { folder });
    const url = await served.url;
    const added = await run(['token', 'add', 'relay-eu', '--may', 'relay', '--expires', '90d']);
    expect(added.code, added.complaints).toBe(0);
    expect(added.output).toMatch(/^kw_[A-Za-z0-9_-]{43}\n$/);
    const token = added.output.trim();
    expect([await asked(url, token), await status(url, token)]).toEqual([200, 403]);
    expect((await run(['token', 'list'])).output).toMatch(/^relay-eu +relay +\S+ \S+ UTC +terminal +\S+ \S+ UTC$/m);
    expect((await run(['token', 'list', '--json'])).output).not.toContain(token);
    expect(await run(['token', 'add', 'relay-eu', '--may', 'all'])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('there is a token relay-eu already'),
    });
    const usage = await run(['usage']);
    expect(usage.output).toMatch(/^relay-eu +node +dns +listUsers +1 /m);
    expect((await run(['revisions', '--used'])).output).toMatch(/^dns .*relay-eu \(node\)/m);
    expect((await run(['token', 'remove', 'relay-eu'])).code).toBe(0);
    expect(await asked(url, token)).toBe(401);
    expect(await run(['token', 'remove', 'relay-eu'])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('there is no token relay-eu'),
    });
  });

  it('is found by the Keyway that serves later, and no secret stands in its data folder', async () => {
    const { output } = await run(['token', 'add', 'bot', '--may', 'keys']);
    expect((await run(['token', 'list'])).output).toMatch(/^bot +keys .* never$/m);
    const served = await serveHere(['serve', '--bind', '127.0.0.1:0'], { folder });
    expect(await asked(await served.url, output.trim())).toBe(200);
    const records = await readFile(join(folder, 'keyway.jsonc.keyway/records.jsonl'), 'utf8');
    expect(records).not.toContain(output.trim().slice(3));
  });

  it.each([
    [['token', 'add', 'a', '--may', 'most'], '--may: expected one of status, relay, create, keys, all'],
    [['token', 'add', 'a', '--may', 'all', '--expires', 'soon'], '--expires: expected a time from now'],
    [['token', 'add', '--may', 'all'], 'expected keyway token add NAME'],
    [['usage', '--days', '91'], '--days: expected a whole number from 1 to 90'],
  ])('%j is a wrong command line', async (argv, words) => {
    expect(await run(argv)).toMatchObject({ code: 2, complaints: expect.stringContaining(words) });
  });

  it('is not made under a name that stands for something else', async () => {
    expect(await run(['token', 'add', 'static', '--may', 'all'])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('none of static, session'),
    });
  });
});

it('keyway token in front of a running server goes through the Keyway that serves, and by itself where none does', async () => {
  const server = await standInOf('current');
  const environment = { KEYWAY_UPSTREAM: `${server.origin}/panel`, KEYWAY_UPSTREAM_TOKEN: CREDENTIALS.token };
  const first = await run(['token', 'add', 'early', '--may', 'relay'], environment);
  expect(first.code, first.complaints).toBe(0);
  const served = await serveHere(['serve', '--bind', '127.0.0.1:0'], { folder, environment });
  const url = await served.url;
  const { output } = await run(['token', 'add', 'late', '--may', 'status'], environment);
  expect([await asked(url, first.output.trim()), await status(url, output.trim())]).toEqual([200, 200]);
  expect([await status(url, first.output.trim()), await asked(url, output.trim())]).toEqual([403, 403]);
});

describeDatabase('keyway token over a database', () => {
  it('counts with every gateway within a second', async () => {
    const database = ['--database', await freshDatabase()];
    expect((await run(['database', 'migrate', ...database])).code).toBe(0);
    expect((await run(['database', 'import', '--config', 'keyway.jsonc', ...database])).code).toBe(0);
    const urls = [];
    for (let n = 0; n < 2; n += 1)
      urls.push(await (await serveHere(['serve', '--bind', '127.0.0.1:0', ...database], { folder })).url);
    const { output, complaints } = await run(['token', 'add', 'bot', '--may', 'relay', ...database]);
    expect(complaints).toContain('The token bot may read the keys');
    for (const url of urls) await expect.poll(() => asked(url, output.trim())).toBe(200);
    expect((await run(['token', 'remove', 'bot', ...database])).code).toBe(0);
    for (const url of urls) await expect.poll(() => asked(url, output.trim())).toBe(401);
    expect((await run(['usage', ...database])).code).toBe(0);
  });
});
