import { useLayoutEffect } from 'preact/hooks';
import { useWords, type Words } from '../i18n/text.js';
import { goTo, route } from '../state/route.js';
import { createStore, type Store, useStore } from '../store/store.js';
import { Dialog } from './dialog.js';

/** True while the list of shortcuts is shown. */
export const shortcutsOpen: Store<boolean> = createStore(false);

/** Each key with what it does. */
function shortcutsIn(words: Words): readonly (readonly [string, string])[] {
  return [
    ['/', words('keys.searchShort')],
    ['?', words('shortcuts.help')],
    ['↑ ↓ Home End', words('shortcuts.move')],
    ['Enter, Q', words('shortcuts.open')],
    ['E, F2', words('edit.title')],
    ['C', words('key.copyLink')],
    ['Space', words('shortcuts.select')],
    ['Ctrl+A', words('keys.selectAll')],
    ['Shift', words('shortcuts.range')],
    ['Delete', words('key.delete')],
    ['Alt+↑ Alt+↓', words('shortcuts.rules')],
    ['Esc', words('action.close')],
  ];
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input:not([type=checkbox]),textarea,select') !== null;
}

/** Puts the caret into the search of the page, where there is one. */
function focusSearch(): boolean {
  const search = document.querySelector<HTMLInputElement>('[data-search]');
  search?.focus();
  search?.select();
  return search !== null;
}

/** The keys that work everywhere, and the list of all. */
export function Shortcuts() {
  const words = useWords();
  const open = useStore(shortcutsOpen);
  // With the page: a key that is pressed as soon as it is seen counts.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      if (event.key === '?') shortcutsOpen.set(true);
      else if (event.key === '/') {
        // Chosen keys may stand in the place of a search: nothing is opened then that could be waited for.
        if (!focusSearch() && route.get().page !== 'keys') {
          // The page is drawn by a microtask of this event.
          addEventListener('hashchange', () => queueMicrotask(focusSearch), { once: true });
          goTo('keys');
        }
      } else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  if (!open) return null;
  return (
    <Dialog title={words('shortcuts.title')} onClose={() => shortcutsOpen.set(false)}>
      <dl class="dialog-body shortcuts">
        {shortcutsIn(words).map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
