import { lstat } from 'node:fs/promises';
import { connect } from 'node:net';
import type { FileSystemPort } from '../core/ports.js';
import { inDataFolder } from '../files/foreign.js';
import { holderOfFolder } from '../files/hold.js';
import { lockPorts } from '../files/lock.js';
import { failureCode } from '../platform/failure-words.js';
import { controlSocketOf } from '../serve/control.js';
import type { HomePlace } from '../settings/home.js';

/**
 * Finds the socket of the Keyway that serves a home; null where none listens for commands. Rejects with an `Error` for people
 * where it may not be asked, and where it does not answer.
 */
export async function servingSocket(
  { commandFolder, documents }: Pick<HomePlace, 'commandFolder' | 'documents'>,
  fileSystem: FileSystemPort,
  reach = reachSocket,
): Promise<string | null> {
  if (commandFolder === null) return null;
  const place = { dataFolder: commandFolder, configPath: documents[0] ?? null };
  const path = await inDataFolder(fileSystem, place, () => controlSocketOf(commandFolder, fileSystem));
  if (path === null) return null;
  const reached = await reach(path);
  if (reached === 'nobody') return null;
  if (reached === 'answered') return path;
  const holder = await inDataFolder(fileSystem, place, () => holderOfFolder(lockPorts(fileSystem), commandFolder));
  if (reached === 'silent') throw new Error(`${holder?.by ?? `the Keyway at ${path}`} does not answer (suspended?)`);
  // What a Keyway of another user has left that is gone: it is found by its lock whether one serves.
  if (holder === null) return null;
  throw new Error(`a Keyway serves the file (${holder.by}), and its socket ${path} is not yours: run this as its user`);
}

type Reached = 'answered' | 'silent' | 'refused' | 'nobody';

/** Milliseconds for which a Keyway that serves may answer nothing. */
const ANSWER_PATIENCE = 5_000;

/** Asks for anything, for `patience` milliseconds: whatever is answered tells that somebody is at work there. */
export async function reachSocket(path: string, patience = ANSWER_PATIENCE): Promise<Reached> {
  const isMissing = await lstat(path).then(
    () => false,
    (error: unknown) => failureCode(error) === 'ENOENT',
  );
  if (isMissing) return 'nobody';
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (reached: Reached) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(reached);
    };
    const timer = setTimeout(() => end('silent'), patience);
    socket.once('connect', () => socket.write('HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'));
    socket.once('data', () => end('answered'));
    socket.once('end', () => end('answered'));
    socket.once('error', (error) => {
      const code = failureCode(error);
      if (code === 'EACCES' || code === 'EPERM') end('refused');
      else end(code === 'ECONNRESET' || code === 'EPIPE' ? 'answered' : 'nobody');
    });
  });
}
