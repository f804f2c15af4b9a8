import { reachesKeys } from '../../api/own-interface.js';
import { patchKey } from '../../api/own-keys.js';
import type { User } from '../../api/wire.js';
import { note } from '../../state/audit-notes.js';
import { useFormDraft } from '../../state/form-drafts.js';
import { isAddressable, labelOf } from '../../state/named-keys.js';
import { say } from '../../state/toasts.js';
import type { Workspace } from '../../state/workspace.js';
import type { Whole } from '../../text/exact-json.js';
import { limitDraft } from './limit-field.js';

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

/** Creates a key and resolves with it. */
export async function createKey({ server }: Workspace, { key, name, limit }: NewKey): Promise<string> {
  return server.createUser({
    ...(key === '' ? {} : { access_key: key }),
    ...(name === '' ? {} : { name }),
    ...(limit === null ? {} : { limit_bytes: limit }),
  });
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

/** Says that a key is saved, by its new name. */
export function saySaved({ access_key: key }: User, name: string): void {
  say('good', (words) => words('edit.saved', { name: labelOf({ key, name }) }));
}
