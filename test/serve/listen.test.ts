import { spawn } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import promises, { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { StartError } from '../../src/platform/start-error.js';
import { listenAt } from '../../src/serve/listen.js';
import { addressClashes } from '../../src/settings/bind-address.js';

let folder = '';
let apps: FastifyInstance[] = [];
let warnings: string[] = [];
const log: LogPort = { debug() {}, info() {}, warn: (_fields, message) => warnings.push(message), error() {} };
const WORDS = { subject: 'the thing', remedy: 'give it another place with --thing' };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-listen-'));
});
afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  warnings = [];
  await rm(folder, { recursive: true });
});

function app(): FastifyInstance {
  const made = Fastify().get('/', async () => 'here');
  apps.push(made);
  return made;
}

const listen = (bind: string) => listenAt(app(), bind, WORDS, log);

function answerOf(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path: '/' }, (response) => {
      response.setEncoding('utf8').on('data', resolve);
    })
      .on('error', reject)
      .end();
  });
}

/** A socket as a process leaves it that is killed. */
async function leaveSocket(path: string): Promise<void> {
  const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', code]), 'exit');
}

describe('listenAt', () => {
  it('on a port resolves to the address with the port that the system chose', async () => {
    const url = await listen('127.0.0.1:0');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect(await (await fetch(url)).text()).toBe('here');
    expect(await listen('[::1]:0').catch(() => 'http://[::1]:1')).toMatch(/^http:\/\/\[::1\]:\d+$/);
  });

  it("on localhost is reached at every address of the name, also by a server of somebody else's making", async () => {
    const made = Fastify({ serverFactory: (handler) => createServer(handler) }).get('/', async () => 'here');
    apps.push(made);
    const { port } = new URL(await listenAt(made, 'localhost:0', WORDS, log));
    const addresses = await lookup('localhost', { all: true });
    for (const { address, family } of addresses) {
      const host = family === 6 ? `[${address}]` : address;
      expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe('here');
    }
    await made.close();
    for (const { address } of addresses) {
      const socket = connect(Number(port), address);
      await expect(once(socket, 'connect')).rejects.toThrow('ECONNREFUSED');
    }
  });

  it('on a port in use is one sentence with the remedy', async () => {
    const { host } = new URL(await listen('127.0.0.1:0'));
    await expect(listen(host)).rejects.toEqual(
      new StartError([`the thing cannot listen on ${host} (EADDRINUSE): give it another place with --thing`]),
    );
  });

  it('on a socket answers its owner and group alone, and removes it at the end', async () => {
    const path = join(folder, 'a.sock');
    expect(await listen(`unix:${path}`)).toBe(`unix:${path}`);
    expect((await stat(path)).mode & 0o777).toBe(0o660);
    expect(await answerOf(path)).toBe('here');
    await apps[0]?.close();
    await expect(stat(path)).rejects.toThrow('ENOENT');
    expect(warnings).toEqual([]);
  });

  it('is open to nobody else for a moment: a socket has its mode before it has its path', async () => {
    const path = join(folder, 'a.sock');
    const made = app();
    const seen: string[] = [];
    made.server.once('listening', () => {
      for (const entry of readdirSync(folder)) seen.push((statSync(join(folder, entry)).mode & 0o077).toString(8));
    });
    await listenAt(made, `unix:${path}`, WORDS, log);
    expect(seen).toEqual(['0']);
    expect(await readdir(folder)).toEqual(['a.sock']);
  });

  it('leaves a socket at its end alone that another has put in the place of its own', async () => {
    const path = join(folder, 'a.sock');
    await listen(`unix:${path}`);
    await rm(path);
    await listen(`unix:${path}`);
    await apps[0]?.close();
    expect(await answerOf(path)).toBe('here');
  });

  it('leaves a socket alone on which somebody answers', async () => {
    const path = join(folder, 'a.sock');
    await listen(`unix:${path}`);
    await expect(listen(`unix:${path}`)).rejects.toThrow(
      `the thing cannot listen on unix:${path} (EADDRINUSE: another process listens there): give it another place`,
    );
    expect(await answerOf(path)).toBe('here');
  });

  it('replaces a socket that a killed process has left, and says so', async () => {
    const path = join(folder, 'a.sock');
    await leaveSocket(path);
    await listen(`unix:${path}`);
    expect(await answerOf(path)).toBe('here');
    expect(warnings).toEqual(['replaced a socket that nobody listened on any more']);
  });

  it('leaves a socket alone that another has put in the place of a left one meanwhile', async () => {
    const path = join(folder, 'a.sock');
    await leaveSocket(path);
    let other: Server | null = null;
    const { rename: move, unlink: remove } = promises;
    const startOther = async () => {
      if (other !== null) return;
      other = createServer((_request, response) => response.end('the other'));
      await remove(path);
      await once(other.listen(path), 'listening');
    };
    vi.spyOn(promises, 'rename').mockImplementation(async (...given) => startOther().then(() => move(...given)));
    vi.spyOn(promises, 'unlink').mockImplementation(async (...given) => startOther().then(() => remove(...given)));
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
      other?.close();
    });
    await expect(listen(`unix:${path}`)).rejects.toThrow('(EADDRINUSE: another process listens there)');
    expect(await answerOf(path)).toBe('the other');
    expect(await readdir(folder)).toEqual(['a.sock']);
  });

  it('leaves a file alone that is no socket, a folder too', async () => {
    const path = join(folder, 'precious');
    await writeFile(path, 'text');
    await expect(listen(`unix:${path}`)).rejects.toThrow('a file that is no socket stands there');
    await expect(listen(`unix:${folder}`)).rejects.toThrow('a file that is no socket stands there');
    expect((await stat(path)).size).toBe(4);
  });

  it('in a folder that does not exist, or with a path that is too long, says so', async () => {
    await expect(listen(`unix:${join(folder, 'no', 'a.sock')}`)).rejects.toThrow(
      `there is no folder ${join(folder, 'no')}): make it first`,
    );
    const long = join(folder, 'x'.repeat(120));
    await expect(listen(`unix:${long}`)).rejects.toThrow('a path of at most 103 bytes');
    expect(await readdir(folder)).toEqual([]);
  });

  it('takes a connection that says nothing without holding up others', async () => {
    const path = join(folder, 'a.sock');
    await listen(`unix:${path}`);
    const silent = connect(path);
    await once(silent, 'connect');
    expect(await answerOf(path)).toBe('here');
    silent.destroy();
  });
});

