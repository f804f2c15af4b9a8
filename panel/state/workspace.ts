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

/** Everything that belongs to one server: what it offers, who is signed in, what was last seen of it. */
export interface Workspace {
  readonly place: Place;
  readonly server: Server;
  readonly session: Session;
  readonly offers: Store<Offers>;
  readonly contact: Contact;
  readonly status: Store<ServerStatus | null>;
  readonly users: Users;
  /** Signs nobody in; begins with what is kept. */
  start(): Promise<void>;
  /** Sends nothing more by itself, until it is started again. */
  stop(): void;
}

export function createWorkspace(place: Place): Workspace {
  const offers = createStore(place.offers);
  const contact = createContact();
  const session = createSession(place, offers, contact.isContinuous);
  const server = createServer(session.send);
  const status = createStore<ServerStatus | null>(null);
  const users = createUsers(server);
  contact.add(async () => status.set(await server.status()));

  async function begin(): Promise<void> {
    contact.start();
    if (Object.values(offers.get()).includes(null)) offers.set(await learnOffers(server, offers.get()));
  }

  let unsubscribe = () => {};
  const follow = () => {
    if (session.state.get().phase === 'signedIn') void begin();
    else contact.stop();
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
