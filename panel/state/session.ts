import { ApiFailure, hasFailed } from '../api/failure.js';
import { dataOf, exchange, type HttpAnswer, streamEvents } from '../api/http.js';
import { hasLogin, type Offers } from '../api/offers.js';
import type { Place } from '../api/places.js';
import type { Sender } from '../api/server.js';
import { fieldsOf } from '../api/wire.js';
import { createStore, type Store } from '../store/store.js';
import type { Tab } from '../store/tab.js';
import { type Credential, createCredentialKeeper } from './credential.js';

/** Why a session that stood has ended, as far as can be told. */
export type LossReason = 'replaced' | 'ended' | 'changed' | 'tokenRefused' | 'signedOutElsewhere';

/** The credentials to sign in with after they were changed. */
export type Again =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string };

export type SessionState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'signedOut'; readonly problem: ApiFailure | null }
  /** A null credential: the server answers everybody. */
  | { readonly phase: 'signedIn'; readonly credential: Credential | null }
  /** The page stays as it is, behind the login. */
  | { readonly phase: 'lost'; readonly reason: LossReason };

/** Milliseconds for which the token of a device lasts. */
const DEVICE_LASTS = 90 * 86_400_000;

/** Sends with the credential that stands, and ends the session where it counts no longer. */
function createCalls(
  place: Place,
  keeper: ReturnType<typeof createCredentialKeeper>,
  state: Store<SessionState>,
  isContinuous: () => boolean,
) {
  /** The sign-in after a change of credentials that is under way; it never rejects. */
  let renewal: Promise<void> | null = null;
  let changed = false;
  let last: Credential | null = null;

  function begin(credential: Credential | null): void {
    changed = false;
    last = credential;
    state.set({ phase: 'signedIn', credential });
  }

  function current(): Credential | null {
    return state.get().phase === 'signedIn' ? last : null;
  }

  const shown = (credential: Credential | null) =>
    credential === null ? {} : { authorization: `Bearer ${credential.value}` };

  const sendWith = (call: Parameters<Sender>[0], credential: Credential | null, root = place.root) =>
    exchange(root, { ...call, ...shown(credential) });

  /** Sends with the credential that stands; at a 401 first looks whether another tab has a newer one. */
  async function sendTo(root: string, call: Parameters<Sender>[0]): Promise<HttpAnswer> {
    const used = current();
    try {
      return await sendWith(call, used, root);
    } catch (error) {
      if (!hasFailed(error, 'unauthorized')) throw error;
      if (call.endsSession !== true) await renewal;
      const newer = await newerThan(used);
      if (newer === null) {
        lose(used);
        throw error;
      }
      begin(newer);
      return sendWith(call, newer, root);
    }
  }

  /** Reads a stream of events with the credential that stands. */
  const streamFrom = (root: string, path: string, signal: AbortSignal) =>
    streamEvents(root, { path, ...shown(current()) }, signal);

  async function newerThan(used: Credential | null): Promise<Credential | null> {
    const stored = current() ?? keeper.read();
    if (stored !== null && stored.value !== used?.value) return stored;
    return keeper.askOthers(used);
  }

  function lose(used: Credential | null): void {
    if (state.get().phase !== 'signedIn' || last?.value !== used?.value) return;
    if (used !== null) keeper.forget(used);
    state.set({ phase: 'lost', reason: reasonFor(used) });
  }

  function reasonFor(used: Credential | null): LossReason {
    if (changed) return 'changed';
    if (used?.kind === 'token') return 'tokenRefused';
    return used !== null && isContinuous() ? 'replaced' : 'ended';
  }

  return {
    begin,
    current,
    /** Returns the credential that stood last, also after a sign-out. */
    last: () => last,
    sendWith,
    sendTo,
    streamFrom,
    /** Says that a session which is lost from now on is lost to a change of the credentials. */
    noteChange(): void {
      changed = true;
    },
    /** Has calls that are refused meanwhile wait for a change of credentials. Rejects as that does. */
    async renew(running: Promise<void>): Promise<void> {
      renewal = running.catch(() => undefined);
      await running.finally(() => {
        renewal = null;
      });
    },
  };
}

