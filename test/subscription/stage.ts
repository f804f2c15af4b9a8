import { createHash } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { GatewayOptions } from '../../src/index.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { gatewayForTest, listen } from '../northbound/gateway.js';
import { exchange } from '../northbound/raw-exchange.js';

/** The server of the worked example: alice with a limit of 1000 bytes, behind nginx. */
export const WORKED = {
  mode: 'server',
  config_version: 2,
  listen: ['0.0.0.0:50000', '0.0.0.0:50001'],
  access_keys: [{ access_key: 'key-a', name: 'alice', limit_bytes: 1000 }, 'key-b'],
  domain: 'vpn.example.com',
  tls: { enabled: true, frontend: 'nginx', ws_path: '/s3cr3tpath', cert: 'acme' },
  subscription: { enabled: true, path: '/sub', update_interval_hours: 6 },
};

/** The tokens of `key-a` and `key-b`. */
export const TOKEN_A = '4f1b4a4688251000a5409e3c68b433ab';
export const TOKEN_B = 'e9a750937141ec7a469c4fab98952718';

export const DECOY = [
  'HTTP/1.1 404 Not Found',
  'Content-Type: text/html',
  'Content-Length: 48',
  'Connection: close',
  '',
  '<html><body><h1>404 Not Found</h1></body></html>',
].join('\r\n');

/** The token of a key, made without the code under test. */
export function tokenOf(accessKey: string): string {
  return createHash('sha256').update(`ostp-subscription:${accessKey}`, 'utf8').digest('hex').slice(0, 32);
}

/** A request as it stands on the wire. */
export function requestOf(path: string, headers: readonly string[] = [], method = 'GET'): string {
  return [`${method} ${path} HTTP/1.1`, 'Host: vpn.example.com', ...headers, '', ''].join('\r\n');
}

/** A gateway over a file in memory, its listener for subscriptions alone and, where asked for, its own both listening. */
export async function servedFile(
  content: Readonly<Record<string, unknown>> = WORKED,
  options: Partial<GatewayOptions> = {},
  publicIp: string | null = null,
) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create('/etc/server.json', Buffer.from(JSON.stringify(content)), 0o600);
  if (publicIp !== null) await fileSystem.create('/etc/.ostp_public_ip', Buffer.from(publicIp), 0o600);
  const app = await gatewayForTest({
    mounts: [{ revision: 'current' }],
    configPath: '/etc/server.json',
    fileSystem,
    pollMilliseconds: 5,
    ...options,
  });
  const alone = app.keyway.subscriptions({});
  onTestFinished(() => alone.close());
  const port = await listen(alone);
  const ask = (path: string, headers?: readonly string[], method?: string) =>
    exchange(port, requestOf(path, headers, method));
  return { app, port, ask, keys: app.keyway.local?.keys, fileSystem };
}

/** The body of an answer. */
export function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}
