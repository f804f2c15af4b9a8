import { DomainError } from '../../core/errors.js';
import { readDocument } from '../../local/document/document.js';
import { removeEmptyKeys } from '../../local/document/key-changes.js';
import { UNCHANGED } from '../find-line.js';
import type { Sent, UpstreamServer } from '../server.js';

/**
 * Removes the key that is an empty text, which no path of the API can name, out of the server's configuration. Rejects with
 * `configRefused` where its line has none in its API, or may have another kind, and with `userNotFound`.
 */
export async function deleteEmptyKey(
  server: Pick<UpstreamServer, 'find' | 'isLater' | 'version' | 'getConfig' | 'putConfig'>,
): Promise<Sent<void>> {
  const { id, capabilities } = await server.find();
  if (capabilities.config === undefined) throw new DomainError('configRefused', outOfReach(id));
  if (server.isLater())
    throw new DomainError('configRefused', `the server reports version ${server.version()}: ${UNCHANGED}`);
  const { document } = readDocument((await server.getConfig()).value);
  const without = removeEmptyKeys(document);
  if (without === document) throw new DomainError('userNotFound');
  return server.putConfig(without.bytes);
}

function outOfReach(line: string): string {
  return `no path of an API names an empty key, and the API of line ${line} has no configuration: take the key out of the server's own file`;
}
