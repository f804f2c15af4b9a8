import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ShadowReport } from '../../src/shadow/tally.js';
import { buildIfOlder } from '../build.js';
import { listeningAt, startKeyway } from '../commands/process.js';
import { temporaryFolder } from '../ops/stage.js';
import { startLiveServer, TOKEN } from '../replay/live-server.js';

beforeAll(buildIfOlder, 240_000);

const REQUESTS = Number(process.env.SHADOW_ANSWERS ?? 2_000);
const CLIENTS = 8;
const API = '/panel/api';
/** Names a client's connection to the one that looks at the target's bytes. */
const MARK = 'x-connection';

/** What went over connections towards their clients, byte for byte. */
class Bytes {
  readonly #hashes = new Map<string, Hash>();

  add(connection: string, bytes: Buffer): void {
    const hash = this.#hashes.get(connection) ?? createHash('sha256');
    this.#hashes.set(connection, hash.update(bytes));
  }

  /** Returns the digest of each connection, by its name. */
  digests(): ReadonlyMap<string, string> {
    return new Map([...this.#hashes].sort().map(([name, hash]) => [name, hash.copy().digest('hex')]));
  }
}

/** Passes bytes on to a server and notes what that answers, by the connection that the first request names. */
async function startTap(origin: string, answered: Bytes): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(origin).port), '127.0.0.1');
    let name = '';
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined));
    client.on('data', (bytes) => {
      name ||= new RegExp(`${MARK}: (\\d+)`, 'i').exec(bytes.toString('latin1'))?.[1] ?? '';
    });
    upstream.on('data', (bytes) => answered.add(name, bytes));
    client.pipe(upstream).pipe(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // It listens at a port.
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly authorization?: string;
}

/** The requests of one round of a client, on a key of its own. */
function roundOf(client: number): readonly Sent[] {
  const key = `client-${client}`;
  const json = (value: unknown) => JSON.stringify(value);
  return [
    { method: 'POST', path: `${API}/users`, body: json({ access_key: key, name: 'é "quoted"', limit_bytes: 7 }) },
    { method: 'GET', path: `${API}/users/${key}` },
    { method: 'GET', path: `${API}/users` },
    { method: 'HEAD', path: `${API}/users/${key}` },
    { method: 'PUT', path: `${API}/users/${key}/limit`, body: json({ limit_bytes: null }) },
    { method: 'POST', path: `${API}/users/${key}/reset` },
    { method: 'GET', path: `${API}/server/status` },
    { method: 'GET', path: `${API}/subscribe/${key}` },
    { method: 'GET', path: `${API}/server/config` },
    { method: 'OPTIONS', path: `${API}/users` },
    { method: 'GET', path: `${API}/users`, authorization: 'Bearer wrong' },
    { method: 'POST', path: `${API}/users`, body: '{"access_key":' },
    { method: 'GET', path: `${API}/nothing?a=%2F` },
    { method: 'GET', path: '/panel/' },
    { method: 'DELETE', path: `${API}/users/${key}` },
    { method: 'DELETE', path: `${API}/users/${key}` },
  ];
}

/** Sends requests over one connection, one after the other, and notes every byte of the answers. */
async function drive(url: string, client: number, count: number, received: Bytes): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const round = roundOf(client);
  for (let sent = 0; sent < count; sent += 1) {
    const { method, path, body, authorization = `Bearer ${TOKEN}` } = round[sent % round.length] as Sent; // Never behind the end.
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const headers = { authorization, [MARK]: String(client), 'user-agent': 'bot/7', ...type };
    const asked = request(url + path, { agent, method, headers });
    asked.on('socket', (socket: Socket) => {
      if (socket.listenerCount('keyway-noted') > 0) return;
      socket.on('keyway-noted', () => undefined);
      socket.prependListener('data', (bytes: Buffer) => received.add(String(client), bytes));
    });
    asked.end(body);
    const [answer] = await once(asked, 'response');
    await once(answer.resume(), 'end');
  }
}

test(`of ${REQUESTS} mixed requests none is answered with another byte than the target's, and each is in the report`, {
  timeout: 120_000 + REQUESTS * 10,
}, async () => {
  const target = await startLiveServer('current', {}, { reportVersion: '0.2.96' });
  const [answered, received] = [new Bytes(), new Bytes()];
  const tap = await startTap(target.origin, answered);
  const folder = await temporaryFolder();
  const flags = ['--target', tap, '--listen', '127.0.0.1:0', '--to', 'current', '--token', TOKEN];
  const running = startKeyway(['shadow', ...flags], { folder });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  const url = await listeningAt(running);
  const each = Math.ceil(REQUESTS / CLIENTS);
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => drive(url, client, each, received)));
  running.child.kill('SIGTERM');
  const { complaints } = await running.ended;
  expect(complaints).not.toContain('    at ');
  const own = [...answered.digests()].filter(([name]) => name !== '');
  expect(own).toEqual([...received.digests()]);
  expect(own).toHaveLength(CLIENTS);
  const report: ShadowReport = JSON.parse(await readFile(join(folder, 'keyway-shadow.json'), 'utf8'));
  expect(report.requests).toBe(each * CLIENTS);
  expect(report.differences.filter(({ because }) => because === null)).toEqual([]);
});
