import { lstat, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort, LogPort } from '../core/ports.js';
import type { Gateway } from '../gateway/compose.js';
import { failureWords } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import { isTooLongForSocket, listenAt } from './listen.js';

/** The socket on which a Keyway that serves from this data folder listens for commands (docs/keys.md). */
function controlSocketIn(dataFolder: string): string {
  return join(dataFolder, 'keyway.sock');
}

/** The file that says where the socket is of a data folder whose path is too long for one. */
function pointerIn(dataFolder: string): string {
  return join(dataFolder, 'keyway.sock.path');
}

/** Finds the path at which a Keyway that serves from this data folder listens for commands; null where none can. */
export async function controlSocketOf(dataFolder: string, fileSystem: FileSystemPort): Promise<string | null> {
  const usual = controlSocketIn(dataFolder);
  if (!isTooLongForSocket(usual)) return usual;
  const pointer = await unlessMissing(fileSystem.read(pointerIn(dataFolder), FILE_LIMITS.note));
  if (pointer === null) return null;
  const path = pointer.toString('utf8');
  const [place, own] = await Promise.all([unlessMissing(lstat(dirname(path))), fileSystem.stat(dataFolder)]);
  // After a crash anybody may have made a folder, or a link, of that name.
  const isTrusted = place !== null && [0, own.uid].includes(place.uid) && (place.mode & OTHERS) === 0;
  return isTrusted ? path : null;
}

const OTHERS = 0o077;

/** Its owner alone. */
const SOCKET_MODE = 0o600;
const WORDS = { subject: 'the socket for commands', remedy: 'free its path', socketMode: SOCKET_MODE };

/** Listens for commands on a socket; closes with the gateway. Rejects with a `StartError`. */
async function listenForCommands(gateway: Gateway, path: string, log: LogPort): Promise<FastifyInstance> {
  const app = gateway.control();
  // Registered after the counters' hook, because hooks of this kind run in reverse order.
  gateway.app.addHook('onClose', () => app.close());
  await listenAt(app, `unix:${path}`, WORDS, log);
  return app;
}

/** Does the same in the data folder that is served from. A failure is one line in the log, and null. */
export async function startControl(
  gateway: Gateway,
  dataFolder: string,
  log: LogPort,
): Promise<FastifyInstance | null> {
  try {
    const usual = controlSocketIn(dataFolder);
    return await listenForCommands(
      gateway,
      isTooLongForSocket(usual) ? await elsewhere(gateway, dataFolder) : usual,
      log,
    );
  } catch (error) {
    log.warn({}, `commands such as "keyway keys" do not reach this Keyway: ${failureWords(error)}`);
    return null;
  }
}

/** Makes a folder for the socket of a data folder whose path is too long for one; it goes with the gateway. */
async function elsewhere({ app }: Gateway, dataFolder: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-'));
  const path = controlSocketIn(folder);
  app.addHook('onClose', async () => {
    await rm(pointerIn(dataFolder), { force: true });
    await rm(folder, { recursive: true, force: true });
  });
  await writeFile(pointerIn(dataFolder), path, { mode: 0o600 });
  return path;
}
