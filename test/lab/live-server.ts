import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { resolveRevision } from '../../revisions/index.js';
import { createFixedClock } from '../../src/embedded/stage.js';
import { createGateway, type GatewayOptions } from '../../src/index.js';
import { createTargetPlayer, type TargetOptions, type TargetPlayer } from '../../src/lab/live/target-player.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import type { Revision } from '../../src/wire/traits/revision.js';

export const USERNAME = 'boss';
export const PASSWORD = 'live-password-7';
export const TOKEN = 'live-token-7';

/** The file of a server that others use. */
export const SERVER_FILE = JSON.stringify({
  mode: 'server',
  listen: '198.51.100.9:50000',
  access_keys: ['foreign-1', { access_key: 'foreign-2', name: 'Somebody', limit_bytes: 7 }],
  outbound: {
    enabled: true,
    protocol: 'socks5',
    address: '127.0.0.1',
    port: 9050,
    default_action: 'direct',
    rules: [{ domain_suffix: ['.onion'], action: 'proxy' }],
  },
  dns: { enabled: false },
  api: {
    enabled: true,
    bind: '127.0.0.1:9090',
    token: TOKEN,
    webpath: '/panel',
    username: USERNAME,
    password_hash: createHash('sha256').update(PASSWORD).digest('hex'),
  },
});

/** How much less than asked for those who look at a server of `unhurried` wait. */
const WAIT_FACTOR = 50;

/** For a server whose clock goes on with every look, so that nobody has to wait for its uptime, and for who looks at it. */
export function unhurried() {
  return {
    server: { clock: createFixedClock() },
    wait: (milliseconds: number) => sleep(milliseconds / WAIT_FACTOR),
  };
}

export interface LiveServer {
  readonly origin: string;
  readonly app: Awaited<ReturnType<typeof createGateway>>;
  /** The file as a value. */
  file(): Promise<unknown>;
  /** The keys with their traffic, as the core has them. */
  keys(): readonly string[];
  close(): Promise<void>;
}

/** A gateway as an operator runs it, with login guard, perhaps with a panel of these files and further options; it closes with the test. */
export async function startLiveServer(...asked: Parameters<typeof openLiveServer>): Promise<LiveServer> {
  const server = await openLiveServer(...asked);
  onTestFinished(server.close);
  return server;
}

/** The same, to be closed by whoever opened it. */
export async function openLiveServer(
  revision: string,
  panel: Readonly<Record<string, string>> = {},
  options: Partial<GatewayOptions> = {},
  port = 0,
): Promise<LiveServer> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-live-'));
  const configPath = join(folder, 'server.jsonc');
  await writeFile(configPath, SERVER_FILE);
  const panelDir = join(folder, 'panel');
  for (const [name, content] of Object.entries(panel)) {
    await mkdir(dirname(join(panelDir, name)), { recursive: true });
    await writeFile(join(panelDir, name), content);
  }
  const hasPanel = Object.keys(panel).length > 0;
  const app = await createGateway({
    mounts: [{ revision }],
    configPath,
    ...(hasPanel ? { panelDir } : {}),
    ...options,
  });
  app.keyway.local?.keys.setCounters('foreign-1', { bytesUp: 11n, bytesDown: 12n, connections: 1n });
  const origin = await app.listen({ host: '127.0.0.1', port });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await app.close();
    await rm(folder, { recursive: true, force: true });
  };
  return {
    origin,
    app,
    file: async () => JSON.parse(await readFile(configPath, 'utf8')),
    keys: () =>
      app.keyway.core.keys
        .ordered()
        .map((each) => `${each.accessKey} ${each.name} ${each.limitBytes} ${each.counters?.bytesUp}`),
    close,
  };
}

export function revisionNamed(text: string): Revision {
  const resolved = resolveRevision(text);
  if (!resolved.ok) throw new Error(resolved.problem);
  return resolved.revision;
}

/** A player with the server's own credentials. */
export function playerOn(
  origin: string,
  revision: string,
  options: Partial<TargetOptions> = {},
): Promise<TargetPlayer> {
  return createTargetPlayer({
    origin,
    webpath: '',
    revision: revisionNamed(revision),
    credentials: { token: TOKEN, operator: { username: USERNAME, password: PASSWORD } },
    writes: false,
    timeoutMilliseconds: 10_000,
    random: systemRandom,
    ...options,
  });
}
