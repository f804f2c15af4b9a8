import { useState } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { say } from '../state/toasts.js';
import { Button, IconButton } from './button.js';

/** Copies, and says whether it could. Over plain HTTP the clipboard is closed to a page, so the older way is tried too. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    // Beside the last window that opened: nothing outside it can be selected.
    (Array.from(document.querySelectorAll('dialog[open]')).at(-1) ?? document.body).append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    return copied;
  }
}

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  /** The button has words, and is the one that one came for. */
  readonly isMain?: boolean;
  readonly onCopied?: () => void;
}

/** A button that copies a text and says so. */
export function CopyButton({ text, label, isMain = false, onCopied }: CopyButtonProps) {
  const words = useWords();
  const [done, setDone] = useState(false);
  const onClick = async () => {
    if (await copy(text)) {
      setDone(true);
      onCopied?.();
      setTimeout(() => setDone(false), 1500);
    } else say('bad', (words) => words('action.copyFailed'));
  };
  const name = label ?? words('action.copy');
  const icon = done ? 'check' : 'copy';
  if (isMain) {
    return (
      <Button kind="primary" icon={icon} aria-label={done ? undefined : name} onClick={onClick}>
        {words(done ? 'action.copied' : 'action.copy')}
      </Button>
    );
  }
  return <IconButton icon={icon} label={done ? words('action.copied') : name} onClick={onClick} />;
}
