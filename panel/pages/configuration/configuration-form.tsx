import { useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { hrefOf } from '../../state/route.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import {
  flag,
  flagOf,
  type JsonNode,
  memberOf,
  text,
  textOf,
  texts,
  textsOf,
  withValue,
} from '../../text/json-tree.js';
import { linesOf } from '../../text/networks.js';
import { sha256 } from '../../text/sha256.js';
import { Field, Switch } from '../../ui/field.js';
import { countAt, type Path, placesIn, valueAt } from './document.js';
import { RulesForm } from './rules-form.js';

interface FormProps {
  readonly tree: JsonNode;
  readonly onChange: (tree: JsonNode) => void;
}

/** The members that the specification names, as a form. What it does not know stays as it is. */
export function ConfigurationForm({ tree, onChange }: FormProps) {
  const words = useWords();
  const hasRules = useStore(useWorkspace().offers, ({ rules }) => rules);
  const places = placesIn(tree);
  const counts = {
    keys: words('keys.count', { n: countAt(tree, places.keys) }),
    rules: words('config.rulesCount', { n: countAt(tree, places.rules) }),
  };
  return (
    <div class="form-sections">
      <section class="card">
        <Field label={words('config.mode')} hint={words('config.modeHint')}>
          {(control) => (
            <input
              {...control}
              autocomplete="off"
              value={textOf(memberOf(tree, 'mode'))}
              onInput={(event) => onChange(withValue(tree, ['mode'], text(event.currentTarget.value)))}
            />
          )}
        </Field>
        <p class="hint">
          {words('config.contains', counts)} {words(hasRules === false ? 'config.othersKeys' : 'config.others')}{' '}
          <a href={hrefOf('keys')}>{words('page.keys')}</a>
          {hasRules === true && (
            <>
              {' · '}
              <a href={hrefOf('rules')}>{words('page.rules')}</a>
            </>
          )}
        </p>
      </section>
      {places.listener !== null && (
        <ListenerForm tree={tree} onChange={onChange} listener={places.listener} hasBind={places.hasBind} />
      )}
      <DnsForm tree={tree} onChange={onChange} />
      {hasRules === false && <RulesForm tree={tree} onChange={onChange} />}
    </div>
  );
}

interface ListenerFormProps extends FormProps {
  readonly listener: Path;
  readonly hasBind: boolean;
}

function ListenerForm({ tree, onChange, listener, hasBind }: ListenerFormProps) {
  const words = useWords();
  const [password, setPassword] = useState('');
  const at = (name: string) => valueAt(tree, [...listener, name]);
  const set = (name: string, value: JsonNode | undefined) => onChange(withValue(tree, [...listener, name], value));
  const line = (name: string, label: string, hint?: string) => (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          autocomplete="off"
          spellcheck={false}
          value={textOf(at(name))}
          onInput={(event) => set(name, text(event.currentTarget.value))}
        />
      )}
    </Field>
  );
  return (
    <section class="card">
      <h2>{words('config.listener')}</h2>
      <p class="hint">{words('config.listenerHint')}</p>
      {hasBind && (
        <Switch
          label={words('config.enabled')}
          checked={flagOf(at('enabled'))}
          onChange={(on) => set('enabled', flag(on))}
        />
      )}
      <div class="fields">
        {hasBind && line('bind', words('config.bind'))}
        {line('webpath', words('config.webpath'))}
        {line('username', words('config.username'))}
        <Field label={words('config.newPassword')} hint={words('config.newPasswordHint')}>
          {(control) => (
            <input
              {...control}
              type="password"
              autocomplete="new-password"
              value={password}
              onInput={(event) => setPassword(event.currentTarget.value)}
              onChange={() => password !== '' && set('password_hash', text(sha256(password)))}
            />
          )}
        </Field>
        <Field label={words('config.token')}>
          {(control) => (
            <input
              {...control}
              autocomplete="off"
              spellcheck={false}
              placeholder={words('config.noToken')}
              value={textOf(at('token'))}
              onInput={(event) => {
                const { value } = event.currentTarget;
                set('token', value === '' ? undefined : text(value));
              }}
            />
          )}
        </Field>
      </div>
    </section>
  );
}

function DnsForm({ tree, onChange }: FormProps) {
  const words = useWords();
  const dns = memberOf(tree, 'dns');
  const [lists, setLists] = useState(() => textsOf(memberOf(dns, 'adblock_urls')).join('\n'));
  return (
    <section class="card">
      <h2>{words('config.dns')}</h2>
      <Switch
        label={words('config.dnsEnabled')}
        checked={flagOf(memberOf(dns, 'enabled'))}
        onChange={(on) => onChange(withValue(tree, ['dns', 'enabled'], flag(on)))}
      />
      <Field label={words('config.adblock')}>
        {(control) => (
          <textarea
            {...control}
            rows={3}
            spellcheck={false}
            value={lists}
            onInput={(event) => {
              setLists(event.currentTarget.value);
              onChange(withValue(tree, ['dns', 'adblock_urls'], texts(linesOf(event.currentTarget.value))));
            }}
          />
        )}
      </Field>
    </section>
  );
}
