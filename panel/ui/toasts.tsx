import { useLayoutEffect, useRef } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { type Toast, toasts } from '../state/toasts.js';
import { createStore, useStore } from '../store/store.js';
import { Button, IconButton } from './button.js';

/** The windows that are open, the topmost last: nothing outside of that one can be pressed. */
export const openWindows = createStore<readonly object[]>([]);

const NONE: readonly Toast[] = [];

/** The messages in the corner, in the page or within a window: they are shown in the one that is on top. They are a polite live region. */
export function Toasts({ within }: { readonly within?: object }) {
  const words = useWords();
  const all = useStore(toasts);
  const isOnTop = useStore(openWindows, (windows) => windows.at(-1) === within);
  const shown = isOnTop ? all : NONE;
  const list = useRef<HTMLDivElement>(null);
  // On a phone the page makes room for it.
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null || !isOnTop) return;
    if (element.matches(':popover-open')) element.hidePopover();
    if (shown.length > 0) element.showPopover();
    const makeRoom = () => {
      const height = shown.length === 0 ? 0 : element.offsetHeight + 16;
      document.documentElement.style.setProperty('--toasts', `${height}px`);
    };
    makeRoom();
    const observer = new ResizeObserver(makeRoom);
    observer.observe(element);
    return () => observer.disconnect();
  }, [shown, isOnTop]);
  return (
    <div ref={list} class="toasts" popover="manual" role="status" aria-live="polite">
      {shown.map(({ id, tone, text, undo }) => (
        <div key={id} class={`line toast toast-${tone}`}>
          <span class="grow">{text(words)}</span>
          {undo !== undefined && (
            <Button kind="small" onClick={undo}>
              {words('action.undo')}
            </Button>
          )}
          <IconButton
            icon="close"
            label={words('action.dismiss')}
            onClick={() => toasts.set(toasts.get().filter((toast) => toast.id !== id))}
          />
        </div>
      ))}
    </div>
  );
}
