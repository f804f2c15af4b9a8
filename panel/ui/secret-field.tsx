import { useState } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { Button } from './button.js';
import { CopyButton } from './copy.js';
import { Field } from './field.js';

interface SecretFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | null;
  readonly placeholder?: string;
  readonly autocomplete: 'new-password' | 'current-password' | 'off';
  readonly name?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Told of a secret that was made here; absent where none can be. */
  readonly onGenerate?: (secret: string) => void;
}

/** A field whose letters are hidden until one asks, and that can fill itself. */
export function SecretField({ label, hint, problem = null, onChange, onGenerate, ...rest }: SecretFieldProps) {
  const words = useWords();
  const [visible, setVisible] = useState(false);
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(control) => (
        <span class="joined">
          <input
            {...control}
            {...rest}
            {...(visible ? { type: 'text' } : { type: 'password' })}
            class="grow"
            spellcheck={false}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
          {onGenerate !== undefined && visible && rest.value !== '' && (
            <CopyButton text={rest.value} label={`${words('action.copy')}: ${label}`} />
          )}
          {onGenerate !== undefined && (
            <Button
              onClick={() => {
                onGenerate(generateSecret());
                setVisible(true);
              }}
            >
              {words('config.generate')}
            </Button>
          )}
          <Button aria-pressed={visible} onClick={() => setVisible(!visible)}>
            {words(visible ? 'login.hide' : 'action.show')}
          </Button>
        </span>
      )}
    </Field>
  );
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';

/** A secret nobody guesses: 24 letters and digits (more than 128 bits), without those that look alike. */
function generateSecret(): string {
  const secret: string[] = [];
  while (secret.length < 24) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32))) {
      // Beyond the last whole turn some letters would come more often.
      if (byte < 256 - (256 % LETTERS.length) && secret.length < 24) secret.push(LETTERS.charAt(byte % LETTERS.length));
    }
  }
  return secret.join('');
}