/** `isContinuous` says whether the server was reached without a break until just now: then a restart did not end the session. */
export function createSession(place: Place, offers: Store<Offers>, isContinuous: () => boolean, tab: Tab) {
  const keeper = createCredentialKeeper(place.root, tab);
  const state = createStore<SessionState>({ phase: 'starting' });
  const { begin, sendWith, noteChange, renew, ...calls } = createCalls(place, keeper, state, isContinuous);

  keeper.onChange((credential) => {
    if (credential !== null) begin(credential);
    else if (state.get().phase === 'signedIn') state.set({ phase: 'lost', reason: 'signedOutElsewhere' });
  });

  /** Null where the server answers without a credential, else why it does not. */
  async function refusal(): Promise<ApiFailure | null> {
    if (place.open !== null) return place.open ? null : new ApiFailure('unauthorized');
    try {
      await sendWith({ path: '/server/status' }, null);
      return null;
    } catch (error) {
      return error instanceof ApiFailure ? error : new ApiFailure('unreachable');
    }
  }

  /** Rejects with `ApiFailure`: `unauthorized` for a wrong name or password. */
  async function signIn(username: string, password: string, stays: boolean): Promise<void> {
    const { text } = await exchange(place.root, { method: 'POST', path: '/login', body: { username, password } });
    take({ kind: 'session', value: fieldsOf(dataOf(text)).text('token'), stays, device: null });
  }

  /** Rejects with `ApiFailure('unauthorized')` where the server does not take the token. */
  async function useToken(token: string, stays: boolean): Promise<void> {
    const credential: Credential = { kind: 'token', value: token, stays, device: null };
    await sendWith({ path: '/server/status' }, credential);
    take(credential);
  }

  /**
   * Goes on with a token of this device's own, which no other sign-in puts out, and ends that again where the session was left
   * meanwhile. Rejects with `ApiFailure`; the session then stands.
   */
  async function keepDevice(label: string): Promise<void> {
    const body = { may: 'all', label, expires_at: new Date(Date.now() + DEVICE_LASTS).toISOString() };
    const { text } = await calls.sendTo(place.ownApi ?? place.root, { method: 'POST', path: '/tokens', body });
    const made = fieldsOf(dataOf(text));
    const device: Credential = { kind: 'token', value: made.text('token'), stays: true, device: made.text('name') };
    if (calls.current() === null) endDevice(device);
    else take(device);
  }

  /** Ends the token of a device, and no other. Where it is away the token ends at its time. */
  function endDevice(credential: Credential): void {
    if (credential.device === null || place.ownApi === null) return;
    const path = `/tokens/${credential.device}`;
    sendWith({ method: 'DELETE', path }, credential, place.ownApi).catch(() => undefined);
  }

  function take(credential: Credential): void {
    keeper.keep(credential);
    begin(credential);
  }

  return {
    state,
    /** Has something dropped at a sign-out: the next user must not see it. */
    onSignOut(drop: () => void): void {
      state.subscribe(() => state.get().phase === 'signedOut' && drop());
    },
    ...calls,
    send: (call: Parameters<Sender>[0]) => calls.sendTo(place.root, call),
    async start(): Promise<void> {
      const before = state.get();
      // Somebody who is typing into the form, after a look at another server, goes on with it.
      const isAsked = before.phase === 'signedOut' && before.problem === null;
      if (!isAsked) state.set({ phase: 'starting' });
      const { phase } = state.get();
      const stored = keeper.read() ?? (await keeper.askOthers(null));
      if (stored !== null) return begin(stored);
      const problem = await refusal();
      if (problem !== null && offers.get().login === null) offers.patch({ login: await hasLogin(place.root) });
      // Another tab may have told of its session meanwhile.
      if (state.get().phase !== phase) return;
      if (problem === null) begin(null);
      else state.set({ phase: 'signedOut', problem: problem.kind === 'unauthorized' ? null : problem });
    },
    signIn,
    useToken,
    keepDevice,
    /**
     * Makes a change after which the credential that stands may count no longer, and signs in again; a null `again` leaves
     * that to the login. Calls that are refused meanwhile wait for it. Rejects as the change does.
     */
    async replaceCredentials(change: () => Promise<void>, again: Again | null): Promise<void> {
      const stays = calls.current()?.stays ?? false;
      const run = async () => {
        await change();
        noteChange();
        if (again === null) return;
        const renewed =
          again.kind === 'token' ? useToken(again.token, stays) : signIn(again.username, again.password, stays);
        // A server that takes the change at its next start refuses the new one now, and the old one goes on.
        await renewed.catch(() => undefined);
      };
      await renew(run());
    },
    signOut() {
      const credential = calls.current();
      state.set({ phase: 'signedOut', problem: null });
      if (credential === null) return;
      keeper.forget(credential);
      endDevice(credential);
    },
  };
}
