import { useLayoutEffect, useRef } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { toasts } from '../state/toasts.js';
import { useStore } from '../store/store.js';
import { Button, IconButton } from './button.js';

/** The messages in the corner. They are a polite live region. */
export function Toasts() {
  const words = useWords();
  const shown = useStore(toasts);
  const list = useRef<HTMLDivElement>(null);
  // Shown anew at each change, so that it is above a dialog that opened meanwhile. On a phone the page makes room for it.
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    if (element.matches(':popover-open')) element.hidePopover();
    if (shown.length > 0) element.showPopover();
    document.documentElement.style.setProperty(
      '--toasts',
      shown.length === 0 ? '0px' : `${element.offsetHeight + 16}px`,
    );
  }, [shown]);
  return (
    <div ref={list} class="toasts" popover="manual" role="status" aria-live="polite">
      {shown.map(({ id, tone, text, undo }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <span>{text(words)}</span>
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
