import { useRef } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { Icon } from '../../ui/icon.js';

interface BackupProps {
  readonly onSave: () => void;
  readonly onRestore: (file: File) => Promise<void>;
}

/** Saves what the server has now to this computer, and brings a file back into the editor. */
export function Backup({ onSave, onRestore }: BackupProps) {
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
      <button type="button" class="button" onClick={onSave}>
        <Icon name="download" /> {words('config.download')}
      </button>
      <button type="button" class="button" onClick={() => input.current?.click()}>
        <Icon name="upload" /> {words('config.restore')}
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
