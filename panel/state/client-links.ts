import { createStore, type Store } from '../store/store.js';
import { type ClientAddress, hostIn, isReachable } from '../text/client-address.js';
import { perWorkspace } from './per-workspace.js';
import type { Workspace } from './workspace.js';

/** The server's links name an address that no client can reach, and this page may set another one. */
export class MissingAddress extends Error {
  readonly host: string;
  constructor(host: string) {
    super(`links name ${host}`);
    this.host = host;
  }
}

/** Counts the addresses that were set from this page: a link that was asked for before is another by now. */
export const addressesSet = perWorkspace<Store<number>>(() => createStore(0));

/** Sets the address that every link names from now on. Rejects with `ApiFailure`, as where a setting of the server decides it. */
export async function setAddress(workspace: Workspace, { host, port }: ClientAddress): Promise<void> {
  const body = { host, ...(port === '' ? {} : { port: Number(port.slice(1)) }) };
  await workspace.own.ask({ method: 'PUT', path: '/address', body });
  const count = addressesSet(workspace);
  count.set(count.get() + 1);
}

/** A share link as it is handed out. */
interface ClientLink {
  readonly text: string;
  /** The address that it names and no client can reach; null for a good one. */
  readonly unreachable: string | null;
}

/** Asks for the share link of a key. Rejects with `MissingAddress` where nobody could use it and that can be mended here. */
export async function clientLink(workspace: Workspace, key: string): Promise<ClientLink> {
  const text = await workspace.server.shareLink(key);
  const host = hostIn(text, key);
  if (host === null || isReachable(host)) return { text, unreachable: null };
  if (workspace.reach.get() === 'all') throw new MissingAddress(host);
  return { text, unreachable: host };
}
