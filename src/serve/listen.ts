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
  /** For example `the feed`. */
  readonly subject: string;
  /** The remedy, naming the flag. */
  readonly remedy: string;
  /** The mode of a Unix socket; default 0660. */
  readonly socketMode?: number;
}

type ListeningApp = Pick<FastifyInstance, 'listen' | 'addresses' | 'addHook' | 'server'>;

/** The owner and its group may connect, because the other side may run as another user. */
const SOCKET_MODE = 0o660;

/**
 * Connections that the system queues until they are accepted; with a shorter queue, strangers who connect at once would
 * crowd out others.
 */
const BACKLOG = 4096;

/** Bytes that every system allows; a longer path would be cut off silently. */
const LONGEST_PATH = 103;

/**
 * Listens on `host:port`, or on a Unix socket (`unix:` and a path). Resolves to `http://host:port`, with the port that
 * the system chose, or to `unix:` and the path. A socket left behind by a killed process is replaced, and the log says
 * so; one that answers, and any other file, stays. Rejects with a `StartError`.
 */
export async function listenAt(app: ListeningApp, bind: string, words: ListenWords, log: LogPort): Promise<string> {
  const address = listenAddress(bind);
  try {
    if (address.kind === 'port') {
      const openOthers = address.host === LOCALHOST ? listenOnOthers(app) : null;
      const url = await app.listen({ host: address.host, port: address.port, backlog: BACKLOG });
      await openOthers?.();
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

/** Returns the remedy if the host or port itself is the problem; null otherwise. */
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
 * Makes `localhost` listen on all of its addresses, though a server listens on one only: connections to the others are
 * handed to it, and an address that is not available is left out. Call it before the server listens, and the function
 * that it returns afterwards.
 */
function listenOnOthers(app: ListeningApp): () => Promise<void> {
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
 * Listens in a private folder, and links the socket to its path once it has its mode, because in between it would be
 * open to everyone. A umask would affect every other file made meanwhile. A link never replaces a path that another
 * process now listens on; a socket keeps listening under every name it gets.
 */
async function listenOnSocket(app: ListeningApp, path: string, mode: number): Promise<void> {
  let inode: number | null = null;
  // While it is still listening, because nobody replaces a socket that answers.
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

/**
 * The names of the private folder, to which the system adds six characters, and of its socket: short, because socket
 * paths are limited.
 */
const PRIVATE_FOLDER = '.k';
const SOCKET_NAME = 's';
const PRIVATE_PATH = `/${PRIVATE_FOLDER}XXXXXX/${SOCKET_NAME}`;

/** Returns the inode at a path, or null if there is nothing. */
async function inodeAt(path: string): Promise<number | null> {
  return lstat(path).then(
    ({ ino }) => ino,
    () => null,
  );
}

/** Why a path cannot become a socket: Node's code and words and, unless another address would help, the remedy. */
class PlaceError extends Error {
  readonly code: string;
  readonly remedy: string | null;

  constructor(code: string, message: string, remedy: string | null = null) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

/** Tells whether the system takes no socket at a path, nor at the one in its folder where it is made first. */
export function isTooLongForSocket(path: string): boolean {
  return Math.max(Buffer.byteLength(path), Buffer.byteLength(dirname(path) + PRIVATE_PATH)) > LONGEST_PATH;
}

async function clearSocket(path: string, log: LogPort): Promise<void> {
  if (isTooLongForSocket(path))
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
 * Removes this one socket, which no process listens on. It is renamed first, so that of several processes starting at
 * once none removes the socket of another. Returns false if another process has removed it.
 */
async function removeLeft(path: string, left: Stats): Promise<boolean> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return false;
    throw error;
  }
  // An inode number may be reused, but then the times differ.
  const moved = await lstat(aside);
  if (moved.ino === left.ino && moved.mtimeMs === left.mtimeMs) {
    await unlink(aside);
    return true;
  }
  await rename(aside, path);
  throw new PlaceError('EADDRINUSE', 'another process listens there');
}

/** The finding at a path; for a socket that no process listens on, its stats, to identify it. */
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

/**
 * Tells whether a process listens: only a refused connection says that none does, and a socket without access counts as
 * answered.
 */
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
