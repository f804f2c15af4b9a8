import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Stats } from 'node:fs';
import { chmod, link, lstat, mkdtemp, rename, rm, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { LogPort } from '../core/ports.js';
import { failureCode } from '../platform/failure-words.js';
import { StartError } from '../platform/start-error.js';
import { type ListenAddress, listenAddress } from '../settings/bind-address.js';

/** The words of a failure to listen: `SUBJECT cannot listen on …: REMEDY`. */
export interface ListenWords {
  /** Such as `the feed`. */
  readonly subject: string;
  /** The remedy, naming the flag. */
  readonly remedy: string;
  /** The mode of a Unix socket; default 0660. */
  readonly socketMode?: number;
}

type ListeningApp = Pick<FastifyInstance, 'listen' | 'addresses' | 'addHook' | 'server'>;

/** The owner and its group may connect: whoever is on the other side may run as another user. */
const SOCKET_MODE = 0o660;

/** Connections that the system keeps until they are seen: beyond it strangers who connect at once would crowd out others. */
const BACKLOG = 4096;

/** Bytes that every system takes; a longer path would be cut off without a word. */
const LONGEST_PATH = 103;

/**
 * Listens on `host:port`, or on a Unix socket (`unix:` and a path). Resolves to `http://host:port`, with the port that the
 * system chose, or to `unix:` and the path. A socket that a process left when it was killed is replaced, and the log says
 * so; one that answers, and a file that is no socket, stay. Rejects with a `StartError`.
 */
export async function listenAt(app: ListeningApp, bind: string, words: ListenWords, log: LogPort): Promise<string> {
  const address = listenAddress(bind);
  try {
    if (address.kind === 'port') {
      const beside = address.host === LOCALHOST ? listenBeside(app) : null;
      const url = await app.listen({ host: address.host, port: address.port, backlog: BACKLOG });
      await beside?.();
      return url.replace(/\/$/, '');
    }
    await clearSocket(address.path, log);
    await listenOnSocket(app, address.path, words.socketMode ?? SOCKET_MODE);
    return `unix:${address.path}`;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const isPlace = error instanceof PlaceError;
    const reason = isPlace ? `${error.code}: ${error.message}` : error.code;
    const remedy = (isPlace ? error.remedy : wrongHost(error.code, address)) ?? words.remedy;
    throw new StartError([`${words.subject} cannot listen on ${bind} (${reason}): ${remedy}`]);
  }
}

/** Says what is wrong with the host of an address that nobody has taken; null where the address is. */
function wrongHost(code: unknown, address: ListenAddress): string | null {
  if (address.kind === 'socket') return null;
  const { host, port } = address;
  if (code === 'EADDRNOTAVAIL')
    return `${host} is no address of this machine: give one that is, or 0.0.0.0 for all of them`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `${host} is no name that this machine knows: give an address`;
  if (code === 'EACCES' && port < FIRST_OPEN_PORT)
    return `ports below ${FIRST_OPEN_PORT} are for root: give a higher one, and put a proxy in front`;
  return null;
}

const FIRST_OPEN_PORT = 1024;
const LOCALHOST = 'localhost';

/**
 * The name stands for an address of each family, and a server listens on one. What comes to the others is handed to it; an
 * address that cannot be had is left out. To be called before the server listens, and its answer after that.
 */
function listenBeside(app: ListeningApp): () => Promise<void> {
  const others: Server[] = [];
  const closed: Promise<unknown>[] = [];
  app.addHook('preClose', async () => {
    for (const other of others) closed.push(new Promise((resolve) => other.close(resolve)));
  });
  app.addHook('onClose', async () => {
    await Promise.all(closed);
  });
  return async () => {
    const taken = app.addresses().filter((one) => typeof one !== 'string');
    const all = await lookup(LOCALHOST, { all: true }).catch(() => []);
    for (const { address } of all.filter((one) => !taken.some((own) => own.address === one.address))) {
      const options = { allowHalfOpen: true, noDelay: true };
      const other = createServer(options, (socket) => app.server.emit('connection', socket));
      other.listen({ host: address, port: taken[0]?.port ?? 0, backlog: BACKLOG });
      await once(other, 'listening').then(
        () => others.push(other),
        () => undefined,
      );
    }
  };
}

/**
 * Listens in a folder that nobody else comes into, and gives the socket its path once it has its mode: between the two calls
 * it would be open to everyone otherwise. A umask would hold for every other file that is made meanwhile. A link does not take
 * the path from another who listens there by now; a socket keeps listening under the names that it gets.
 */
async function listenOnSocket(app: ListeningApp, path: string, mode: number): Promise<void> {
  let inode: number | null = null;
  // While it still listens: nobody takes the path of a socket that is answered.
  app.addHook('preClose', async () => {
    if (inode !== null && (await inodeAt(path)) === inode) await unlink(path);
  });
  const folder = await mkdtemp(join(dirname(path), PRIVATE_FOLDER));
  try {
    const socket = join(folder, SOCKET_NAME);
    await app.listen({ path: socket, backlog: BACKLOG });
    await chmod(socket, mode);
    await link(socket, path);
    inode = await inodeAt(path);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The names of that folder, to which the system adds six characters, and of the socket in it: short, for a path may not be long. */
const PRIVATE_FOLDER = '.k';
const SOCKET_NAME = 's';
const PRIVATE_PATH = `/${PRIVATE_FOLDER}XXXXXX/${SOCKET_NAME}`;

/** Null where there is nothing. */
async function inodeAt(path: string): Promise<number | null> {
  return lstat(path).then(
    ({ ino }) => ino,
    () => null,
  );
}

/** Why a path cannot become a socket: Node's code, words and, where another address is not what helps, what to do. */
class PlaceError extends Error {
  readonly code: string;
  readonly remedy: string | null;

  constructor(code: string, message: string, remedy: string | null = null) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

async function clearSocket(path: string, log: LogPort): Promise<void> {
  const length = Math.max(Buffer.byteLength(path), Buffer.byteLength(dirname(path) + PRIVATE_PATH));
  if (length > LONGEST_PATH)
    throw new PlaceError(
      'ENAMETOOLONG',
      `a socket takes a path of at most ${LONGEST_PATH} bytes, in a folder of at most ${LONGEST_PATH - PRIVATE_PATH.length}`,
      'name a shorter one',
    );
  const place = await placeAt(path);
  if (place === 'no folder') {
    const remedy = `make it first, for the user that Keyway runs as, in the proxy's group: mkdir -p -m 750 ${dirname(path)}`;
    throw new PlaceError('ENOENT', `there is no folder ${dirname(path)}`, remedy);
  }
  if (place === 'another file') throw new PlaceError('EADDRINUSE', 'a file that is no socket stands there');
  if (place === 'live socket') throw new PlaceError('EADDRINUSE', 'another process listens there');
  if (typeof place === 'string') return;
  if (await removeLeft(path, place)) {
    log.warn({ socket: path }, 'replaced a socket that nobody listened on any more');
  }
}

/**
 * Removes this one socket, which nobody listens on. It is moved away first, so that of several who start at once none
 * removes the socket that another listens on by now. False when another has removed it.
 */
async function removeLeft(path: string, left: Stats): Promise<boolean> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return false;
    throw error;
  }
  // An inode's number is given again, but its content is not as old.
  const moved = await lstat(aside);
  if (moved.ino === left.ino && moved.mtimeMs === left.mtimeMs) {
    await unlink(aside);
    return true;
  }
  await rename(aside, path);
  throw new PlaceError('EADDRINUSE', 'another process listens there');
}

/** The finding at a path; for a socket that nobody listens on, its stats, to tell it from others. */
type Place = 'free' | 'no folder' | 'another file' | 'live socket' | Stats;

async function placeAt(path: string): Promise<Place> {
  const found = await lstat(path).catch(() => null);
  if (found === null) {
    const folder = await lstat(dirname(path)).catch(() => null);
    return folder === null ? 'no folder' : 'free';
  }
  if (!found.isSocket()) return 'another file';
  return (await isAnswered(path)) ? 'live socket' : found;
}

/** Only a refusal says that nobody listens; a socket that may not be looked at counts as answered. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}
