import { isAbsent } from '../api/failure.js';
import { reachesKeys } from '../api/own-interface.js';
import { fieldsOf } from '../api/wire.js';
import type { Workspace } from './workspace.js';

/**
 * Asks for the subscription address of a key, which a browser shows as a page: a random one where Keyway hands that out, else the one
 * that its server tells. Null where none is served.
 */
export async function subscriptionOf(workspace: Workspace, key: string): Promise<string | null> {
  const { reach, offers, server } = workspace;
  const own = reachesKeys(reach.get()) ? await handedOut(workspace, key) : null;
  if (own !== null || offers.get().share === false) return own;
  try {
    return await server.subscription(key);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    offers.patch({ share: false });
    return null;
  }
}

/** The random address, below the one for subscriptions alone, else below the configuration's domain, else beside the page. */
async function handedOut({ own, place }: Workspace, key: string): Promise<string | null> {
  const path = `/keys/${encodeURIComponent(key)}`;
  const served = fieldsOf(await own.ask({ path: `${path}/subscription` })).members.path;
  if (typeof served !== 'string') return null;
  const address = fieldsOf(await own.ask({ method: 'POST', path: `${path}/address` }));
  const { url } = address.members;
  const isApart = place.subscriptions !== place.root;
  return typeof url === 'string' && !isApart ? url : new URL(address.text('path'), place.subscriptions).href;
}
