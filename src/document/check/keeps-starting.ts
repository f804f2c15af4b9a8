import { DomainError } from '../../core/errors.js';
import { isBare } from '../../core/keys/key-record.js';
import type { AccessKey, ListenerConfig } from '../../core/model.js';
import type { Steps } from '../../core/steps.js';
import { type FileServer, type ServerFile, takesPlainKeysAlone } from '../../wire/traits/server-file.js';
import { outlineOf, outlineSteps } from '../change.js';
import { type ConfigurationDocument, objectsIn, readDocument } from '../document.js';
import { readServerText, readServerTextSteps } from './server-text.js';
import { startProblem } from './start.js';

/** The findings about documents, by the files of the servers. */
const found = new WeakMap<ConfigurationDocument, Map<ServerFile, string | null>>();

/**
 * Returns what ends the start of each of these servers from all of a document but its keys, whose number does not matter then; null
 * for nothing. The document is read once for all of them.
 */
export function* sectionsProblemsSteps(
  document: ConfigurationDocument,
  files: readonly ServerFile[],
): Steps<ReadonlyMap<ServerFile, string | null>> {
  const problems = found.get(document) ?? new Map<ServerFile, string | null>();
  const others = files.filter((file) => !problems.has(file));
  if (others.length === 0) return problems;
  const { bytes } = yield* outlineSteps(document);
  const text = yield* readServerTextSteps(bytes);
  for (const file of others) {
    problems.set(file, startProblem(text, file, { keysCount: false }));
    yield;
  }
  found.set(document, problems);
  return problems;
}

/** Returns what ends the start of servers from the lists of keys that are known to be such lists; null for nothing. */
export function keysProblem(document: ConfigurationDocument, file: ServerFile): string | null {
  const { lists, layout } = document;
  if (lists.some(({ starts }) => starts.length === 0))
    return `${layout.name === 'inbounds' ? 'inbounds' : 'access_keys'}: expected at least one key`;
  const hasObjects = takesPlainKeysAlone(file) && objectsIn(document) > 0;
  return hasObjects ? 'access_keys: expected a string, as each key' : null;
}

/** Returns what ends the start of all of these servers, where one of them starts from the text before; null for nothing. */
export function endedForAll(before: Buffer, after: Buffer, files: readonly ServerFile[]): string | null {
  const present = readServerText(before);
  const started = files.filter((file) => startProblem(present, file) === null);
  return started.length === 0
    ? null
    : problemForAll(after, [...files.filter((file) => !started.includes(file)), ...started]);
}

/** Returns why the last of these servers does not start from a text; null where one of them does. */
export function problemForAll(text: Buffer, files: readonly ServerFile[]): string | null {
  const read = readServerText(text);
  const problems = files.map((file) => startProblem(read, file));
  return problems.includes(null) ? null : (problems.at(-1) ?? null);
}

/** Throws `unreadableByServer` where one of these servers starts from the one document, as far as it is no list of keys, and not from the other. */
export function* refuseEndedStartSteps(
  before: ConfigurationDocument,
  after: ConfigurationDocument,
  servers: readonly FileServer[],
): Steps<void> {
  const files = servers.map(({ file }) => file);
  const problems = yield* sectionsProblemsSteps(after, files);
  const broken = servers.filter(({ file }) => problems.get(file) !== null);
  if (broken.length === 0) return;
  const present = yield* sectionsProblemsSteps(before, files);
  const ended = broken.find(({ file }) => present.get(file) === null);
  if (ended !== undefined)
    throw new DomainError('unreadableByServer', `${problems.get(ended.file)} (a server of ${ended.version})`);
}

/** Throws `unreadableByServer` for a key with a name or a limit where one of these servers takes plain strings alone. */
export function refuseUnreadableKey(record: AccessKey, servers: readonly FileServer[]): void {
  if (isBare(record)) return;
  const plain = servers.find(({ file }) => takesPlainKeysAlone(file));
  if (plain === undefined) return;
  const problem = 'access_keys: expected a string, as each key, without a name and a limit';
  throw new DomainError('unreadableByServer', `${problem} (a server of ${plain.version})`);
}

/** Throws `unreadableByServer` for the deletion of the last key where one of these servers starts until then: none does without. */
export function refuseLastKey([server]: readonly FileServer[]): void {
  if (server !== undefined)
    throw new DomainError('unreadableByServer', `expected at least one key (a server of ${server.version})`);
}

/** Throws `lockOut` where a listener had a credential and has none afterwards. */
export function refuseLockOut(before: ConfigurationDocument, after: ListenerConfig | null): void {
  if (hasCredential(after)) return;
  if (hasCredential(readDocument(outlineOf(before).bytes).configuration.listener)) throw new DomainError('lockOut');
}

/** Tells whether a listener closes an API to strangers. */
export function hasCredential(listener: ListenerConfig | null): boolean {
  if (listener === null) return false;
  const { token, username, passwordHash } = listener;
  return (token ?? '') !== '' || (username !== '' && passwordHash !== '');
}
