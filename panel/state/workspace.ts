import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { learnOffers } from '../api/offers.js';
import type { Place } from '../api/places.js';
import { createServer } from '../api/server.js';
import type { ServerStatus } from '../api/wire.js';
import { createStore } from '../store/store.js';
import { createContact } from './contact.js';
import { createSession } from './session.js';
import { createUsers } from './users.js';

/** Milliseconds that a server which was away is given to answer. */
const PATIENCE = 4_000;

/** Everything that belongs to one server: what it offers, who is signed in, what was last seen of it. */
export function createWorkspace(place: Place) {
  const offers = createStore(place.offers);
  const contact = createContact(() => askStatus(PATIENCE));
  const session = createSession(place, offers, contact.isContinuous);
  const server = createServer(session.send);
  /** Said by the server of itself, and how long that took in milliseconds. */
  const status = createStore<(ServerStatus & { readonly took: number }) | null>(null);
  const users = createUsers(server, place.root);
  contact.add(() => askStatus());
  contact.add(users.load);

  async function askStatus(timeout?: number): Promise<void> {
    const asked = performance.now();
    const seen = await server.status(timeout);
    status.set({ ...seen, took: performance.now() - asked });
  }

  async function begin(): Promise<void> {
    contact.start();
    if (Object.values(offers.get()).includes(null)) offers.set(await learnOffers(server, offers.get()));
  }

  let unsubscribe = () => {};
  const follow = () => {
    const { phase } = session.state.get();
    if (phase === 'signedIn') void begin();
    else contact.stop();
    if (phase === 'signedOut') users.forget();
  };

  return {
    place,
    server,
    session,
    offers,
    contact,
    status,
    users,
    /** Signs nobody in; begins with what is kept. */
    start() {
      unsubscribe = session.state.subscribe(follow);
      return session.start();
    },
    /** Sends nothing more by itself, until it is started again. */
    stop() {
      unsubscribe();
      contact.stop();
    },
  };
}

export type Workspace = ReturnType<typeof createWorkspace>;

export const WorkspaceContext = createContext<Workspace | null>(null);

export function useWorkspace(): Workspace {
  const workspace = useContext(WorkspaceContext);
  if (workspace === null) throw new Error('no workspace around this component');
  return workspace;
}

/** The servers that the page can point at, and the one that it points at. */
interface Places {
  readonly all: readonly Place[];
  readonly current: Place;
  choose(place: Place): void;
}

export const PlacesContext = createContext<Places | null>(null);

export function usePlaces(): Places {
  const places = useContext(PlacesContext);
  if (places === null) throw new Error('no places around this component');
  return places;
}
