import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { FileSystemPort, LogPort } from '../../src/core/ports.js';
import { createFailure } from '../../src/platform/failure-words.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { folderForTest } from '../folder-for-test.js';
import { gatewayForTest, listen } from './gateway.js';

const INDEX = '<!doctype html>';
const MEBIBYTE = 2 ** 20;
const WAIT = { timeout: 20_000 };
/** What the two sockets of a connection, Node and one piece may hold of an answer that nobody reads. */
const HELD_BY_A_CONNECTION = 24 * MEBIBYTE;

let folder = '';
let warnings: { readonly file: unknown; readonly reason: unknown; readonly message: string }[] = [];
let errors: string[] = [];
beforeEach(async () => {
  folder = await folderForTest();
  await put('index.html', INDEX);
  warnings = [];
  errors = [];
});

async function put(path: string, content: string | Buffer): Promise<string> {
  const target = join(folder, path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
  return target;
}

const log: LogPort = {
  debug() {},
  info() {},
  warn: ({ file, reason }, message) => void warnings.push({ file, reason, message }),
  error: (_fields, message) => void errors.push(message),
};

/** Which files are open, and how many bytes have been read of them. */
function counting(fileSystem = createFileSystem()) {
  const count = { open: 0, opened: 0, bytes: 0 };
  const port: FileSystemPort = {
    ...fileSystem,
    async read(path, limit) {
      const content = await fileSystem.read(path, limit);
      count.bytes += content.length;
      return content;
    },
    async open(path) {
      const file = await fileSystem.open(path);
      count.open += 1;
      count.opened += 1;
      return {
        size: file.size,
        stat: file.stat,
        async read(target, at) {
          const length = await file.read(target, at);
          count.bytes += length;
          return length;
        },
        async close() {
          count.open -= 1;
          await file.close();
        },
      };
    },
  };
  return { port, count };
}

/** Revision 0.3.7 answers 404 for a missing file with a dot in its path, the earlier ones the index. */
async function serving(fileSystem: FileSystemPort = createFileSystem(), revision = '0.3.7') {
  const app = await gatewayForTest({ mounts: [{ revision }], panelDir: folder, fileSystem, log });
  const origin = `http://127.0.0.1:${await listen(app)}/panel`;
  return { origin, get: (path: string, init: RequestInit = {}) => fetch(`${origin}/${path}`, init) };
}

describe('a file of --panel-dir', () => {
  it.each([
    ['an empty one', 0],
    ['one that is read at once', 64 * 1024],
    ['one that is streamed', 64 * 1024 + 1],
    ['a large one', 3_000_000],
  ])('%s arrives whole, with its type and length, and is closed', async (_what, size) => {
    const content = Buffer.alloc(size, 'panel 0123456789 ');
    await put('assets/app.js', content);
    const { port, count } = counting();
    const { get } = await serving(port);
    const answer = await get('assets/app.js');
    const { status, headers } = answer;
    expect([status, headers.get('content-type'), headers.get('content-length')]).toEqual([
      200,
      'text/javascript',
      `${size}`,
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(Buffer.from(await answer.arrayBuffer()).equals(content)).toBe(true);
    await vi.waitFor(() => expect(count.open).toBe(0), WAIT);
    expect(count.bytes).toBe(size);
  });

  it('has its length in an answer to HEAD, which reads no more than its beginning', async () => {
    await truncate(await put('map.bin', ''), 300 * MEBIBYTE);
    const { port, count } = counting();
    const { get } = await serving(port);
    const answer = await get('map.bin', { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, `${300 * MEBIBYTE}`]);
    expect(await answer.text()).toBe('');
    await vi.waitFor(() => expect(count.open).toBe(0), WAIT);
    expect(count.bytes).toBeLessThanOrEqual(64 * 1024);
  });

  it('is read no faster than eight slow readers take it, and closed when they go away', async () => {
    await truncate(await put('map.bin', ''), 300 * MEBIBYTE);
    const { port, count } = counting();
    const { origin } = await serving(port);
    const readers = await Promise.all(Array.from({ length: 8 }, () => readerOf(origin, '/panel/map.bin')));
    const taken = () => readers.reduce((sum, reader) => sum + reader.bytesRead, 0);
    for (let step = 1; step <= 20; step += 1) {
      for (const reader of readers) await take(reader, step * MEBIBYTE);
      expect(count.bytes - taken()).toBeLessThan(readers.length * HELD_BY_A_CONNECTION);
    }
    expect(count.open).toBe(8);
    for (const reader of readers) reader.destroy();
    await vi.waitFor(() => expect(count.open).toBe(0), WAIT);
    expect(count.bytes).toBeLessThan(8 * 200 * MEBIBYTE);
    expect([warnings, errors]).toEqual([[], []]);
  });

  it('is closed when a client goes away that has asked for it several times at once', async () => {
    await truncate(await put('map.bin', ''), 300 * MEBIBYTE);
    const { port, count } = counting();
    const { origin } = await serving(port);
    const reader = await readerOf(origin, '/panel/map.bin', 4);
    await vi.waitFor(() => expect(count.open).toBe(4), WAIT);
    reader.destroy();
    await vi.waitFor(() => expect(count.open).toBe(0), WAIT);
    expect([warnings, errors]).toEqual([[], []]);
  });

  it('is closed when its client has gone away before it is open', async () => {
    await truncate(await put('map.bin', ''), 300 * MEBIBYTE);
    let went: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      went = resolve;
    });
    const fileSystem = createFileSystem();
    const { port, count } = counting({
      ...fileSystem,
      async open(path) {
        await gone;
        return fileSystem.open(path);
      },
    });
    const app = await gatewayForTest({ mounts: [{ revision: '0.3.7' }], panelDir: folder, fileSystem: port, log });
    const socket = connect(await listen(app), '127.0.0.1');
    const [accepted] = await once(app.server, 'connection');
    socket.write('GET /panel/map.bin HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(4));
    await once(app.server, 'request');
    socket.resetAndDestroy();
    // Its reset is an error to `once`.
    await new Promise((resolve) => accepted.on('close', resolve));
    went();
    await vi.waitFor(() => expect(count.opened).toBeGreaterThan(0), WAIT);
    await vi.waitFor(() => expect(count.open).toBe(0), WAIT);
    await app.close();
    expect([warnings, errors]).toEqual([[], []]);
  });

  it('that becomes shorter while it is sent ends the connection, with one warning', async () => {
    const path = await put('map.bin', '');
    await truncate(path, 300 * MEBIBYTE);
    const { port, count } = counting();
    const { origin } = await serving(port);
    const reader = await readerOf(origin, '/panel/map.bin');
    await truncate(path, 10);
    reader.resume();
    await once(reader, 'close');
    expect(reader.bytesRead).toBeLessThan(300 * MEBIBYTE);
    expect(warnings.map(({ file, reason }) => [file, reason])).toEqual([
      [path, 'the file became shorter while it was sent'],
    ]);
    await vi.waitFor(() => expect(count.open).toBe(0), WAIT);
    expect(errors).toEqual([]);
  });
});

/** A connection that asked for this path, got the beginning of the answer, and reads no more by itself. */
async function readerOf(origin: string, path: string, times = 1): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times));
  await once(socket, 'readable');
  return socket;
}

