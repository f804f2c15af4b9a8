import { useRef } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { Icon } from '../../ui/icon.js';

interface RestoreButtonProps {
  readonly onRestore: (file: File) => Promise<void>;
}

/** Brings a file of this computer into the editor. */
export function RestoreButton({ onRestore }: RestoreButtonProps) {
  const words = useWords();
  const input = useRef<HTMLInputElement>(null);
  const choose = async (files: FileList | null) => {
    const file = files?.[0];
    if (file === undefined) return;
    await onRestore(file);
    if (input.current !== null) input.current.value = '';
  };
  return (
    <>
      <button
        type="button"
        class="button"
        aria-label={words('config.restore')}
        title={words('config.restore')}
        onClick={() => input.current?.click()}
      >
        <Icon name="upload" /> <span class="wide-only">{words('config.restore')}</span>
      </button>
      <input
        ref={input}
        type="file"
        accept=".json,.jsonc,application/json"
        hidden
        aria-label={words('config.restore')}
        onChange={(event) => void choose(event.currentTarget.files)}
      />
    </>
  );
}