describe('addressClashes', () => {
  const clash = (one: string, other: string) =>
    addressClashes([
      { name: '--one', bind: one },
      { name: '--other', bind: other },
    ]);

  it.each([
    ['127.0.0.1:9090', '127.0.0.1:9090'],
    ['0.0.0.0:9090', '127.0.0.1:9090'],
    ['[::]:9090', '10.0.0.1:9090'],
    ['[::1]:9090', '[0:0:0:0:0:0:0:1]:9090'],
    ['[fe80::1%eth0]:9090', '[fe80:0::1%eth0]:9090'],
    ['LocalHost:9090', 'localhost:9090'],
    ['unix:/run/a.sock', 'unix:/run/a.sock'],
  ])('%s and %s cannot both be listened on', (one, other) => {
    const problem = `--one (${one}) and --other (${other}) are the same address: give one of them another`;
    expect(clash(one, other)).toEqual([problem]);
    expect(clash(other, one)).toHaveLength(1);
  });

  it.each([
    ['127.0.0.1:9090', '127.0.0.1:9091'],
    ['127.0.0.1:9090', '127.0.0.2:9090'],
    ['0.0.0.0:9090', '[::1]:9090'],
    ['[fe80::1%eth0]:9090', '127.0.0.1:9090'],
    ['[fe80::1%eth0]:9090', '[fe80::1%eth1]:9090'],
    ['127.0.0.1:0', '127.0.0.1:0'],
    ['unix:/run/a.sock', 'unix:/run/b.sock'],
    ['unix:/run/a.sock', '127.0.0.1:9090'],
  ])('%s and %s can', (one, other) => {
    expect(clash(one, other)).toEqual([]);
  });

  it('names each two of several', () => {
    const addresses = ['--a', '--b', '--c'].map((name) => ({ name, bind: '127.0.0.1:1' }));
    expect(addressClashes(addresses)).toHaveLength(3);
  });
});
