import { join } from 'node:path';
import type { LogPort } from '../core/ports.js';
import type { Gateway } from '../gateway/compose.js';
import { StartError } from '../platform/start-error.js';
import { listenAt } from './listen.js';

/** The socket on which a Keyway that serves from this data folder listens for commands (docs/keys.md). */
export function controlSocketIn(dataFolder: string): string {
  return join(dataFolder, 'keyway.sock');
}

/** Its owner alone. */
const SOCKET_MODE = 0o600;
const WORDS = { subject: 'the socket for commands', remedy: 'free its path', socketMode: SOCKET_MODE };

/** Listens for commands of whoever may open the socket; closed with the gateway. Rejects with a `StartError`. */
export async function listenForCommands(gateway: Gateway, path: string, log: LogPort): Promise<void> {
  const app = gateway.control();
  // Before the counters' own: hooks of this kind run in the reverse order.
  gateway.app.addHook('onClose', () => app.close());
  await listenAt(app, `unix:${path}`, WORDS, log);
}

/** The same in the data folder that is served from. Where it cannot, that is one line in the log. */
export async function startControl(gateway: Gateway, dataFolder: string, log: LogPort): Promise<void> {
  try {
    await listenForCommands(gateway, controlSocketIn(dataFolder), log);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    log.warn({}, `commands such as "keyway keys" do not reach this Keyway: ${error.message}`);
  }
}
