import type { ListenerConfig } from '../../core/model.js';
import { parseJson } from '../../wire/json/json.js';
import { readDocument } from '../document.js';
import { checkFile } from './file-check.js';

/**
 * Throws an `Error` for the user if this content must not become the configuration file: the API would refuse it for
 * half of a surrogate pair, a key occurs in it twice, or it would open a listener that the present content closes.
 */
export function checkRestorable(content: Buffer, present: Buffer | null): void {
  parseJson(content, { comments: true, foreign: true });
  const { configuration, duplicates } = checkFile(content);
  const [twice] = duplicates;
  if (twice !== undefined)
    throw new Error(`a key stands in it twice, at ${twice.place} and ${twice.counts}: nothing was restored`);
  if (present !== null && isClosed(listenerIn(present)) && !isClosed(configuration.listener))
    throw new Error(
      'it has no credentials, and the present file has: the API would be open to everyone. To have it all the same, take them out of the present file first; nothing was restored',
    );
}

/** Returns the listener in a file; null if the file cannot be read, because it then closes nothing. */
function listenerIn(present: Buffer): ListenerConfig | null {
  try {
    return readDocument(present).configuration.listener;
  } catch {
    return null;
  }
}

function isClosed(listener: ListenerConfig | null): boolean {
  if (listener === null) return false;
  const { token, username, passwordHash } = listener;
  return [token, username, passwordHash].some((secret) => (secret ?? '') !== '');
}
