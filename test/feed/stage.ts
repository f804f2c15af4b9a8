import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import type { Gateway } from '../../src/gateway/compose.js';
import { createGateway } from '../../src/gateway/create-gateway.js';
import type { GatewayOptions } from '../../src/gateway/options.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { createConnections } from '../../src/serve/connections.js';
import { startControl } from '../../src/serve/control.js';
import { startFeed } from '../../src/serve/feed.js';
import { folderForTest } from '../folder-for-test.js';

export const FEED_TOKEN = 'feed-token';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  readonly text: string;
}

export interface FeedStage {
  readonly folder: string;
  readonly gateway: Gateway;
  readonly url: string;
  readonly lines: readonly string[];
  /** How many requests have come to the feed. */
  requests(): number;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  close(): Promise<void>;
}

export function configurationOf(keys: readonly unknown[]): string {
  return JSON.stringify({ mode: 'server', api: { enabled: true, token: 'api-token' }, access_keys: keys });
}

/** Has the gateway of a stage listen for commands, as one does that serves. */
export async function listenForCommands({ gateway, folder }: FeedStage): Promise<void> {
  await startControl(gateway, join(folder, 'server.json.keyway'), logTo([]));
}

/** A gateway over a file with these keys (or over the folder of an earlier one), and its feed on a free port. */
export async function feedStage(
  start: { readonly keys: readonly unknown[] } | { readonly folder: string },
  options: Partial<GatewayOptions> = {},
): Promise<FeedStage> {
  const folder = 'folder' in start ? start.folder : await folderForTest();
  const configPath = join(folder, 'server.json');
  if ('keys' in start) await writeFile(configPath, configurationOf(start.keys));
  const lines: string[] = [];
  const log = logTo(lines);
  const { keyway: gateway } = await createGateway({
    mounts: [{ revision: 'current' }],
    configPath,
    pollMilliseconds: 20,
    log,
    ...options,
  });
  onTestFinished(() => gateway.app.close());
  const createServer = createConnections({ maxConnections: 4_096, trustProxy: [], log }).serverFor('feed');
  const { url, feed } = await startFeed(
    gateway,
    { feedBind: '127.0.0.1:0', feedToken: FEED_TOKEN, createServer },
    { clock: systemClock, random: systemRandom, log },
  );
  let requests = 0;
  feed.app.server.on('request', () => {
    requests += 1;
  });
  const authorized = { authorization: `Bearer ${FEED_TOKEN}` };
  return {
    folder,
    gateway,
    url,
    lines,
    requests: () => requests,
    post: (path, body, headers = {}) =>
      ask(`${url}${path}`, {
        method: 'POST',
        headers: { ...authorized, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    get: (path, headers = {}) => ask(`${url}${path}`, { headers: { ...authorized, ...headers } }),
    close: async () => gateway.app.close(),
  };
}

export function logTo(lines: string[]): LogPort {
  const write = (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  return { debug: write, info: write, warn: write, error: write };
}

async function ask(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) };
}

/** What a report with these entries looks like. */
export function report(id: string | null, ...entries: readonly (readonly [string, number, number, number?])[]) {
  return {
    ...(id === null ? {} : { report_id: id }),
    entries: entries.map(([access_key, bytes_up, bytes_down, connections]) => ({
      access_key,
      bytes_up,
      bytes_down,
      ...(connections === undefined ? {} : { connections }),
    })),
  };
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { interval: 5, message: 'the condition comes true' }).toBe(true);
}
