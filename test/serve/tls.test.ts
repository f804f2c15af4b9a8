import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { openTls } from '../../src/serve/tls.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { folderForTest } from '../folder-for-test.js';
import { gatewayForTest, listen } from '../northbound/gateway.js';
import { SECOND_CERTIFICATE, SECOND_KEY } from './second-certificate.js';

let folder = '';
let lines: string[] = [];
const note = (_fields: unknown, message: string) => void lines.push(message);
const log: LogPort = { debug() {}, info: note, warn: note, error: note };

beforeEach(async () => {
  folder = await folderForTest();
  lines = [];
});

async function open(cert: string | Buffer, key: string | Buffer, now = Date.now(), more = {}) {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
  return openTls(files, {
    fileSystem: createFileSystem(),
    clock: { now: () => now, monotonic: () => 0 },
    log,
    ...more,
  });
}

it('a certificate that has expired is served, with a warning at start and at every reading', async () => {
  const tls = await open(CERTIFICATE, PRIVATE_KEY, Date.UTC(2200, 0));
  expect(lines).toEqual(['the certificate has expired']);
  await tls.reload();
  expect(lines.slice(1)).toEqual([
    'the certificate was read again: new connections get it',
    'the certificate has expired',
  ]);
});

it('a pipe in the place of a certificate or key is refused when they are read again, and holds nothing up', async () => {
  const tls = await open(CERTIFICATE, PRIVATE_KEY);
  for (const name of ['cert', 'key']) {
    const path = join(folder, `${name}.pem`);
    await rm(path);
    execFileSync('mkfifo', [path]);
    await tls.reload();
    expect(lines.at(-1)).toMatch(
      new RegExp(`--tls-${name}: cannot read ${path}: it is no regular file;? .*goes on being`),
    );
  }
  await writeFile(join(folder, 'large.pem'), Buffer.alloc(2 ** 20 + 1));
  const files = { cert: join(folder, 'large.pem'), key: join(folder, 'large.pem') };
  await expect(
    openTls(files, { fileSystem: createFileSystem(), clock: { now: Date.now, monotonic: () => 0 }, log }),
  ).rejects.toThrow(/--tls-cert: .* it is larger than 1 MiB.*--tls-key: .* it is larger than 1 MiB/s);
});

it('a chain behind the certificate is taken, and a key before it in the same file', async () => {
  await open(`${CERTIFICATE}\n${SECOND_CERTIFICATE}\n`, PRIVATE_KEY);
  await open(`${PRIVATE_KEY}\n${CERTIFICATE}\n`, `${PRIVATE_KEY}\n${CERTIFICATE}\n`);
  expect(lines).toEqual([]);
});

it('a key with a passphrase, and a certificate that is no PEM, are said with the form that is expected', async () => {
  const locked = createPrivateKey(SECOND_KEY).export({
    format: 'pem',
    type: 'pkcs8',
    cipher: 'aes-128-cbc',
    passphrase: 'x',
  });
  await expect(open(SECOND_CERTIFICATE, locked)).rejects.toThrow(
    /^--tls-key: expected a private key in PEM without a passphrase in .*key\.pem$/,
  );
  await expect(open(new X509Certificate(CERTIFICATE).raw, PRIVATE_KEY)).rejects.toThrow(
    /^--tls-cert: expected a certificate in PEM, its chain behind it, in .*cert\.pem$/,
  );
  await expect(open('', '')).rejects.toThrow(/--tls-cert: .*--tls-key: /s);
});

it('a chain that is broken behind a good certificate is refused before anybody connects', async () => {
  const broken = `${CERTIFICATE}\n-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n`;
  await expect(open(broken, PRIVATE_KEY)).rejects.toThrow(/^--tls-cert: .*cert\.pem cannot be served \(/);
});

it.each([
  ['says nothing', ''],
  ['speaks plainly', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['stops in the middle of its greeting', '\u0016\u0003\u0001\u0002\u0000\u0001'],
])('a connection that %s is ended, not kept', async (_what, bytes) => {
  const tls = await open(CERTIFICATE, PRIVATE_KEY, Date.now(), { handshakeTimeout: 200 });
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], createServer: tls.createServer });
  const socket = connect(await listen(app), '127.0.0.1').on('error', () => undefined);
  socket.resume().write(Buffer.from(bytes, 'latin1'));
  await once(socket, 'close');
  expect(await new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)))).toBe(0);
});
