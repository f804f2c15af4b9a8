import { useWords } from '../../i18n/text.js';
import { hrefOf } from '../../state/route.js';
import { flag, flagOf, type JsonNode, memberOf, text, textOf, texts, withValue } from '../../text/json-tree.js';
import { sha256 } from '../../text/sha256.js';
import { Button } from '../../ui/button.js';
import { Field, NumberField, Select, Switch, TextField, VERBATIM } from '../../ui/field.js';
import { SecretField } from '../../ui/secret-field.js';
import { type Section, Sections } from '../../ui/sections.js';
import { readingOf } from '../file/content.js';
import { DnsOfFile } from '../file/dns-in-file.js';
import { countAt, type Path, placesIn, targetsIn, valueAt } from '../file/document.js';
import type { FileEditing, NewPassword } from '../file/file-editing.js';

interface ConfigurationFormProps extends FormProps {
  readonly file: FileEditing;
  readonly onValid: (valid: boolean) => void;
}

/** Everything of the file that people change, in either of its layouts. What the form does not know stays as it is. */
export function ConfigurationForm({ file, onValid, ...form }: ConfigurationFormProps) {
  const words = useWords();
  const { listener } = placesIn(form.tree);
  return (
    <Sections
      of={[
        { title: words('login.server'), content: <ServerForm {...form} keyCount={file.draft?.keyCount ?? 0} /> },
        ...(listener === null
          ? []
          : [
              {
                title: words('config.listener'),
                hint: words('config.listenerHint'),
                content: <ListenerForm {...form} listener={listener} file={file} />,
              },
            ]),
        { title: words('config.outbound'), hint: words('config.outboundHint'), content: <OutboundForm {...form} /> },
        {
          title: words('config.dns'),
          content: (
            <DnsOfFile {...form} onValid={onValid}>
              {(parts) => parts.map((part, index) => <FormPart key={part.title} {...part} isFirst={index === 0} />)}
            </DnsOfFile>
          ),
        },
      ]}
    />
  );
}

/** A part of a section, with its title below the first. */
function FormPart({ title, content, isFirst }: Section & { readonly isFirst: boolean }) {
  return (
    <div class="stack tight form-part">
      {!isFirst && <h3>{title}</h3>}
      {content}
    </div>
  );
}

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'];

interface ServerFormProps extends FormProps {
  /** The number of keys of the file. */
  readonly keyCount: number;
}

/** The server's mode, its address for clients, and its log. */
function ServerForm({ keyCount, ...form }: ServerFormProps) {
  const { tree, onChange } = form;
  const words = useWords();
  const places = placesIn(tree);
  const counts = {
    keys: words('keys.count', { n: keyCount }),
    rules: words('config.rulesCount', { n: countAt(tree, places.rules) }),
  };
  const { tunnel } = places;
  const listens = memberOf(tree, 'listen');
  return (
    <>
      <div class="stack fields">
        <Choice
          {...form}
          path={['mode']}
          label={words('config.mode')}
          hint={words('config.modeHint')}
          known={['server', 'client', 'relay']}
        />
        {tunnel !== null && places.layout === 'inbounds' && (
          <div class="pair">
            <Line {...form} path={[...tunnel, 'listen']} label={words('config.listenHost')} />
            <Port {...form} path={[...tunnel, 'port']} label={words('config.listenPort')} />
          </div>
        )}
        {places.layout === 'accessKeys' && (listens === undefined || listens.kind === 'string') && (
          <Line {...form} path={['listen']} label={words('config.listen')} hint={words('config.listenHint')} />
        )}
        {listens?.kind === 'array' && (
          <TextField
            label={words('config.listen')}
            hint={words('config.listenHint')}
            class="mono"
            value={listens.items.map(textOf).join(', ')}
            onType={(value) => onChange(withValue(tree, ['listen'], texts(value.split(',').map((one) => one.trim()))))}
          />
        )}
        <Choice {...form} path={places.logLevel} label={words('config.logLevel')} known={LEVELS} optional />
        {memberOf(tree, 'debug') !== undefined && <Flag {...form} path={['debug']} label={words('config.debug')} />}
      </div>
      <p class="hint">
        {words('config.contains', counts)} <a href={hrefOf('keys')}>{words('page.keys')}</a>
        {' · '}
        <a href={hrefOf('rules')}>{words('page.rules')}</a>
      </p>
    </>
  );
}

interface ListenerFormProps extends FormProps {
  readonly listener: Path;
  readonly file: FileEditing;
}

