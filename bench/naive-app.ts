import { randomBytes } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';

/** A user as the straightforward implementation keeps it. */
export interface NaiveUser {
  access_key: string;
  name: string | null;
  limit_bytes: number | null;
  counters: { bytes_up: number; bytes_down: number; connections: number };
}

type FileKey = string | { access_key: string; name?: string; limit_bytes?: number };

interface FileContent {
  access_keys: FileKey[];
}

interface CreateBody {
  access_key?: string;
  name?: string;
  limit_bytes?: number;
}

export interface NaiveApp {
  readonly app: FastifyInstance;
  readonly users: ReadonlyMap<string, NaiveUser>;
}

/**
 * Comparison (b), a straightforward implementation over a configuration file without comments. A list is made, sorted and
 * turned into JSON for every request; a create reads and parses the whole file, changes it and writes it pretty-printed,
 * durably, one after the other. Numbers are plain. It does not ask for a token.
 */
export async function createNaiveApp(path: string): Promise<NaiveApp> {
  const users = new Map<string, NaiveUser>();
  for (const element of (await readContent(path)).access_keys) {
    const key = typeof element === 'string' ? { access_key: element } : element;
    users.set(key.access_key, naiveUser(key));
  }
  const app = Fastify();
  app.get('/panel/api/users', () => ({ ok: true, data: listOf(users) }));
  let last: Promise<void> = Promise.resolve();
  app.post<{ Body: CreateBody }>('/panel/api/users', async ({ body }) => {
    const key = { ...body, access_key: body.access_key ?? randomBytes(16).toString('hex') };
    users.set(key.access_key, naiveUser(key));
    last = last.then(() => addToFile(path, key));
    await last;
    return { ok: true, data: key.access_key };
  });
  return { app, users };
}

function naiveUser({ access_key, name, limit_bytes }: CreateBody & { access_key: string }): NaiveUser {
  const counters = { bytes_up: 0, bytes_down: 0, connections: 0 };
  return { access_key, name: name ?? null, limit_bytes: limit_bytes ?? null, counters };
}

function listOf(users: ReadonlyMap<string, NaiveUser>) {
  return [...users.values()]
    .map(({ access_key, name, limit_bytes, counters: { bytes_up, bytes_down, connections } }) => ({
      access_key,
      name,
      bytes_up,
      bytes_down,
      connections,
      limit_bytes,
      online: connections > 0,
      last_seen: null,
    }))
    .sort((a, b) => b.bytes_down - a.bytes_down);
}

async function readContent(path: string): Promise<FileContent> {
  return JSON.parse(await readFile(path, 'utf8'));
}

async function addToFile(path: string, key: FileKey): Promise<void> {
  const content = await readContent(path);
  content.access_keys.push(key);
  const temporary = `${path}.new`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(content, null, 2));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const folder = await open(dirname(path));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
