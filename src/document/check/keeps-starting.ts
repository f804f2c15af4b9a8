import { DomainError } from '../../core/errors.js';
import { isBare } from '../../core/keys/key-record.js';
import type { AccessKey, ListenerConfig } from '../../core/model.js';
import type { Steps } from '../../core/steps.js';
import { type FileServer, type ServerFile, takesPlainKeysAlone } from '../../wire/traits/server-file.js';
import { type ConfigurationDocument, objectsIn, readDocumentSteps } from '../document.js';
import { outlineSteps } from '../outline.js';
import { readServerText, readServerTextSteps } from './server-text.js';
import { startProblem } from './start.js';

/** Findings about documents, by the servers' files. */
const found = new WeakMap<ConfigurationDocument, Map<ServerFile, string | null>>();

/**
 * Returns, for each of these servers, what in a document makes its start fail, apart from the keys, whose number is
 * then ignored; null for nothing. The document is read once for all servers.
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

/** Returns what in the known lists of keys makes a start of servers fail; null for nothing. */
export function keysProblem(document: ConfigurationDocument, file: ServerFile): string | null {
  const { lists, layout } = document;
  if (lists.some(({ starts }) => starts.length === 0))
    return `${layout.name === 'inbounds' ? 'inbounds' : 'access_keys'}: expected at least one key`;
  const hasObjects = takesPlainKeysAlone(file) && objectsIn(document) > 0;
  return hasObjects ? 'access_keys: expected a string, as each key' : null;
}

/**
 * Returns what makes the start of all of these servers fail after a change, if one of them starts from the text before;
 * null for nothing.
 */
export function endedForAll(before: Buffer, after: Buffer, files: readonly ServerFile[]): string | null {
  const present = readServerText(before);
  const started = files.filter((file) => startProblem(present, file) === null);
  return started.length === 0
    ? null
    : problemForAll(after, [...files.filter((file) => !started.includes(file)), ...started]);
}

/** Returns why the last of these servers does not start from a text; null if one of them does. */
export function problemForAll(text: Buffer, files: readonly ServerFile[]): string | null {
  const read = readServerText(text);
  const problems = files.map((file) => startProblem(read, file));
  return problems.includes(null) ? null : (problems.at(-1) ?? null);
}

/** Throws an `Error` for the user if one of these servers starts at present, but none would from a kept version. */
export function refuseVersion(
  present: Buffer | null,
  { id, content }: { readonly id: string; readonly content: Buffer },
  files: readonly ServerFile[],
): void {
  const ended = present === null ? null : endedForAll(present, content, files);
  if (ended !== null)
    throw new Error(
      `nothing is restored: no server starts from version ${id}: ${ended}; put it in place by hand if it is meant`,
    );
}

/**
 * Throws `unreadableByServer` if one of these servers starts from the first document, apart from its lists of keys, but
 * not from the second.
 */
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

/** Throws `unreadableByServer` for a key with a name or a limit if one of these servers accepts only plain strings. */
export function refuseUnreadableKey(record: AccessKey, servers: readonly FileServer[]): void {
  if (isBare(record)) return;
  const plain = servers.find(({ file }) => takesPlainKeysAlone(file));
  if (plain === undefined) return;
  const problem = 'access_keys: expected a string, as each key, without a name and a limit';
  throw new DomainError('unreadableByServer', `${problem} (a server of ${plain.version})`);
}

/**
 * Throws `unreadableByServer` for the deletion of the last key, without which no server starts, if one of these servers
 * starts at present.
 */
export function refuseLastKey([server]: readonly FileServer[]): void {
  if (server !== undefined)
    throw new DomainError('unreadableByServer', `expected at least one key (a server of ${server.version})`);
}

/** Throws `lockOut` if the listener had a credential and would lose it. */
export function* refuseLockOutSteps(before: ConfigurationDocument, after: ListenerConfig | null): Steps<void> {
  if (hasCredential(after)) return;
  const { configuration } = yield* readDocumentSteps((yield* outlineSteps(before)).bytes);
  if (hasCredential(configuration.listener)) throw new DomainError('lockOut');
}

/** Tells whether a listener has a credential, so that its API is closed to strangers. */
export function hasCredential(listener: ListenerConfig | null): boolean {
  if (listener === null) return false;
  const { token, username, passwordHash } = listener;
  return (token ?? '') !== '' || (username !== '' && passwordHash !== '');
}