/** The address and the credentials of the management API. */
function ListenerForm({ listener, file, ...form }: ListenerFormProps) {
  const { tree, onChange } = form;
  const words = useWords();
  const older = placesIn(tree).layout === 'accessKeys';
  const token = [...listener, 'token'];
  const setToken = (value: string) => onChange(withValue(tree, token, value === '' ? undefined : text(value)));
  return (
    <>
      <div class="stack fields">
        {older && <Flag {...form} path={[...listener, 'enabled']} label={words('config.enabled')} />}
        {older ? (
          <Line {...form} path={[...listener, 'bind']} label={words('config.bind')} />
        ) : (
          <div class="pair">
            <Line {...form} path={[...listener, 'listen']} label={words('config.bindHost')} />
            <Port {...form} path={[...listener, 'port']} label={words('config.bindPort')} />
          </div>
        )}
        <Line {...form} path={[...listener, 'webpath']} label={words('config.webpath')} />
        <Line {...form} path={[...listener, 'username']} label={words('login.username')} />
        <SecretField
          label={words('login.token')}
          placeholder={words('config.noToken')}
          autocomplete="off"
          value={textOf(valueAt(tree, token))}
          onChange={setToken}
          onGenerate={setToken}
        />
      </div>
      <PasswordFields tree={tree} listener={listener} file={file} />
    </>
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
    <div class="stack fields">
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
        autocomplete="new-password"
        value={repeated}
        onChange={(value) => take({ typed, repeated: value })}
      />
    </div>
  );
}

const PROTOCOLS = ['socks5', 'http'];

/** The proxy that rules send traffic through, and what becomes of traffic that no rule is for. */
function OutboundForm(form: FormProps) {
  const { tree, onChange } = form;
  const words = useWords();
  const { layout, proxies, defaultRoute } = placesIn(tree);
  const older = layout === 'accessKeys';
  const start = () => onChange(withValue(tree, ['outbound', 'enabled'], flag(true)));
  return (
    <>
      {proxies.length === 0 && older && (
        <Button kind="small" onClick={start}>
          {words('config.outboundStart')}
        </Button>
      )}
      {proxies.length === 0 && !older && <p class="hint">{words('config.noProxy')}</p>}
      {proxies.map((path) => (
        <div key={path.join()} class="stack fields">
          {older && <Flag {...form} path={[...path, 'enabled']} label={words('config.enabled')} />}
          <Choice
            {...form}
            path={[...path, 'protocol']}
            label={
              older ? words('rules.protocol') : `${words('rules.protocol')}: ${textOf(valueAt(tree, [...path, 'tag']))}`
            }
            known={PROTOCOLS}
            optional={older}
          />
          <div class="pair">
            <Line {...form} path={[...path, older ? 'address' : 'server']} label={words('config.proxyAddress')} />
            <Port {...form} path={[...path, 'port']} label={words('config.proxyPort')} />
          </div>
        </div>
      ))}
      {(proxies.length > 0 || !older) && (
        <div class="stack fields">
          <Choice
            {...form}
            path={defaultRoute}
            label={words('config.defaultAction')}
            hint={words('config.defaultActionHint')}
            known={older ? ['direct', 'proxy', 'block'] : targetsIn(tree).map(({ tag }) => tag)}
            optional
          />
        </div>
      )}
    </>
  );
}

/** A part of the file's form. */
interface FormProps {
  readonly tree: JsonNode;
  readonly onChange: (tree: JsonNode) => void;
}

interface MemberProps extends FormProps {
  /** The member's place in the file. */
  readonly path: Path;
  readonly label: string;
  readonly hint?: string;
}

/** A member that is a text; emptied it stays, as an empty one. */
function Line({ tree, path, onChange, ...field }: MemberProps) {
  const change = (value: string) => onChange(withValue(tree, path, text(value)));
  return <TextField {...VERBATIM} {...field} value={textOf(valueAt(tree, path))} onType={change} />;
}

/** A member that is a port. What is no number is not taken. */
function Port({ tree, path, onChange, ...field }: MemberProps) {
  const node = valueAt(tree, path);
  const change = (value: string) =>
    onChange(withValue(tree, path, /^\d+$/.test(value) ? { kind: 'number', lexeme: value } : undefined));
  return <NumberField {...field} most={65_535} value={node?.kind === 'number' ? node.lexeme : ''} onType={change} />;
}

/** A member that is true or false. */
function Flag({ tree, path, label, onChange }: MemberProps) {
  const change = (on: boolean) => onChange(withValue(tree, path, flag(on)));
  return <Switch label={label} checked={flagOf(valueAt(tree, path))} onChange={change} />;
}

interface ChoiceProps extends MemberProps {
  /** Its values; another one that the file has stays one of the choices. */
  readonly known: readonly string[];
  /** The file may be without it. */
  readonly optional?: boolean;
}

/** A member that is one of a few words. */
function Choice({ tree, path, label, hint, known, optional = false, onChange }: ChoiceProps) {
  const words = useWords();
  const present = textOf(valueAt(tree, path));
  const choices = [...(optional ? [''] : []), ...known];
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <Select
          {...control}
          names={choices.includes(present) ? choices : [present, ...choices]}
          value={present}
          onChoose={(value) => onChange(withValue(tree, path, value === '' ? undefined : text(value)))}
        >
          {(name) => (name === '' ? words('config.unset') : name)}
        </Select>
      )}
    </Field>
  );
}
