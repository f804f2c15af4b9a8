import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createFileSystem } from '../../src/platform/file-system.js';
import type { CountedLog } from '../../src/platform/log.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { type RunningGateway, startGateway } from '../../src/serve/start.js';
import { settingsFromCommandLine } from '../../src/settings/read.js';
import { folderForTest } from '../folder-for-test.js';
import { type Exposition, parseExposition } from './exposition.js';

export const TOKEN = 'api-token-of-the-test';
export const FEED_TOKEN = 'feed-token-of-the-test';
/** SHA-256 of `password`. */
const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

/** Three mounts, and the labels of two of them. */
export const THREE = ['--revision', 'earliest@first', '--revision', 'dns@old', '--revision', 'current@new'];
export const CURRENT = { mount: '/new/api', revision: 'current' };
export const EARLIEST = { mount: '/api', revision: 'earliest' };
export const REQUESTS = 'keyway_http_requests_total';

/** A configuration whose listener has a token and an operator, `admin` with `password`. */
export function configurationOf(members: object): string {
  const api = { enabled: true, token: TOKEN, username: 'admin', password_hash: PASSWORD_HASH };
  return JSON.stringify({ mode: 'server', api, access_keys: [], ...members });
}

/** A log that keeps its lines. */
export function createLines() {
  const lines: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[] = [];
  const write = (fields: Readonly<Record<string, unknown>>, message: string) => void lines.push({ fields, message });
  const log: CountedLog = { debug: write, info: write, warn: write, error: write, linesLost: () => 0 };
  return { lines, log };
}

export interface OpsStage {
  readonly folder: string;
  readonly configPath: string;
  readonly gateway: RunningGateway;
  /** Without a slash at its end. */
  readonly ops: string;
  readonly feed: string;
  /** What the first line of the log that has this member says by it. */
  said(member: string): string;
  metrics(): Promise<Exposition>;
  /** Asks the API of a mount; its path as `/api/users`. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Reports usage through the feed. */
  report(id: string, ...entries: readonly (readonly [key: string, up: number, connections: number])[]): Promise<void>;
}

/** A gateway as the command starts it, with its feed and ops listener, all on free ports. */
export async function opsStage(
  members: object = {},
  argv: readonly string[] = [],
  start: { readonly folder?: string } = {},
): Promise<OpsStage> {
  const folder = start.folder ?? (await folderForTest());
  const configPath = join(folder, 'server.json');
  await writeFile(configPath, configurationOf(members));
  const { lines, log } = createLines();
  const own = ['--config', configPath, '--bind', '127.0.0.1:0', '--ops-bind', '127.0.0.1:0'];
  const feedOwn = ['--feed-bind', '127.0.0.1:0', '--feed-token', FEED_TOKEN];
  const gateway = await startServing([...own, ...feedOwn, ...argv], log);
  onTestFinished(() => gateway.close());
  const said = (member: string) => String(lines.find(({ fields }) => member in fields)?.fields[member]);
  const [ops, feed] = [said('ops'), said('feed')];
  return {
    folder,
    configPath,
    gateway,
    ops,
    feed,
    said,
    metrics: async () => parseExposition(await (await fetch(`${ops}/metrics`)).text()),
    async call(method, path, body, headers = {}) {
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      const response = await fetch(gateway.url + path, {
        method,
        redirect: 'manual',
        headers: { authorization: `Bearer ${TOKEN}`, ...type, ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      await response.arrayBuffer();
      return response;
    },
    async report(id, ...entries) {
      const response = await fetch(`${feed}/v1/usage`, {
        method: 'POST',
        headers: { authorization: `Bearer ${FEED_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          report_id: id,
          entries: entries.map(([access_key, bytes_up, connections]) => ({
            access_key,
            bytes_up,
            bytes_down: 0,
            connections,
          })),
        }),
      });
      if (response.status !== 200) throw new Error(await response.text());
    },
  };
}

async function startServing(argv: readonly string[], log: CountedLog): Promise<RunningGateway> {
  const gateway = await startWith(argv, log);
  if (gateway === null) throw new Error('nothing is served');
  return gateway;
}

/** Starts what these flags say. */
export async function startWith(argv: readonly string[], log: CountedLog): Promise<RunningGateway | null> {
  const answer = await settingsFromCommandLine(argv, {
    environment: {},
    folder: tmpdir(),
    readFile: () => Promise.reject(new Error('there is no settings file')),
  });
  if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
  return startGateway(
    answer.settings,
    { fileSystem: createFileSystem(), clock: systemClock, random: systemRandom, log },
    '9.8.7',
  );
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { interval: 5, message: 'the condition comes true' }).toBe(true);
}
