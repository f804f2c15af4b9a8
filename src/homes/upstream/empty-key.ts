import { UNCHANGED } from '../../client/find-line.js';
import type { UpstreamServer } from '../../client/server.js';
import { DomainError } from '../../core/errors.js';
import type { KeySnapshot } from '../../core/model.js';
import { type ConfigurationDocument, readDocument } from '../../document/document.js';
import { recordsOf, removeEmptyKeys } from '../../document/key-changes.js';
import { sameState } from './key-state.js';

type Server = Pick<UpstreamServer, 'find' | 'isLater' | 'version' | 'getConfig' | 'putConfig' | 'listUsers' | 'texts'>;

/** So often a configuration is read again that somebody else changes meanwhile. */
const MOST_RETRIES = 3;
/** The most keys that one message names. */
const MOST_NAMED = 5;

/**
 * Removes the key that is an empty text, which no path of the API can name, out of the server's configuration. Rejects with
 * `configRefused` where its line has none in its API, or may have another kind, or would lose other keys by it, and with
 * `userNotFound`; with an error for people where it is done and others changed keys meanwhile.
 */
export async function deleteEmptyKey(server: Server): Promise<void> {
  const { id, capabilities } = await server.find();
  if (capabilities.config === undefined) throw new DomainError('configRefused', outOfReach(id));
  if (server.isLater())
    throw new DomainError('configRefused', `the server reports version ${server.version()}: ${UNCHANGED}`);
  for (let again = 0; again < MOST_RETRIES; again += 1) {
    const { value: bytes } = await server.getConfig();
    const { document } = readDocument(bytes);
    const without = removeEmptyKeys(document);
    if (without === document) throw new DomainError('userNotFound');
    const before = await listed(server);
    await expectAllStored(server, document, [...before.values()]);
    if (!(await server.getConfig()).value.equals(bytes)) continue;
    await server.putConfig(without.bytes);
    const others = differing(before, await listed(server));
    if (others.length > 0) throw new Error(`${OTHERS}: ${named(others)}`);
    return;
  }
  throw new DomainError('configRefused', BUSY);
}

/** Rejects with `configRefused` where the server would lose a key that its configuration has not. */
export async function expectAllStored(
  server: Pick<UpstreamServer, 'find' | 'texts'>,
  document: ConfigurationDocument,
  keys: readonly KeySnapshot[],
): Promise<void> {
  const { storing } = await server.find();
  if (!storing.startsWithKeys) return;
  const { own, struck } = server.texts;
  const unstored = missingIn(
    document,
    keys.map(({ accessKey }) => own(accessKey)),
  );
  if (unstored.length > 0) throw new DomainError('configRefused', `${UNSTORED}: ${named(unstored.map(struck))}`);
}

/** The other keys. */
async function listed(server: Server): Promise<ReadonlyMap<string, KeySnapshot>> {
  const { value } = await server.listUsers();
  return new Map(value.filter(({ accessKey }) => accessKey !== '').map((key) => [key.accessKey, key]));
}

function missingIn(document: ConfigurationDocument, keys: readonly string[]): readonly string[] {
  return [...recordsOf(document, keys)].filter(([, record]) => record === null).map(([accessKey]) => accessKey);
}

function differing(before: ReadonlyMap<string, KeySnapshot>, after: ReadonlyMap<string, KeySnapshot>) {
  const all = new Set([...before.keys(), ...after.keys()]);
  return [...all].filter((key) => !sameState(before.get(key) ?? null, after.get(key) ?? null));
}

function named(keys: readonly string[]): string {
  const shown = keys.slice(0, MOST_NAMED).map((key) => JSON.stringify(key));
  return keys.length > MOST_NAMED ? `${shown.join(', ')} and ${keys.length - MOST_NAMED} more` : shown.join(', ');
}

const UNSTORED =
  'nothing was changed: the server has keys that its configuration has not, and would lose them; change one of them, which stores all, and try again';
const OTHERS =
  'the empty key is out of the configuration, but somebody changed other keys at the same moment, which the server may not keep: look at';
const BUSY = 'nothing was changed: somebody else changes the configuration at the same time; try again';

function outOfReach(line: string): string {
  return `no path of an API names an empty key, and the API of line ${line} has no configuration: take the key out of the server's own file`;
}
