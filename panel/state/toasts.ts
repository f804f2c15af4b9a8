import { sentence, type Words } from '../i18n/text.js';
import { createStore, type Store } from '../store/store.js';

type Tone = 'good' | 'bad' | 'plain';

/** A short message in the corner, perhaps with a way to undo what it tells of. */
export interface Toast {
  readonly id: number;
  readonly tone: Tone;
  /** The message in the language that the page has by now. */
  readonly text: (words: Words) => string;
  readonly undo?: (() => void) | undefined;
}

export const toasts: Store<readonly Toast[]> = createStore<readonly Toast[]>([]);
let lastId = 0;

/** Shows a message; returns what takes it away before its time. */
export function say(
  tone: Tone,
  text: Toast['text'],
  undo?: () => void,
  lasts = tone === 'bad' ? 12_000 : 5_000,
): () => void {
  lastId += 1;
  const shown: Toast = { id: lastId, tone, text, undo };
  const dismiss = () => toasts.set(toasts.get().filter((toast) => toast !== shown));
  const before = toasts.get();
  // What can be undone is not pushed out by what is said later.
  const kept = before.filter(({ undo }, index) => undo ?? index > before.length - 4);
  toasts.set([...kept, shown]);
  setTimeout(dismiss, lasts);
  return dismiss;
}

/** Shows why something failed. */
export function sayFailure(problem: unknown): void {
  say('bad', (words) => sentence(problem, words));
}
