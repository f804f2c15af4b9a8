import { useState } from 'preact/hooks';
import { addToken, listTokens, PRESETS, type Preset } from '../../api/named-tokens.js';
import { useWords } from '../../i18n/text.js';
import { useTask } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog, DialogFoot, FormDialog } from '../../ui/dialog.js';
import { Field, Select, TextField, VERBATIM } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';
import { tokensOf } from './token-list.js';

/** Days that a token lasts; 0 for ever. */
const LASTS = ['7', '30', '90', '365', '0'] as const;

const DAY = 86_400_000;

/** Names that the interface itself gives to callers. */
const RESERVED: readonly string[] = ['static', 'session', 'terminal', 'open', 'others'];

/** Makes a token, and shows its secret once. */
export function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords();
  const workspace = useWorkspace();
  const tokens = tokensOf(workspace);
  const { busy, error, run } = useTask();
  const [name, setName] = useState('');
  const [may, setMay] = useState<Preset>('relay');
  const [lasts, setLasts] = useState<(typeof LASTS)[number]>('90');
  const [refused, setRefused] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const problem =
    !/^[\w.-]{1,64}$/.test(name) || RESERVED.includes(name)
      ? words('tokens.badName')
      : (tokens.get() ?? []).some((token) => token.name === name)
        ? words('tokens.taken')
        : null;
  const submit = () => {
    setRefused(problem !== null);
    if (problem !== null) return;
    return run(async () => {
      const expiresAt = lasts === '0' ? null : Date.now() + Number(lasts) * DAY;
      setSecret(await addToken(workspace.own, { name, may, expiresAt }));
      tokens.set(await listTokens(workspace.own));
    });
  };
  if (secret !== null) return <Secret name={name} secret={secret} onClose={onClose} />;
  return (
    <FormDialog title={words('tokens.new')} onSubmit={submit} onClose={onClose}>
      <TextField
        {...VERBATIM}
        label={words('keys.name')}
        hint={words('tokens.badName')}
        problem={refused ? problem : null}
        data-autofocus=""
        maxLength={64}
        value={name}
        onType={setName}
      />
      <Field label={words('tokens.may')} hint={words(`tokens.may.${may}`)}>
        {(control) => (
          <Select {...control} names={PRESETS} value={may} onChoose={setMay}>
            {(preset) => preset}
          </Select>
        )}
      </Field>
      <Field label={words('tokens.lasts')}>
        {(control) => (
          <Select {...control} names={LASTS} value={lasts} onChoose={setLasts}>
            {(days) => (days === '0' ? words('tokens.forever') : words('time.days', { n: Number(days) }))}
          </Select>
        )}
      </Field>
      <Failure of={error} urgent />
      <DialogFoot onClose={onClose} aria-disabled={busy}>
        {words('edit.create')}
      </DialogFoot>
    </FormDialog>
  );
}

interface SecretProps {
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** The secret, until it was copied or is declined twice. */
function Secret({ name, secret, onClose }: SecretProps) {
  const words = useWords();
  const [isCopied, setCopied] = useState(false);
  const [isDeclined, setDeclined] = useState(false);
  const copied = () => setCopied(true);
  const close = () => {
    if (isCopied || isDeclined) return onClose();
    setDeclined(true);
    return false;
  };
  const asksAgain = isDeclined && !isCopied;
  return (
    <Dialog title={words('tokens.secretTitle', { name })} onClose={close}>
      <div class="dialog-body">
        <Notice tone={asksAgain ? 'bad' : 'warn'} urgent={asksAgain}>
          {words(asksAgain ? 'tokens.notCopied' : 'tokens.secretText')}
        </Notice>
        <div class="line copy-line" onCopy={copied}>
          <code class="wrap">{secret}</code>
          <CopyButton text={secret} label={`${words('action.copy')}: ${words('login.withToken')}`} onCopied={copied} />
        </div>
        <div class="line dialog-foot">
          <Button kind="primary" onClick={close}>
            {words('tokens.kept')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
