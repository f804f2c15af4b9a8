import type { User } from '../../api/wire.js';
import { note } from '../../state/audit-notes.js';
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

/** With the name left alone only the limit is sent, so that a name which the server does not tell is not lost. */
export async function changeKey(workspace: Workspace, user: User, { name, limit }: KeyChange): Promise<void> {
  const { server } = workspace;
  if (name === undefined || name === (user.name ?? '')) {
    await server.setLimit(user.access_key, limit);
    note(workspace, 'setLimit', true, { n: 1 });
    return;
  }
  await server.updateUser(user.access_key, name === '' ? null : name, limit);
  note(workspace, 'updateKey', true);
}
