import { isAbsent } from '../api/failure.js';
import { reachesKeys } from '../api/own-interface.js';
import { fieldsOf } from '../api/wire.js';
import type { Workspace } from './workspace.js';

/** Asks for the address of the page that the user of a key sees in a browser; null where none is served. */
export async function userPage(workspace: Workspace, key: string): Promise<string | null> {
  const { reach, offers, server } = workspace;
  const own = reachesKeys(reach.get()) ? await keywaysPage(workspace, key) : null;
  if (own !== null || offers.get().share === false) return own;
  try {
    return await server.subscription(key);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    offers.patch({ share: false });
    return null;
  }
}

/** The page as Keyway itself serves it. */
async function keywaysPage({ own, place }: Workspace, key: string): Promise<string | null> {
  const asked = await own.ask({ method: 'GET', path: `/keys/${encodeURIComponent(key)}/subscription` });
  const { path } = fieldsOf(asked).members;
  return typeof path === 'string' ? new URL(path, place.subscriptions).href : null;
}
