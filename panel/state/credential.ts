import { isObject } from '../api/objects.js';
import { keptForGood, keptInTab } from '../store/kept.js';
import { parsed } from '../text/exact-json.js';

/** The token of a session that began with a password, or a static token. */
export interface Credential {
  readonly kind: 'session' | 'token';
  readonly value: string;
  /** It outlives the browser ("stay signed in"). */
  readonly stays: boolean;
}

/** Milliseconds that the login is held back for an answer of another tab. */
const PATIENCE = 150;

/**
 * The credential of one API root, shared by the tabs of one browser: kept in the tab, or for good where the operator
 * wants to stay signed in, and handed from tab to tab on request. Other roots on the same origin never see it.
 */
export function createCredentialKeeper(root: string) {
  const name = `keyway:credential:${root}`;
  const channel = new BroadcastChannel(name);
  const listeners = new Set<(credential: Credential | null) => void>();

  function read(): Credential | null {
    return parse(keptInTab.read(name)) ?? parse(keptForGood.read(name));
  }

  function store(credential: Credential): void {
    const text = JSON.stringify(credential);
    keptInTab.write(name, text);
    keptForGood.write(name, credential.stays ? text : null);
  }

  function take(credential: Credential): void {
    store(credential);
    for (const listener of listeners) listener(credential);
  }

  function drop(value: string): void {
    if (parse(keptInTab.read(name))?.value === value) keptInTab.write(name, null);
    if (parse(keptForGood.read(name))?.value === value) keptForGood.write(name, null);
  }

  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (!isObject(data)) return;
    const own = read();
    if (data.type === 'ask' && own !== null) channel.postMessage({ type: 'have', credential: JSON.stringify(own) });
    if (data.type === 'begun') {
      const credential = parse(String(data.credential));
      if (credential !== null) take(credential);
    }
    if (data.type === 'gone' && own !== null && own.value === data.value) {
      drop(own.value);
      for (const listener of listeners) listener(null);
    }
  });

  return {
    read,
    /** Keeps it and tells the other tabs. */
    keep(credential: Credential) {
      store(credential);
      channel.postMessage({ type: 'begun', credential: JSON.stringify(credential) });
    },
    /** Forgets it here and in the other tabs. */
    forget(credential: Credential) {
      drop(credential.value);
      channel.postMessage({ type: 'gone', value: credential.value });
    },
    /**
     * Resolves with one that another tab holds and that differs from this one, or null; waits a moment for an answer. Where
     * this tab had none, one that is told later counts as another tab's sign-in.
     */
    askOthers: (than: Credential | null) =>
      new Promise<Credential | null>((resolve) => {
        const stop = () => {
          channel.removeEventListener('message', hear);
          clearTimeout(timer);
        };
        let isLate = false;
        const timer = setTimeout(() => {
          isLate = true;
          if (than !== null) stop();
          resolve(null);
        }, PATIENCE);
        const hear = ({ data }: MessageEvent<unknown>) => {
          const credential = isObject(data) && data.type === 'have' ? parse(String(data.credential)) : null;
          if (credential === null || credential.value === than?.value) return;
          stop();
          if (!isLate) {
            store(credential);
            resolve(credential);
          } else if (read() === null) take(credential);
        };
        channel.addEventListener('message', hear);
        channel.postMessage({ type: 'ask' });
      }),
    /** Calls back when another tab has signed in, or out (null). */
    onChange(listener: (credential: Credential | null) => void) {
      listeners.add(listener);
    },
  };
}

function parse(text: string | null): Credential | null {
  const kept = parsed(text);
  if (!isObject(kept) || typeof kept.value !== 'string') return null;
  return { kind: kept.kind === 'token' ? 'token' : 'session', value: kept.value, stays: kept.stays === true };
}
