import { reachesKeys } from '../../api/own-interface.js';
import { patchKey } from '../../api/own-keys.js';
import type { User } from '../../api/wire.js';
import type { Words } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { useFormDraft } from '../../state/form-drafts.js';
import { limitDraft } from '../../state/limits.js';
import { isAddressable, labelOf } from '../../state/named-keys.js';
import type { UsersState } from '../../state/seen-keys.js';
import { say } from '../../state/toasts.js';
import type { Workspace } from '../../state/workspace.js';
import type { Whole } from '../../text/exact-json.js';

/** Keeps what is typed of a key: in the list or in a window, which a narrower page has instead. A null one is to be created. */
export function useKeyDraft(given: User | null) {
  return useFormDraft(`edit/${given?.access_key}`, {
    // The key at the beginning of the edit: a change on the server meanwhile is told, not taken over.
    user: given,
    ...{ name: given?.name ?? '', key: '', limit: limitDraft(given?.limit_bytes ?? null) },
    keepName: given !== null && given.name === undefined,
  });
}

/** A key to be created. */
export interface NewKey {
  /** Empty has one generated. */
  readonly key: string;
  readonly name: string;
  readonly limit: Whole | null;
}

/** Creates a key and resolves with it once the list has it. Rejects as the call does. */
export async function createKey(workspace: Workspace, { key, name, limit }: NewKey): Promise<string> {
  try {
    const made = await workspace.server.createUser({
      ...(key === '' ? {} : { access_key: key }),
      ...(name === '' ? {} : { name }),
      ...(limit === null ? {} : { limit_bytes: limit }),
    });
    note(workspace, 'createKey', true);
    await workspace.contact.now();
    return made;
  } catch (problem) {
    note(workspace, 'createKey', false);
    void workspace.contact.now();
    throw problem;
  }
}

/** A change of a key; a name left out stays as it is. */
export interface KeyChange {
  readonly name?: string;
  readonly limit: Whole | null;
}

/**
 * Changes what differs of a key from how it was at the beginning of the edit, so that what others change of it meanwhile stays. Where
 * only name and limit together can be sent, an unchanged limit is the one that the list tells.
 */
export async function changeKey(workspace: Workspace, user: User, { name, limit }: KeyChange): Promise<void> {
  const { server, own, reach, users } = workspace;
  const { access_key: key } = user;
  const isNamed = name !== undefined && name !== (user.name ?? '');
  const isLimited = limit !== user.limit_bytes;
  const named = isNamed && { name: name === '' ? null : name };
  const limited = isLimited && { limit_bytes: limit };
  if (!isNamed && !isLimited) return;
  if (isAddressable(key) && reachesKeys(reach.get())) await patchKey(own, key, { ...named, ...limited });
  else if (named === false) await server.setLimit(key, limit);
  else {
    const known = users.state.get().byKey.get(key) ?? user;
    await server.updateUser(key, named.name, isLimited ? limit : known.limit_bytes);
  }
  if (isNamed) note(workspace, 'updateKey', true);
  else note(workspace, 'setLimit', true, { n: 1 });
}

/** Saves what differs of a key, and says so by its new name unless somebody has signed out since. Rejects as the call does. */
export async function saveKey(workspace: Workspace, user: User, change: KeyChange): Promise<void> {
  try {
    await changeKey(workspace, user, change);
  } catch (problem) {
    note(workspace, 'updateKey', false);
    void workspace.contact.now();
    throw problem;
  }
  await workspace.contact.now();
  if (workspace.session.state.get().phase === 'signedOut') return;
  const name = labelOf({ key: user.access_key, name: change.name ?? user.name ?? '' });
  say('good', (words) => words('edit.saved', { name }));
}

/** Tells why a key cannot be made by this name; null where it can. */
export function newKeyProblem(key: string, { users, byKey }: UsersState, words: Words): string | null {
  if (byKey.has(key)) return words('edit.exists');
  if (key === '.' || key === '..') return words('edit.dotKey');
  // One that exists would be made anew.
  return users === null && key !== '' ? words('keys.loading') : null;
}

/** Tells whether a key is another one by now than at the beginning of its edit. */
export function isOtherKey(user: User, now: User | undefined): boolean {
  return now !== undefined && (now.name !== user.name || now.limit_bytes !== user.limit_bytes);
}