/** Reads on until so many bytes have come. */
async function take(socket: Socket, bytes: number): Promise<void> {
  while (socket.bytesRead - socket.readableLength < bytes) if (socket.read() === null) await once(socket, 'readable');
}

describe('a file of --panel-dir that is not to be served', () => {
  it.each([
    ['0.3.7', '.env', 404],
    ['0.3.7', '.git/config', 404],
    ['0.3.7', '.git/HEAD', 404],
    ['0.3.7', 'assets/.htpasswd', 404],
    ['0.3.7', '%2eenv', 404],
    ['0.3.7', '.well-known/.env', 404],
    ['0.2.96', '.env', 200],
    ['0.2.96', '.git/config', 200],
  ])('is missing by the rule of revision %s when it is hidden: %s', async (revision, path, status) => {
    for (const name of ['.env', '.git/config', '.git/HEAD', 'assets/.htpasswd', '.well-known/.env'])
      await put(name, 'secret');
    const { get } = await serving(createFileSystem(), revision);
    const answer = await get(path);
    expect([answer.status, await answer.text()]).toEqual([status, status === 200 ? INDEX : '404 Not Found']);
    expect([warnings, errors]).toEqual([[], []]);
  });

  it('does not keep .well-known back, nor names with a dot in them', async () => {
    await put('.well-known/security.txt', 'mail');
    await put('assets/app.min.js', 'app');
    const { get } = await serving();
    expect(await (await get('.well-known/security.txt')).text()).toBe('mail');
    expect(await (await get('assets/app.min.js')).text()).toBe('app');
  });

  it('does not keep back what a link with a plain name leads to within the folder, as orchestrators mount files', async () => {
    await put('..2026_11_22/app.js', 'app');
    await symlink('..2026_11_22', join(folder, '..data'));
    await symlink('..data/app.js', join(folder, 'app.js'));
    const { get } = await serving();
    expect(await (await get('app.js')).text()).toBe('app');
  });

  it('is answered as missing when it is a pipe, named in the log once, and served once it is a file', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.js')]);
    const { get } = await serving();
    for (let round = 0; round < 3; round += 1) expect((await get('pipe.js')).status).toBe(404);
    const path = join(folder, 'pipe.js');
    expect(warnings).toEqual([
      {
        file: path,
        reason: `${path} is no regular file`,
        message: 'a file of the panel cannot be read, and is answered as missing',
      },
    ]);
    await rm(path);
    await put('pipe.js', 'app');
    expect(await (await get('pipe.js')).text()).toBe('app');
    await rm(path);
    execFileSync('mkfifo', [path]);
    expect((await get('pipe.js')).status).toBe(404);
    expect([warnings.length, errors]).toEqual([2, []]);
  });

  it('says nothing of a folder, of what is missing and of a link that leads nowhere', async () => {
    await put('assets/app.js', '');
    await symlink('nowhere', join(folder, 'broken.js'));
    const { get } = await serving();
    for (const path of ['assets', 'assets/', 'missing.js', 'broken.js', 'index.html/x']) await get(path);
    expect([warnings, errors]).toEqual([[], []]);
  });

  it.each(['realPath', 'open'] as const)('is answered as missing when the system refuses its %s', async (call) => {
    await put('assets/app.js', 'app');
    const system = createFileSystem();
    const refusing: FileSystemPort = {
      ...system,
      [call]: (path: string) =>
        path.endsWith('app.js') ? Promise.reject(createFailure('EACCES', 'EACCES: no')) : system[call](path),
    };
    for (const [revision, status] of [
      ['0.3.7', 404],
      ['0.2.96', 200],
    ] as const) {
      warnings = [];
      const { get } = await serving(refusing, revision);
      const answers = await Promise.all([1, 2, 3].map(() => get('assets/app.js')));
      expect(answers.map((answer) => answer.status)).toEqual([status, status, status]);
      expect(await Promise.all(answers.map((answer) => answer.text()))).not.toContain('app');
      expect(warnings).toHaveLength(1);
    }
    expect(errors).toEqual([]);
  });

  it('of the index page leaves 404, of its first bytes too, and of a hundred files no more is said', async () => {
    const system = createFileSystem();
    const broken: FileSystemPort = {
      ...system,
      open: async (path) => ({
        ...(await system.open(path)),
        read: () => Promise.reject(createFailure('EIO', 'EIO: i/o error, read')),
      }),
    };
    const { port, count } = counting(broken);
    for (let index = 0; index < 120; index += 1) await put(`file-${index}.js`, 'x');
    const { get } = await serving(port);
    const answer = await get('');
    expect([answer.status, await answer.text()]).toEqual([404, '404 Not Found']);
    for (let index = 0; index < 120; index += 1) expect((await get(`file-${index}.js`)).status).toBe(404);
    expect([warnings.length, count.open, errors]).toEqual([100, 0, []]);
  });
});
