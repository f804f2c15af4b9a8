import type { AccessKey } from '../../core/model.js';
import { legacyListReading, type ServerFile } from '../../wire/traits/server-file.js';
import { inboundsOf } from '../inbounds-layout.js';
import type { LegacyList } from '../legacy-list.js';
import { memberOf, type ValueNode } from '../tree.js';
import type { FileCheck } from './file-check.js';
import { keysAtStart, rootListProblem, startProblem } from './start.js';

/** How the servers of a line read a file. */
export interface ServerReading {
  /** Why they do not start, as a clause that begins with the place; null if they do. */
  readonly problem: string | null;
  readonly atStart: KeysRead;
  /** The keys after a change of the file under a running server, or 5 s after its start. */
  readonly atLiveReload: KeysRead;
  /** True if they serve an API. */
  readonly listener: boolean;
}

export interface KeysRead {
  readonly keys: readonly AccessKey[];
  /** The same as a few words for the user. */
  readonly text: string;
  /** A warning for the operator, or null. */
  readonly note: string | null;
}

type Checked = Pick<FileCheck, 'serverText' | 'rootList'>;

/** Returns how servers of a line read a checked file; `version` is theirs. */
export function readingOf(checked: Checked, file: ServerFile, version: string): ServerReading {
  const problem = startProblem(checked.serverText, file);
  const keys = keysAtStart(checked.serverText, file.layout);
  const reading = legacyListReading(file, version);
  const [atStart, atLiveReload] =
    reading === null ? rootReadings(checked, keys, file) : inboundReadings(checked, keys, reading === 'union');
  return { problem, atStart, atLiveReload, listener: servesApi(checked, file) };
}

function rootReadings(
  { rootList, serverText }: Checked,
  keys: readonly AccessKey[],
  file: ServerFile,
): [KeysRead, KeysRead] {
  if (rootList === null) {
    const none = (note: string): KeysRead => ({ keys, text: 'no keys', note });
    return [none('there is no access_keys'), none('there is no access_keys: every key is dropped')];
  }
  const read = { keys, text: `${keysText(keys.length)} of access_keys`, note: null };
  return [read, rootListProblem(serverText, file) !== null ? { ...read, note: ROOT_RELOAD_STOPPED } : read];
}

const ROOT_RELOAD_STOPPED = 'an element of access_keys that they do not take stops their live reloads, too';

function inboundReadings(checked: Checked, keys: readonly AccessKey[], isUnion: boolean): [KeysRead, KeysRead] {
  const { rootList, serverText } = checked;
  const hasInbounds = memberOf(serverText.root ?? undefined, 'inbounds')?.kind === 'array';
  const migration = rootList === null ? '' : '; its own migration of access_keys drops names and limits';
  const start: KeysRead = hasInbounds
    ? { keys, text: `${keysText(keys.length)} of inbounds`, note: null }
    : { keys, text: 'no keys', note: `there are no inbounds${migration}` };
  if (rootList !== null && !rootList.takenAtReload) return [start, { ...start, note: RELOAD_STOPPED }];
  return [start, isUnion ? both(start, rootList, hasInbounds) : listOnly(keys, rootList)];
}

const RELOAD_STOPPED =
  'an element of access_keys that has "access_key", or neither is a string nor has "key", stops its live reloads';

/**
 * Joins the keys of a start and of a root list. Names and limits are those of the inbounds, whose elements win; the
 * list cannot have any.
 */
function both(start: KeysRead, rootList: LegacyList | null, hasInbounds: boolean): KeysRead {
  if (!hasInbounds || rootList === null) return start;
  const known = new Set(start.keys.map(({ accessKey }) => accessKey));
  const others = [...rootList.keys.values()].filter(({ accessKey }) => !known.has(accessKey));
  if (others.length === 0) return start;
  return {
    keys: [...start.keys, ...others],
    text: `${start.text}, ${others.length} of access_keys`,
    note: `${keysText(others.length)} of access_keys are in no inbound: gone at the next start`,
  };
}

function listOnly(inbounds: readonly AccessKey[], rootList: LegacyList | null): KeysRead {
  if (rootList === null) {
    const kept = inbounds.length === 0 ? '' : ', those of inbounds are dropped';
    return { keys: [], text: 'no keys', note: `there is no access_keys${kept}` };
  }
  const missing = inbounds.filter(({ accessKey }) => !rootList.keys.has(accessKey)).length;
  const lost = missing === 0 ? '' : `, ${missing} of inbounds are dropped`;
  const keys = [...rootList.keys.values()];
  return { keys, text: `${keysText(keys.length)} of access_keys`, note: `the keys are those of access_keys${lost}` };
}

function servesApi({ serverText: { root } }: Checked, { layout, wantsCredential }: ServerFile): boolean {
  if (root === null) return false;
  if (layout === 'inbounds') return inboundsOf(root, 'api').length > 0;
  const api = memberOf(root, 'api');
  if (api?.kind !== 'object') return false;
  const has = (name: string) => hasText(memberOf(api, name));
  return !wantsCredential || has('token') || (has('username') && has('password_hash'));
}

function hasText(node: ValueNode | undefined): boolean {
  return node?.kind === 'string' && node.value.trim() !== '';
}

function keysText(count: number): string {
  return count === 1 ? '1 key' : `${count} keys`;
}
