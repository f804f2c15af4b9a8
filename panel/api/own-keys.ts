import type { Whole } from '../../src/text/whole.js';
import type { OwnInterface } from './own-interface.js';
import { type ChangedKey, fieldsOf, garbled, isChangedKey, listOf } from './wire.js';

/** The changes of keys after a cursor. */
export interface KeyChanges {
  readonly cursor: string;
  /** True where these are all keys: what came after the cursor is not known any more. */
  readonly whole: boolean;
  readonly keys: readonly ChangedKey[];
  readonly removed: readonly string[];
}

interface KeyPatch {
  readonly name?: string | null;
  readonly limit_bytes?: Whole | null;
  readonly note?: string | null;
}

/** Keys of an answer at most. */
const MOST = 10_000;

/** The cursor of the keys as they are now. */
export async function presentKeyCursor(own: OwnInterface): Promise<string> {
  return readKeyChanges(await own.ask({ path: '/keys?limit=1' })).cursor;
}

/** Reads the changes since; null where they are more than one answer holds, or not all are known. */
export async function keyChangesSince(own: OwnInterface, cursor: string): Promise<KeyChanges | null> {
  const path = `/keys?limit=${MOST}&since=${encodeURIComponent(cursor)}`;
  const changes = readKeyChanges(await own.ask({ path }));
  return changes.whole || changes.keys.length + changes.removed.length >= MOST ? null : changes;
}

/** The keys that have a note, with it; none where the interface is one without notes. Rejects with `ApiFailure`. */
export async function keyNotes(own: OwnInterface): Promise<ReadonlyMap<string, string>> {
  const notes = new Map<string, string>();
  for (let after = ''; ; ) {
    const path = `/keys?noted=1&limit=${MOST}${after && `&after=${encodeURIComponent(after)}`}`;
    const { keys } = readKeyChanges(await own.ask({ path }));
    for (const { access_key: key, note } of keys) if (note) notes.set(key, note);
    if (keys.length < MOST) return notes;
    after = keys.at(-1)?.access_key ?? '';
  }
}

/** Changes the members of a key that a merge patch (RFC 7396) names. */
export async function patchKey(own: OwnInterface, key: string, patch: KeyPatch): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  await own.exchange({ method: 'PATCH', path: `/keys/${encodeURIComponent(key)}`, body: patch, headers });
}

/** Throws `ApiFailure`. */
export function readKeyChanges(value: unknown): KeyChanges {
  const { members, text, texts } = fieldsOf(value, 'changes');
  const keys = listOf(members.keys, 'keys');
  const wrong = keys.findIndex((key) => !isChangedKey(key));
  if (wrong !== -1) garbled(`keys[${wrong}]`);
  return {
    cursor: text('cursor'),
    whole: members.whole === true,
    keys: keys.filter(isChangedKey),
    removed: texts('removed'),
  };
}
