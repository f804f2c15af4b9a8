import { useWords } from '../i18n/text.js';
import { toasts } from '../state/toasts.js';
import { useStore } from '../store/store.js';
import { Icon } from './icon.js';

/** The messages in the corner. They are a polite live region. */
export function Toasts() {
  const words = useWords();
  const shown = useStore(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, tone, text, action }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <span>{text}</span>
          {action !== undefined && (
            <button type="button" class="button button-small" onClick={action.run}>
              {action.label}
            </button>
          )}
          <button
            type="button"
            class="icon-button"
            aria-label={words('action.dismiss')}
            onClick={() => toasts.set(toasts.get().filter((toast) => toast.id !== id))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
