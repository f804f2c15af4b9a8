import { useWords } from '../../i18n/text.js';
import { hrefOf } from '../../state/route.js';
import { memberOf, textOf, texts, withValue } from '../../text/json-tree.js';
import { TextField } from '../../ui/field.js';
import { DnsOfFile } from '../file/dns-in-file.js';
import { countAt, placesIn } from '../file/document.js';
import type { FileEditing } from '../file/use-file.js';
import { Choice, Flag, type FormProps, Line, Port } from './fields.js';
import { ListenerForm } from './listener-form.js';
import { OutboundForm } from './outbound-form.js';

interface ConfigurationFormProps extends FormProps {
  readonly file: FileEditing;
  readonly onValid: (valid: boolean) => void;
}

/** Everything of the file that people change, in either of its layouts. What the form does not know stays as it is. */
export function ConfigurationForm({ tree, file, onChange, onValid }: ConfigurationFormProps) {
  const words = useWords();
  const { listener } = placesIn(tree);
  return (
    <div class="form-sections">
      <ServerForm tree={tree} onChange={onChange} />
      {listener !== null && <ListenerForm tree={tree} onChange={onChange} listener={listener} file={file} />}
      <OutboundForm tree={tree} onChange={onChange} />
      <section class="card">
        <h2>{words('config.dns')}</h2>
        <DnsOfFile tree={tree} onChange={onChange} onValid={onValid} />
      </section>
    </div>
  );
}

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'];

/** What the server is, where clients reach it, and what it logs. */
function ServerForm({ tree, onChange }: FormProps) {
  const words = useWords();
  const places = placesIn(tree);
  const counts = {
    keys: words('keys.count', { n: countAt(tree, places.keys) }),
    rules: words('config.rulesCount', { n: countAt(tree, places.rules) }),
  };
  const { tunnel } = places;
  const listens = memberOf(tree, 'listen');
  return (
    <section class="card">
      <h2>{words('config.server')}</h2>
      <div class="fields">
        <Choice
          tree={tree}
          path={['mode']}
          label={words('config.mode')}
          hint={words('config.modeHint')}
          known={['server', 'client', 'relay']}
          onChange={onChange}
        />
        {tunnel !== null && places.layout === 'inbounds' && (
          <>
            <Line tree={tree} path={[...tunnel, 'listen']} label={words('config.listenHost')} onChange={onChange} />
            <Port tree={tree} path={[...tunnel, 'port']} label={words('config.listenPort')} onChange={onChange} />
          </>
        )}
        {places.layout === 'accessKeys' && (listens === undefined || listens.kind === 'string') && (
          <Line
            tree={tree}
            path={['listen']}
            label={words('config.listen')}
            hint={words('config.listenHint')}
            onChange={onChange}
          />
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
        <Choice
          tree={tree}
          path={places.logLevel}
          label={words('config.logLevel')}
          known={LEVELS}
          optional
          onChange={onChange}
        />
      </div>
      {memberOf(tree, 'debug') !== undefined && (
        <Flag tree={tree} path={['debug']} label={words('config.debug')} onChange={onChange} />
      )}
      <p class="hint">
        {words('config.contains', counts)} <a href={hrefOf('keys')}>{words('page.keys')}</a>
        {' · '}
        <a href={hrefOf('rules')}>{words('page.rules')}</a>
      </p>
    </section>
  );
}
