import { ageText, fullTime, useWords } from '../i18n/text.js';
import { createStore, useStore } from '../store/store.js';

/** The time by which ages are told, for all of them at once. */
const now = createStore(Date.now());
setInterval(() => now.set(Date.now()), 30_000);

/** How long ago something was, or how soon it will be, with its date at a hover. */
export function Age({ time }: { readonly time: number }) {
  const words = useWords();
  return (
    <time dateTime={new Date(time).toISOString()} title={fullTime(time, words.language)}>
      {ageText(time, useStore(now), words)}
    </time>
  );
}
