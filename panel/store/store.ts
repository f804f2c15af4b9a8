import { useEffect, useState } from 'preact/hooks';

/** One value that changes, and who wants to know. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  /** Merges members into an object value. */
  patch(members: Partial<T>): void;
  /** Returns what ends the subscription. */
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  const set = (next: T) => {
    if (Object.is(next, value)) return;
    value = next;
    for (const listener of [...listeners]) listener();
  };
  return {
    get: () => value,
    set,
    patch: (members) => set({ ...value, ...members }),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Resolves once the value of a store is as wanted. */
export function until<T>(
  { get, subscribe }: Pick<Store<T>, 'get' | 'subscribe'>,
  isWanted: (value: T) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isWanted(get())) return;
      stop();
      resolve();
    };
    const stop = subscribe(check);
    check();
  });
}

/** The store's value in a component; with `select`, renders again only when what it picks has changed. */
export function useStore<T>(store: Store<T>): T;
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S;
export function useStore<T, S>(store: Store<T>, select?: (value: T) => S): T | S {
  const pick = () => (select === undefined ? store.get() : select(store.get()));
  const [, render] = useState<{ readonly shown: T | S }>({ shown: pick() });
  useEffect(() => {
    const check = () => {
      const next = pick();
      render((last) => (Object.is(last.shown, next) ? last : { shown: next }));
    };
    check();
    return store.subscribe(check);
  }, [store]);
  return pick();
}
