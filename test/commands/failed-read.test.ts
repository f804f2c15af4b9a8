import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { startKeyway } from './process.js';

const execute = promisify(execFile);
beforeAll(buildIfOlder, 300_000);

const api = { enabled: true, bind: '127.0.0.1:0', token: 'old-token' };
const fileText = (token: string, keys: readonly string[]) =>
  JSON.stringify({ mode: 'server', api: { ...api, token }, access_keys: keys });

/** How many files the process may have open, of those that come from now on. */
async function limitFiles(pid: number, limit: string): Promise<void> {
  await execute('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
}

describe('keyway serve that may open no file for a while', () => {
  it('follows the edit that was made meanwhile once it may: the removed key and the revoked token are gone', async ({
    skip,
  }) => {
    const hasPrlimit = await execute('prlimit', ['--version']).then(
      () => true,
      () => false,
    );
    skip(!hasPrlimit, 'prlimit (util-linux) is not on this machine; configuration-failures.test.ts has it with a fake');
    const folder = await mkdtemp(join(tmpdir(), 'keyway-files-'));
    const path = join(folder, 'server.json');
    await writeFile(path, fileText('old-token', ['alpha', 'beta']));
    const { child, logged, ended } = startKeyway(['serve', '--config', 'server.json'], { folder });
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    });
    const { url } = await logged((record) => record.url !== undefined);
    const list = async (token: string) =>
      fetch(`${String(url)}/panel/api/users`, { headers: { authorization: `Bearer ${token}` } });
    expect((await list('old-token')).status).toBe(200);
    const pid = child.pid ?? 0;
    const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
    const [, before = ''] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    await limitFiles(pid, '4');
    await writeFile(path, fileText('new-token', ['beta']));
    // Said after the second reading that failed; a third one is needed for what follows.
    await logged(({ msg }) => String(msg).includes('cannot be read; the last good state stays live'));
    await limitFiles(pid, before);
    await expect.poll(async () => (await list('old-token')).status).toBe(401);
    const users = await (await list('new-token')).text();
    expect(users).toContain('beta');
    expect(users).not.toContain('alpha');
  });
});
