import { type Context, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { isAbsent } from '../api/failure.js';
import { learnOffers } from '../api/offers.js';
import { createOwnInterface, learnReach, type Reach, reachesKeys } from '../api/own-interface.js';
import type { Place } from '../api/places.js';
import { createServer } from '../api/server.js';
import type { ServerStatus } from '../api/wire.js';
import { createStore } from '../store/store.js';
import type { Tab } from '../store/tab.js';
import { createContact } from './contact.js';
import { createSession } from './session.js';
import { toasts } from './toasts.js';
import { createUsers } from './users.js';

/** Milliseconds that a server which was away is given to answer. */
const PATIENCE = 4_000;

/** Everything that belongs to one server: what it offers, who is signed in, what was last seen of it. */
export function createWorkspace(place: Place, tab: Tab) {
  const offers = createStore(place.offers);
  const contact = createContact(() => askStatus(PATIENCE), tab);
  const session = createSession(place, offers, contact.isContinuous, tab);
  const server = createServer(session.send);
  const ownRoot = place.ownApi ?? place.root;
  /** True where the interface has turned out to be not there: the server may be another one since its reach was learnt. */
  let isDoubtful = false;
  const own = createOwnInterface({
    exchange: (call) =>
      session.sendTo(ownRoot, call).catch((error: unknown) => {
        isDoubtful ||= isAbsent(error);
        throw error;
      }),
    stream: (path, signal) => session.streamFrom(ownRoot, path, signal),
  });
  /** The reach of the credential in Keyway's own interface; null until that is known. */
  const reach = createStore<Reach | null>(null);
  let reachOf: string | null = null;
  /** Said by the server of itself, and how long that took in milliseconds. */
  const status = createStore<(ServerStatus & { readonly took: number }) | null>(null);
  const tellsChanges = () => reachesKeys(reach.get());
  const tellsConfiguration = () => offers.get().config === true;
  const users = createUsers({ server, own, tellsChanges, tellsConfiguration, root: place.root, tab });
  contact.add(() => askStatus());
  contact.add(async (isDue) => {
    await learnOwn();
    await users.load(isDue);
  });

  async function askStatus(timeout?: number): Promise<void> {
    const asked = performance.now();
    const seen = await server.status(timeout);
    status.set({ ...seen, took: performance.now() - asked });
  }

  /** Another credential may reach further, or not so far. Where the mount is open to all, this interface is open to nobody. */
  async function learnOwn(): Promise<void> {
    const value = session.current()?.value ?? null;
    if (reach.get() !== null && value === reachOf && !isDoubtful) return;
    const learnt = place.ownApi === null || value === null ? 'none' : await learnReach(own);
    // Somebody else may have signed in since it was asked.
    if (value !== (session.current()?.value ?? null)) return;
    if (value !== reachOf) users.startAnew();
    reachOf = value;
    isDoubtful = false;
    reach.set(learnt);
  }

  async function begin(): Promise<void> {
    users.watch();
    contact.start();
    if (!Object.values(offers.get()).includes(null)) return;
    offers.set(await learnOffers(server, offers.get()));
    // The list that came first has no names where they stand in the configuration alone.
    void contact.now();
  }

  function rest(): void {
    contact.stop();
    users.rest();
  }

  let unsubscribe = () => {};
  const follow = () => {
    const { phase } = session.state.get();
    if (phase === 'signedIn') void begin();
    else rest();
    if (phase !== 'signedOut') return;
    users.forget();
    // They name keys.
    toasts.set([]);
    reach.set(null);
  };

  return {
    place,
    tab,
    server,
    own,
    reach,
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
      rest();
    },
  };
}

export type Workspace = ReturnType<typeof createWorkspace>;

export const WorkspaceContext = createContext<Workspace | null>(null);

export const useWorkspace = (): Workspace => useGiven(WorkspaceContext);

/** The servers that the page can point at, and the one that it points at. */
interface Places {
  readonly all: readonly Place[];
  readonly current: Place;
  choose(place: Place): void;
}

export const PlacesContext = createContext<Places | null>(null);

export const usePlaces = (): Places => useGiven(PlacesContext);

function useGiven<T>(context: Context<T | null>): T {
  const given = useContext(context);
  if (given === null) throw new Error('not in its context');
  return given;
}
