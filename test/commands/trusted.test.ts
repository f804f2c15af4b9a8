import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { SECOND_CERTIFICATE, SECOND_KEY } from '../serve/second-certificate.js';
import { startFaultyProxy } from '../stand-in/faulty-proxy.js';
import { CREDENTIALS } from '../stand-in/files.js';
import { standInOf } from '../stand-in/test-stand-in.js';
import { runHere } from './context.js';

const environment = { KEYWAY_TOKEN: CREDENTIALS.token, LEFT_TOKEN: CREDENTIALS.token, RIGHT_TOKEN: CREDENTIALS.token };
const SCENARIO = {
  title: 'a status without a credential',
  revision: 'current',
  source: 'recorded',
  given: {},
  exchanges: [
    {
      operation: 'getStatus',
      request: { method: 'GET', path: '/server/status' },
      response: { status: 401, body: { ok: false, error: 'unauthorized' } },
    },
  ],
};

/** A stand-in of 0.2.96 behind a certificate that nobody vouches for, which stands in `ca.pem`. */
async function behindCertificate() {
  const standIn = await standInOf('0.2.96', { reloadFactor: 0, pauseMilliseconds: 0 });
  const proxy = await startFaultyProxy(standIn.origin, { key: SECOND_KEY, cert: SECOND_CERTIFICATE });
  onTestFinished(() => proxy.close());
  const folder = await folderForTest();
  await writeFile(join(folder, 'ca.pem'), SECOND_CERTIFICATE);
  await writeFile(join(folder, 'none.pem'), 'none');
  await writeFile(join(folder, 'one.json'), JSON.stringify(SCENARIO));
  return { folder, url: `${proxy.origin}/panel` };
}

const COMMANDS: readonly (readonly [name: string, argv: (url: string) => readonly string[], refused: number])[] = [
  ['identify', (url) => ['identify', url], 2],
  ['keys list', (url) => ['keys', 'list', '--target', url], 1],
  ['replay', (url) => ['replay', 'one.json', '--target', url, '--revision', '0.2.96'], 2],
  ['compare', (url) => ['compare', 'one.json', '--left', url, '--right', url, '--left-revision', '0.2.96'], 2],
];

describe('a server behind a certificate that nobody vouches for', () => {
  test.each(COMMANDS)('is let in by keyway %s with --ca, and refused without it', async (_, argv, refused) => {
    const { folder, url } = await behindCertificate();
    const run = (...flags: readonly string[]) => runHere([...argv(url), ...flags], { folder, environment });
    const without = await run();
    expect(without.complaints).toContain('give that certificate with --ca FILE');
    expect(without.code).toBe(refused);
    const ended = await run('--ca', 'ca.pem');
    expect({ code: ended.code, complaints: ended.complaints }).toEqual({ code: 0, complaints: '' });
    const wrong = await run('--ca', 'none.pem');
    expect(wrong.complaints).toContain(`--ca: expected certificates in PEM in ${join(folder, 'none.pem')}`);
  });

  test('is recorded by keyway record with --ca', async () => {
    const { folder, url } = await behindCertificate();
    const port = await freePort();
    let stop: (signal: string) => void = () => undefined;
    const stopped = new Promise<string>((resolve) => {
      stop = resolve;
    });
    const target = ['--target', url, '--revision', '0.2.96', '--ca', 'ca.pem'];
    const argv = ['record', ...target, '--out', 'recordings', '--listen', `127.0.0.1:${port}`];
    const recording = runHere(argv, { folder, untilStopped: () => stopped });
    const headers = { authorization: `Bearer ${CREDENTIALS.token}` };
    const ask = () =>
      fetch(`http://127.0.0.1:${port}/panel/api/users`, { headers }).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(ask).toBe(200);
    stop('SIGINT');
    expect((await recording).code).toBe(0);
    expect(await readdir(join(folder, 'recordings'))).toHaveLength(1);
  });

  test('is named with --target alone', async () => {
    const { complaints, code } = await runHere(['replay', '--ca', 'ca.pem']);
    expect(complaints).toContain('--ca: expected a --target with it');
    expect(code).toBe(2);
  });
});

describe('keyway identify --username', () => {
  const sessionOnly = async () => {
    const { origin } = await standInOf('0.2.48', { reloadFactor: 0, pauseMilliseconds: 0 });
    return `${origin}/panel`;
  };

  test('signs in, and so tells a line that takes sessions alone', async () => {
    const url = await sessionOnly();
    const argv = ['identify', url, '--username', CREDENTIALS.username, '--token', CREDENTIALS.token];
    const ended = await runHere(argv, { environment: { KEYWAY_PASSWORD: CREDENTIALS.password } });
    expect(ended.output).toContain('/panel/api: dns (0.2.45 to 0.2.50), certain\n  it reports 0.2.48\n');
    expect(ended.code).toBe(0);
  });

  test('asks for the password, and says that a wrong one is refused', async () => {
    const url = await sessionOnly();
    const argv = ['identify', url, '--username', CREDENTIALS.username];
    expect((await runHere(argv)).complaints).toContain('KEYWAY_PASSWORD: expected the password of admin');
    const wrong = await runHere(argv, { environment: { KEYWAY_PASSWORD: 'wrong' } });
    expect(wrong.complaints).toContain('the login as admin was refused with 401');
    expect(wrong.code).toBe(2);
  });

  test('of a name in the environment alone signs nobody out', async () => {
    const url = await sessionOnly();
    const environment = { KEYWAY_USERNAME: 'admin', KEYWAY_PASSWORD: 'wrong' };
    expect((await runHere(['identify', url], { environment })).complaints).toBe('');
  });
});
