import { connect } from 'node:net';
import type { FileSystemPort } from '../core/ports.js';
import { inDataFolder } from '../files/foreign.js';
import { holderOfFolder } from '../files/hold.js';
import { ANSWER_PATIENCE, lockPorts, NoAnswerError } from '../files/lock.js';
import { failureCode } from '../platform/failure-words.js';
import { controlSocketIn } from '../serve/control.js';
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
  const path = controlSocketIn(commandFolder);
  const reached = await reach(path);
  if (reached === 'nobody') return null;
  if (reached === 'answered') return path;
  const place = { dataFolder: commandFolder, configPath: documents[0] ?? null };
  const holder = await inDataFolder(fileSystem, place, () => holderOfFolder(lockPorts(fileSystem), commandFolder));
  if (reached === 'silent') throw new NoAnswerError(holder?.by ?? `the Keyway at ${path}`);
  // What a Keyway of another user has left that is gone: it is found by its lock whether one serves.
  if (holder === null) return null;
  throw new Error(`a Keyway serves the file (${holder.by}), and its socket ${path} is not yours: run this as its user`);
}

type Reached = 'answered' | 'silent' | 'refused' | 'nobody';

/** Asks for anything, for `patience` milliseconds: whatever is answered tells that somebody is at work there. */
export function reachSocket(path: string, patience = ANSWER_PATIENCE): Promise<Reached> {
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
