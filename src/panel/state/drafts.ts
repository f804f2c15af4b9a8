import { createStore, type Store } from './store.js';
import type { Workspace } from './workspace.js';

/** Something under edit: what the server had when it began, and what it is to become. */
export interface Draft<T> {
  readonly base: T;
  readonly now: T;
}

/** A place for one kind of draft. It outlives a change of page, so that nothing typed is lost; each server has its own. */
export function createDrafts<T>(): (workspace: Workspace) => Store<Draft<T> | null> {
  const byWorkspace = new WeakMap<Workspace, Store<Draft<T> | null>>();
  return (workspace) => {
    const known = byWorkspace.get(workspace);
    if (known !== undefined) return known;
    const made = createStore<Draft<T> | null>(null);
    byWorkspace.set(workspace, made);
    return made;
  };
}
