import { createStore, type Store } from '../store/store.js';
import { perWorkspace } from './per-workspace.js';
import type { Workspace } from './workspace.js';

/** Something under edit: what the server had when it began, and what it is to become. */
export interface Draft<T> {
  readonly base: T;
  readonly now: T;
}

const unsaved = new Set<() => boolean>();

/** Has the browser ask before the tab is closed while this says that something is not saved. */
export function watchDraft(isUnsaved: () => boolean): void {
  unsaved.add(isUnsaved);
}

/** A place for one kind of draft, so that nothing typed is lost when the page or the server is changed. */
export function createDrafts<T>(): (workspace: Workspace) => Store<Draft<T> | null> {
  return perWorkspace(() => {
    const store = createStore<Draft<T> | null>(null);
    watchDraft(() => {
      const draft = store.get();
      return draft !== null && draft.base !== draft.now;
    });
    return store;
  });
}

/** Has the browser ask before a tab is closed in which something is edited and not saved. */
export function askBeforeLeaving(): void {
  window.addEventListener('beforeunload', (event) => {
    if ([...unsaved].some((isUnsaved) => isUnsaved())) event.preventDefault();
  });
}
