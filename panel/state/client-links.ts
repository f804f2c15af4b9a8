import { createStore, type Store } from '../store/store.js';
import { isReachable, partLink, readClientAddress } from '../text/client-address.js';
import { perWorkspace } from './per-workspace.js';
import type { Workspace } from './workspace.js';

/** The server's link names an address that no client can reach, and the page was told of none. */
export class MissingAddress extends Error {
  readonly host: string;
  constructor(host: string) {
    super(`links name ${host}`);
    this.host = host;
  }
}

/** The address at which clients reach the server, as it was typed; kept by the browser for all tabs. Null where none was. */
export const clientAddressOf = perWorkspace<Store<string | null>>(({ place, tab }) => {
  const name = `keyway:clients:${place.root}`;
  const address = createStore(tab.keptForGood.read(name));
  address.subscribe(() => tab.keptForGood.write(name, address.get()));
  return address;
});

/** A share link as it is handed out. */
interface ClientLink {
  readonly text: string;
  /** The address that the server named and no client could reach; null where its link stays as it is. */
  readonly instead: string | null;
}

/** Asks for the share link of a key. Rejects with `MissingAddress` where nobody could use it. */
export async function clientLink(workspace: Workspace, key: string): Promise<ClientLink> {
  const link = await workspace.server.shareLink(key);
  const parts = partLink(link, key);
  if (parts === null || isReachable(parts.host)) return { text: link, instead: null };
  const address = readClientAddress(clientAddressOf(workspace).get() ?? '');
  if (address === null) throw new MissingAddress(parts.host);
  return { text: parts.before + address.host + (address.port || parts.port) + parts.after, instead: parts.host };
}
