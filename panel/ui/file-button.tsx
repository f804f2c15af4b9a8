import { useRef } from 'preact/hooks';
import { Button } from './button.js';

interface FileButtonProps {
  readonly label: string;
  readonly accept: string;
  /** On a phone the words stand small under the icon. */
  readonly shrinks?: boolean;
  readonly onFile: (file: File) => Promise<void>;
}

/** Brings a file of this computer into the page. */
export function FileButton({ label, accept, shrinks = false, onFile }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  const choose = async (files: FileList | null) => {
    const file = files?.[0];
    if (file === undefined) return;
    await onFile(file);
    if (input.current !== null) input.current.value = '';
  };
  return (
    <>
      <Button icon="upload" shrinks={shrinks} onClick={() => input.current?.click()}>
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        accept={accept}
        hidden
        aria-label={label}
        onChange={(event) => void choose(event.currentTarget.files)}
      />
    </>
  );
}
