import { createStore, type Store } from '../store/store.js';

/** A short message in the corner, perhaps with something to press. */
export interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
  /** Milliseconds until it goes; null stays until it is dismissed. */
  readonly lasts: number | null;
}

export const toasts: Store<readonly Toast[]> = createStore<readonly Toast[]>([]);
let lastId = 0;

/** Shows a message; returns what takes it away. */
export function say(toast: Omit<Toast, 'id' | 'lasts'> & { readonly lasts?: number | null }): () => void {
  lastId += 1;
  const shown: Toast = { lasts: toast.tone === 'bad' ? 12_000 : 5_000, ...toast, id: lastId };
  const dismiss = () => toasts.set(toasts.get().filter(({ id }) => id !== shown.id));
  toasts.set([...toasts.get().slice(-3), shown]);
  if (shown.lasts !== null) setTimeout(dismiss, shown.lasts);
  return dismiss;
}
