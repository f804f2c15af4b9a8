import type { User } from '../api/wire.js';
import { createStore, type Store } from '../store/store.js';
import { clientLink, MissingAddress } from './client-links.js';
import { isConnected } from './key-list.js';
import { perWorkspace } from './per-workspace.js';
import type { Workspace } from './workspace.js';

/** True when the first steps of a server are done, or were sent away. The browser keeps it. */
export const firstStepsOf = perWorkspace<Store<boolean>>(({ place, tab }) => {
  const name = `keyway:started:${place.root}`;
  const isOver = createStore(tab.keptForGood.read(name) !== null);
  isOver.subscribe(() => tab.keptForGood.write(name, isOver.get() ? 'yes' : null));
  return isOver;
});

/** Returns true for a key that a client has used. */
export function isSeen(user: User): boolean {
  return isConnected(user) || user.bytes_down > 0 || user.bytes_up > 0;
}

/** Returns the host that links name and no client can reach; null where they name a good one, undefined where no link tells. */
export async function findUnreachable(
  workspace: Workspace,
  key: string | undefined,
): Promise<string | null | undefined> {
  if (key === undefined) return undefined;
  try {
    await clientLink(workspace, key);
    return null;
  } catch (problem) {
    return problem instanceof MissingAddress ? problem.host : undefined;
  }
}
