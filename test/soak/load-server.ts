import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Running, startKeyway } from '../commands/process.js';
import { freePort } from '../free-ports.js';

export const API_TOKEN = 'api-token';
export const FEED_TOKEN = 'feed-token';
export const USERNAME = 'admin';
export const PASSWORD = 'password';
const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

/** The real process, over a file with many keys. */
export interface LoadedServer {
  /** Where the API is, and where the feed. */
  readonly api: string;
  readonly feed: string;
  readonly file: string;
  readonly running: Running;
  /** Its resident memory, in bytes. */
  memory(): Promise<number>;
}

/** Starts it in this folder with these keys, each with a name; guarded against guesses only where some are to be made. */
export async function startLoadedServer(
  folder: string,
  names: ReadonlyMap<string, string>,
  guarded: boolean,
): Promise<LoadedServer> {
  const file = join(folder, 'server.jsonc');
  const api = {
    enabled: true,
    bind: '127.0.0.1:0',
    token: API_TOKEN,
    username: USERNAME,
    password_hash: PASSWORD_HASH,
  };
  const access_keys = [...names].map(([access_key, name]) => ({ access_key, name }));
  const content = { mode: 'server', listen: '203.0.113.7:50000', api, access_keys };
  await writeFile(file, `// edited by hand\n${JSON.stringify(content, null, 2)}\n`);
  const [apiBind, feedBind] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const argv = ['serve', '--config', file, '--bind', apiBind, '--feed-bind', feedBind, '--feed-token', FEED_TOKEN];
  // Not the line of every request: whoever reads the log keeps it.
  const guard = guarded ? [] : ['--login-guard', 'off'];
  const running = startKeyway([...argv, '--no-resolver', ...guard, '--log-level', 'warn'], { folder });
  const server = { api: `http://${apiBind}`, feed: `http://${feedBind}`, file, running };
  await answering(server);
  return { ...server, memory: () => residentMemory(running) };
}

async function answering({ api, running }: Pick<LoadedServer, 'api' | 'running'>): Promise<void> {
  const asks = async () => (await fetch(`${api}/panel/`).catch(() => null))?.ok === true;
  while (!(await asks())) {
    if (running.child.exitCode !== null) throw new Error(`it does not start:\n${(await running.ended).output}`);
    await pause(100);
  }
}

/** Linux alone tells it of another process; 0 elsewhere. */
async function residentMemory({ child }: Running): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Changes the file as an editor does: a new one in its place, or its bytes overwritten. */
export async function editFile(file: string, change: (text: string) => string, inPlace: boolean): Promise<void> {
  const text = change(await readFile(file, 'utf8'));
  if (inPlace) {
    await writeFile(file, text);
    return;
  }
  await writeFile(`${file}.edited`, text);
  await rename(`${file}.edited`, file);
}
