import { isObject } from '../api/objects.js';
import type { Tab } from '../store/tab.js';
import { parsed } from '../text/exact-json.js';

/** The token of a session that began with a password, or a static token. */
export interface Credential {
  readonly kind: 'session' | 'token';
  readonly value: string;
  /** It outlives the browser ("stay signed in"). */
  readonly stays: boolean;
  /** The name of a token that was made for this device alone; null for every other credential. */
  readonly device: string | null;
}

/** Milliseconds that the login is held back for an answer of another tab. */
const PATIENCE = 150;

/**
 * The credential of one API root, shared by the tabs of one browser: kept in the tab, or for good where the operator
 * wants to stay signed in, and handed from tab to tab on request. Other roots on the same origin never see it.
 */
export function createCredentialKeeper(root: string, tab: Tab) {
  const name = `keyway:credential:${root}`;
  const channel = tab.channel(name);
  const listeners = new Set<(credential: Credential | null) => void>();

  function read(): Credential | null {
    return parse(tab.kept.read(name)) ?? parse(tab.keptForGood.read(name));
  }

  function store(credential: Credential): void {
    const text = JSON.stringify(credential);
    tab.kept.write(name, text);
    tab.keptForGood.write(name, credential.stays ? text : null);
  }

  function take(credential: Credential): void {
    store(credential);
    for (const listener of listeners) listener(credential);
  }

  function drop(value: string): void {
    if (parse(tab.kept.read(name))?.value === value) tab.kept.write(name, null);
    if (parse(tab.keptForGood.read(name))?.value === value) tab.keptForGood.write(name, null);
  }

  channel.onMessage((data) => {
    if (!isObject(data)) return;
    const own = read();
    if (data.type === 'ask' && own !== null) channel.post({ type: 'have', credential: JSON.stringify(own) });
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
      channel.post({ type: 'begun', credential: JSON.stringify(credential) });
    },
    /** Forgets it here and in the other tabs. */
    forget(credential: Credential) {
      drop(credential.value);
      channel.post({ type: 'gone', value: credential.value });
    },
    /**
     * Resolves with one that another tab holds and that differs from this one, or null; waits a moment for an answer. Where
     * this tab had none, one that is told later counts as another tab's sign-in.
     */
    askOthers: (than: Credential | null) =>
      new Promise<Credential | null>((resolve) => {
        let isLate = false;
        const stop = channel.onMessage((data) => {
          const credential = isObject(data) && data.type === 'have' ? parse(String(data.credential)) : null;
          if (credential === null || credential.value === than?.value) return;
          stop();
          clearTimeout(timer);
          if (!isLate) {
            store(credential);
            resolve(credential);
          } else if (read() === null) take(credential);
        });
        const timer = setTimeout(() => {
          isLate = true;
          if (than !== null) stop();
          resolve(null);
        }, PATIENCE);
        channel.post({ type: 'ask' });
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
  return {
    kind: kept.kind === 'token' ? 'token' : 'session',
    value: kept.value,
    stays: kept.stays === true,
    device: typeof kept.device === 'string' ? kept.device : null,
  };
}
