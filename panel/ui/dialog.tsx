import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { Button, type ButtonProps, IconButton } from './button.js';
import { focusMistake } from './field.js';
import { openWindows, Toasts } from './toasts.js';

interface DialogProps {
  readonly title: string;
  /** Called at Escape and by the close button; a window for which it returns false stays. */
  readonly onClose: () => unknown;
  /** `side` is a panel at the edge, `wide` leaves room for text, `full` is all of the window. */
  readonly kind?: 'plain' | 'wide' | 'side' | 'full';
  readonly children: ComponentChildren;
}

/**
 * A modal window: the browser keeps the focus in it, closes it at Escape and gives the focus back. While a session is
 * lost it makes room for the login, and comes back with what is typed in it.
 */
export function Dialog({ title, onClose, kind = 'plain', children }: DialogProps) {
  const words = useWords();
  const { session } = useWorkspace();
  const isSignedIn = useStore(session.state, ({ phase }) => phase === 'signedIn');
  const dialog = useRef<HTMLDialogElement>(null);
  const makesRoom = useRef(false);
  const me = useRef({}).current;
  const heading = useId();
  // Before the next key is read: somebody may be typing already.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!isSignedIn || element === null) return;
    makesRoom.current = false;
    element.showModal();
    openWindows.set([...openWindows.get(), me]);
    element.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => {
      makesRoom.current = true;
      openWindows.set(openWindows.get().filter((other) => other !== me));
      // While it is open nothing else can have the focus; closing gives it back to what had it before.
      element.close();
      if (document.activeElement === document.body) document.getElementById('content')?.focus();
    };
  }, [isSignedIn]);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  const closed = () => {
    // A browser may close a window at Escape whatever the page says.
    if (!makesRoom.current && onClose() === false) dialog.current?.showModal();
  };
  return (
    <dialog ref={dialog} class={`dialog dialog-${kind}`} aria-labelledby={heading} onCancel={cancel} onClose={closed}>
      <header class="line dialog-head">
        <h2 id={heading}>{title}</h2>
        <IconButton icon="close" label={words('action.close')} onClick={onClose} />
      </header>
      {children}
      {kind !== 'full' && <Toasts within={me} />}
    </dialog>
  );
}

interface FormDialogProps extends DialogProps {
  readonly onSubmit: () => unknown;
}

/** A window with a form. */
export function FormDialog({ onSubmit, children, ...dialog }: FormDialogProps) {
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    await onSubmit();
    focusMistake(form.current);
  };
  return (
    <Dialog {...dialog}>
      <form ref={form} class="dialog-body" onSubmit={submit}>
        {children}
      </form>
    </Dialog>
  );
}

interface DialogFootProps extends Omit<ButtonProps, 'children'> {
  readonly onClose: () => void;
  /** Enter cancels, as long as nothing else is chosen. */
  readonly isSafe?: boolean;
  /** The words of the button; false where there is nothing to do. */
  readonly children: string | false;
}

/** The buttons below a window: one cancels, the other does what the window is for, and sends its form. */
export function DialogFoot({ onClose, isSafe = false, children, ...button }: DialogFootProps) {
  const words = useWords();
  return (
    <footer class="line dialog-foot">
      <Button data-autofocus={isSafe ? '' : undefined} onClick={onClose}>
        {words('action.cancel')}
      </Button>
      {children !== false && (
        <Button type="submit" kind="primary" {...button}>
          {children}
        </Button>
      )}
    </footer>
  );
}
