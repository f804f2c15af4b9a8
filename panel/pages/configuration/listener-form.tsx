import { useWords } from '../../i18n/text.js';
import { memberOf, text, textOf, withValue } from '../../text/json-tree.js';
import { sha256 } from '../../text/sha256.js';
import { SecretField } from '../../ui/secret-field.js';
import { type Path, placesIn, valueAt } from '../file/document.js';
import { type NewPassword, readingOf } from '../file/file-draft.js';
import type { FileEditing } from '../file/use-file.js';
import { Flag, type FormProps, Line, Port } from './fields.js';

interface ListenerFormProps extends FormProps {
  readonly listener: Path;
  readonly file: FileEditing;
}

/** Where the management API listens, and who gets in. */
export function ListenerForm({ tree, onChange, listener, file }: ListenerFormProps) {
  const words = useWords();
  const older = placesIn(tree).layout === 'accessKeys';
  const token = [...listener, 'token'];
  const setToken = (value: string) => onChange(withValue(tree, token, value === '' ? undefined : text(value)));
  return (
    <section class="card">
      <h2>{words('config.listener')}</h2>
      <p class="hint">{words('config.listenerHint')}</p>
      {older && (
        <Flag tree={tree} path={[...listener, 'enabled']} label={words('config.enabled')} onChange={onChange} />
      )}
      <div class="fields">
        {older ? (
          <Line tree={tree} path={[...listener, 'bind']} label={words('config.bind')} onChange={onChange} />
        ) : (
          <>
            <Line tree={tree} path={[...listener, 'listen']} label={words('config.bindHost')} onChange={onChange} />
            <Port tree={tree} path={[...listener, 'port']} label={words('config.bindPort')} onChange={onChange} />
          </>
        )}
        <Line tree={tree} path={[...listener, 'webpath']} label={words('config.webpath')} onChange={onChange} />
        <Line tree={tree} path={[...listener, 'username']} label={words('config.username')} onChange={onChange} />
        <SecretField
          label={words('config.token')}
          placeholder={words('config.noToken')}
          autocomplete="off"
          value={textOf(valueAt(tree, token))}
          onChange={setToken}
          onGenerate={setToken}
        />
      </div>
      <PasswordFields tree={tree} listener={listener} file={file} />
    </section>
  );
}

/** A new password, typed twice or made here. The file gets its SHA-256 once both are equal. */
function PasswordFields({ tree, listener, file }: Omit<ListenerFormProps, 'onChange'>) {
  const words = useWords();
  const { draft, patch } = file;
  if (draft === null) return null;
  const { typed, repeated } = draft.password;
  const path = [...listener, 'password_hash'];
  const take = (password: NewPassword) => {
    const reading = readingOf(draft.base);
    const before = reading.ok ? valueAt(reading.tree, path) : memberOf(valueAt(tree, listener), 'password_hash');
    const settled = password.typed !== '' && password.typed === password.repeated;
    patch({ password, now: { tree: withValue(tree, path, settled ? text(sha256(password.typed)) : before) } });
  };
  const differs = repeated !== typed;
  return (
    <div class="fields">
      <SecretField
        label={words('config.newPassword')}
        hint={words('config.newPasswordHint')}
        autocomplete="new-password"
        value={typed}
        onChange={(value) => take({ typed: value, repeated })}
        onGenerate={(secret) => take({ typed: secret, repeated: secret })}
      />
      <SecretField
        label={words('config.repeatPassword')}
        problem={differs && repeated !== '' ? words('config.passwordsDiffer') : null}
        hint={differs ? words('config.repeatHint') : ''}
        autocomplete="new-password"
        value={repeated}
        onChange={(value) => take({ typed, repeated: value })}
      />
    </div>
  );
}
