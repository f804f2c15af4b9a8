import { formatLimit } from '../../../src/text/sizes.js';
import type { Whole } from '../../../src/text/whole.js';
import type { Change } from '../../api/jobs.js';
import { reachesKeys } from '../../api/own-interface.js';
import { patchKey } from '../../api/own-keys.js';
import type { User } from '../../api/wire.js';
import type { Words } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { batchesOf } from '../../state/batches.js';
import { useFormDraft } from '../../state/form-drafts.js';
import { lastUnitOf, limitDraft } from '../../state/limits.js';
import { isAddressable, labelOf } from '../../state/named-keys.js';
import type { UsersState } from '../../state/seen-keys.js';
import { say } from '../../state/toasts.js';
import { useWorkspace, type Workspace } from '../../state/workspace.js';

/** Keeps what is typed of a key: in the list or in a window, which a narrower page has instead. A null one is to be created. */
export function useKeyDraft(given: User | null) {
  const unit = lastUnitOf(useWorkspace()).get();
  return useFormDraft(`edit/${given?.access_key}`, {
    // The key at the beginning of the edit: a change on the server meanwhile is told, not taken over.
    user: given,
    ...{ name: given?.name ?? '', note: given?.note ?? '', key: '' },
    limit: limitDraft(given?.limit_bytes ?? null, unit),
    keepName: given !== null && given.name === undefined,
  });
}

/** A key to be created. */
export interface NewKey {
  /** Empty has one generated. */
  readonly key: string;
  readonly name: string;
  readonly note: string;
  readonly limit: Whole | null;
}

/** A key that was created. */
interface MadeKey {
  /** The key as it is without its note. */
  readonly made: User;
  /** Why its note could not be saved; null where it was. */
  readonly noteError: unknown;
}

/** Creates a key and resolves with it once the list has it. Rejects as the call that creates it does. */
export async function createKey(workspace: Workspace, { key, name, note: text, limit }: NewKey): Promise<MadeKey> {
  try {
    const made = await workspace.server.createUser({
      ...(key === '' ? {} : { access_key: key }),
      ...(name === '' ? {} : { name }),
      ...(limit === null ? {} : { limit_bytes: limit }),
    });
    note(workspace, 'createKey', true);
    let noteError: unknown = null;
    if (text !== '') {
      await patchKey(workspace.own, made, { note: text }).catch((why: unknown) => {
        noteError = why;
      });
    }
    await workspace.contact.now();
    const counters = { bytes_up: 0, bytes_down: 0, connections: 0, online: false };
    return { made: { access_key: made, name, limit_bytes: limit, ...counters }, noteError };
  } catch (problem) {
    note(workspace, 'createKey', false);
    void workspace.contact.now();
    throw problem;
  }
}

/** A change of a key; a name or note left out stays as it is. */
export interface KeyChange {
  readonly name?: string;
  readonly note?: string;
  readonly limit: Whole | null;
}

/**
 * Changes what differs of a key from how it was at the beginning of the edit, so that what others change of it meanwhile stays. Where
 * only name and limit together can be sent, an unchanged limit is the one that the list tells. Resolves with what was changed and what
 * takes it back, which a name that the list does not tell has none of; null where nothing differs.
 */
export async function changeKey(
  workspace: Workspace,
  user: User,
  { name, note: text, limit }: KeyChange,
): Promise<Change | null> {
  const { server, own, reach, users } = workspace;
  const { access_key: key } = user;
  const known = users.state.get().byKey.get(key) ?? user;
  const isNamed = name !== undefined && name !== (user.name ?? '');
  const named = isNamed && { name: name || null };
  const limited = limit !== user.limit_bytes && { limit_bytes: limit };
  const noted = text !== undefined && text !== (user.note ?? '') && { note: text || null };
  const changed = { ...named, ...limited, ...noted };
  if (Object.keys(changed).length === 0) return null;
  if (noted || (isAddressable(key) && reachesKeys(reach.get()))) await patchKey(own, key, changed);
  else if (named === false) await server.setLimit(key, limit);
  else await server.updateUser(key, named.name, limited === false ? known.limit_bytes : limit);
  if (limited === false || isNamed) note(workspace, 'updateKey', true);
  else note(workspace, 'setLimit', true, { n: 1 });
  const update = { op: 'update', access_key: key } as const;
  const item = { ...update, ...changed };
  if (isNamed && user.name === undefined) return { item };
  return {
    item,
    back: {
      ...update,
      ...(named && { name: known.name || null }),
      ...(limited && { limit_bytes: known.limit_bytes }),
      ...(noted && { note: known.note || null }),
    },
  };
}

/** Says what was saved of a key: its name by now, and its limit before and after where that is another one. */
function savedText({ item, back }: Change, now: string, words: Words): string {
  const name =
    item.op === 'update' && item.name !== undefined ? labelOf({ key: item.access_key, name: item.name ?? '' }) : now;
  const saved = words('edit.saved', { name });
  if (item.op !== 'update' || item.limit_bytes === undefined || back?.op !== 'update') return saved;
  const shown = (limit: Whole | null | undefined) =>
    limit == null ? words('keys.unlimited') : formatLimit(limit, words.language);
  return `${saved} ${words('edit.savedLimit', { from: shown(back.limit_bytes), to: shown(item.limit_bytes) })}`;
}

/**
 * Saves what differs of a key, and says so by its new name unless somebody has signed out since, with the offer to take it back. Rejects as
 * the call does.
 */
export async function saveKey(workspace: Workspace, user: User, change: KeyChange): Promise<void> {
  let changed: Change | null;
  try {
    changed = await changeKey(workspace, user, change);
  } catch (problem) {
    note(workspace, 'updateKey', false);
    void workspace.contact.now();
    throw problem;
  }
  await workspace.contact.now();
  if (workspace.session.state.get().phase === 'signedOut') return;
  const name = labelOf({ key: user.access_key, name: change.name ?? user.name ?? '' });
  if (changed?.back === undefined) say('good', (words) => words('edit.saved', { name }));
  else batchesOf(workspace).offers.make(([one = changed], words) => savedText(one, name, words), [changed]);
}

/** Tells why a key cannot be made by this name; null where it can. */
export function newKeyProblem(key: string, { users, byKey }: UsersState, words: Words): string | null {
  if (byKey.has(key)) return words('edit.exists');
  if (key === '.' || key === '..') return words('failure.unaddressable');
  // One that exists would be made anew.
  return users === null && key !== '' ? words('keys.loading') : null;
}

/** Tells whether a key is another one by now than at the beginning of its edit. */
export function isOtherKey(user: User, now: User | undefined): boolean {
  const isOther = (a: User, b: User) =>
    a.name !== b.name || a.limit_bytes !== b.limit_bytes || (a.note || null) !== (b.note || null);
  return now !== undefined && isOther(now, user);
}
