import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { type Running, startKeyway } from '../commands/process.js';
import { goTo, openPage, refreshNow, signIn } from '../panel/browser/stage.js';

/** What the README shows: a server of another line behind, three revisions in front of it. */

const OPERATOR = { username: 'admin', password: 'password' };
const TOKEN = 'front-token';

let folder = '';
let server = '';
let front = '';
const running: Running[] = [];

async function serve(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const started = startKeyway(['serve', ...argv, '--bind', '127.0.0.1:0'], { folder, environment });
  running.push(started);
  const { url } = await started.logged((record) => typeof record.url === 'string');
  return new URL(String(url)).origin;
}

beforeAll(async () => {
  await buildIfOlder();
  folder = await mkdtemp(join(tmpdir(), 'keyway-in-front-'));
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  server = await serve(['--config', 'server.jsonc', '--revision', '0.2.48', '--no-resolver']);
  const revisions = ['earliest', 'current@current', '0.3.7@newest'].flatMap((each) => ['--revision', each]);
  front = await serve(['--upstream', `${server}/panel`, '--upstream-username', OPERATOR.username, ...revisions], {
    KEYWAY_UPSTREAM_PASSWORD: OPERATOR.password,
    KEYWAY_TOKEN: TOKEN,
  });
}, 300_000);

afterAll(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ ended }) => ended));
  await rm(folder, { recursive: true, force: true });
});

const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

async function keysOf(url: string): Promise<readonly string[]> {
  const { data } = (await (await fetch(url, { headers: AUTHORIZED })).json()) as {
    readonly data: readonly { readonly access_key: string }[];
  };
  return data.map(({ access_key }) => access_key);
}

describe('a Keyway in front of another one that plays 0.2.48', () => {
  it.each([
    'current',
    'newest',
  ])('the panel under /%s signs in, shows the keys, makes one and takes it away', async (webpath) => {
    const { page, expectClean, close } = await openPage(`${front}/${webpath}/`);
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    const made = await fetch(`${front}/${webpath}/api/users`, {
      method: 'POST',
      headers: { ...AUTHORIZED, 'content-type': 'application/json' },
      body: JSON.stringify({ access_key: `made-${webpath}`, name: `Made under ${webpath}` }),
    });
    expect(made.status).toBe(200);
    await refreshNow(page);
    await page.getByRole('link', { name: `Made under ${webpath}` }).waitFor();
    await fetch(`${front}/${webpath}/api/users/made-${webpath}`, { method: 'DELETE', headers: AUTHORIZED });
    await refreshNow(page);
    await page.getByRole('link', { name: `Made under ${webpath}` }).waitFor({ state: 'detached' });
    expectClean();
    await close();
  });

  it('a relay node, which the server itself refuses, gets its keys from the earliest mount', async () => {
    const own = await fetch(`${server}/panel/api/users`, { headers: { authorization: 'Bearer sample-static-token' } });
    expect(own.status).toBe(401);
    const answer = await fetch(`${front}/api/users`, { headers: AUTHORIZED });
    const relayed = (await answer.json()) as { ok: boolean; data: readonly Readonly<Record<string, unknown>>[] };
    expect(relayed.ok).toBe(true);
    expect(relayed.data.map(({ access_key }) => access_key)).toContain('guest-2026');
    expect(await keysOf(`${front}/current/api/users`)).toEqual(await keysOf(`${front}/api/users`));
  });

  it.each(['earliest', '0.3.7'])('replay with keys of its own is green as %s', async (revision) => {
    const webpath = { earliest: '', '0.3.7': '/newest' }[revision] ?? '';
    const argv = ['replay', '--target', front + webpath, '--revision', revision, '--username', OPERATOR.username];
    const environment = { KEYWAY_PASSWORD: OPERATOR.password, KEYWAY_TOKEN: TOKEN };
    const ended = await runHere([...argv, '--writes'], { folder, environment });
    expect(ended.output).toMatch(/\n[1-9]\d equal, 0 different, \d+ skipped\n/);
    expect(ended.code).toBe(0);
    expect(await keysOf(`${front}/api/users`)).toHaveLength(3);
  });
});
