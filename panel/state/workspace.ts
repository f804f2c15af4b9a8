import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { learnOffers, type Offers } from '../api/offers.js';
import type { Place } from '../api/places.js';
import { createServer, type Server } from '../api/server.js';
import type { ServerStatus } from '../api/wire.js';
import { createStore, type Store } from '../store/store.js';
import { type Contact, createContact } from './contact.js';
import { createSession, type Session } from './session.js';
import { createUsers, type Users } from './users.js';

/** What the server said of itself last, and how long that took in milliseconds. */
export interface SeenStatus extends ServerStatus {
  readonly took: number;
}

/** Everything that belongs to one server: what it offers, who is signed in, what was last seen of it. */
export interface Workspace {
  readonly place: Place;
  readonly server: Server;
  readonly session: Session;
  readonly offers: Store<Offers>;
  readonly contact: Contact;
  readonly status: Store<SeenStatus | null>;
  readonly users: Users;
  /** Signs nobody in; begins with what is kept. */
  start(): Promise<void>;
  /** Sends nothing more by itself, until it is started again. */
  stop(): void;
}

/** Milliseconds that a server which was away is given to answer. */
const PATIENCE = 4_000;

export function createWorkspace(place: Place): Workspace {
  const offers = createStore(place.offers);
  const contact = createContact(() => askStatus(PATIENCE));
  const session = createSession(place, offers, contact.isContinuous);
  const server = createServer(session.send);
  const status = createStore<SeenStatus | null>(null);
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
    start() {
      unsubscribe = session.state.subscribe(follow);
      return session.start();
    },
    stop() {
      unsubscribe();
      contact.stop();
    },
  };
}

export const WorkspaceContext = createContext<Workspace | null>(null);

export function useWorkspace(): Workspace {
  const workspace = useContext(WorkspaceContext);
  if (workspace === null) throw new Error('no workspace around this component');
  return workspace;
}
