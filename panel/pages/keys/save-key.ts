import { patchKey } from '../../api/own-keys.js';
import type { User } from '../../api/wire.js';
import { note } from '../../state/audit-notes.js';
import { isAddressable } from '../../state/named-keys.js';
import type { Workspace } from '../../state/workspace.js';
import type { Whole } from '../../text/exact-json.js';

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
  if (isAddressable(key) && (reach.get() === 'all' || reach.get() === 'keys'))
    await patchKey(own, key, { ...named, ...limited });
  else if (named === false) await server.setLimit(key, limit);
  else {
    const known = users.state.get().byKey.get(key) ?? user;
    await server.updateUser(key, named.name, isLimited ? limit : known.limit_bytes);
  }
  if (isNamed) note(workspace, 'updateKey', true);
  else note(workspace, 'setLimit', true, { n: 1 });
}
