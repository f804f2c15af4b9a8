import { useWords } from '../../i18n/text.js';
import { flag, textOf, withValue } from '../../text/json-tree.js';
import { Button } from '../../ui/button.js';
import { placesIn, targetsIn, valueAt } from '../file/document.js';
import { Choice, Flag, type FormProps, Line, Port } from './fields.js';

const PROTOCOLS = ['socks5', 'http'];

/** The proxy that rules send traffic through, and what becomes of traffic that no rule is for. */
export function OutboundForm({ tree, onChange }: FormProps) {
  const words = useWords();
  const { layout, proxies, defaultRoute } = placesIn(tree);
  const older = layout === 'accessKeys';
  const start = () => onChange(withValue(tree, ['outbound', 'enabled'], flag(true)));
  return (
    <section class="card">
      <h2>{words('config.outbound')}</h2>
      <p class="hint">{words('config.outboundHint')}</p>
      {proxies.length === 0 && older && (
        <Button kind="small" onClick={start}>
          {words('config.outboundStart')}
        </Button>
      )}
      {proxies.length === 0 && !older && <p class="hint">{words('config.noProxy')}</p>}
      {proxies.map((path) => (
        <div key={path.join()} class="fields">
          {older && (
            <Flag tree={tree} path={[...path, 'enabled']} label={words('config.enabled')} onChange={onChange} />
          )}
          <Choice
            tree={tree}
            path={[...path, 'protocol']}
            label={
              older
                ? words('config.proxyProtocol')
                : `${words('config.proxyProtocol')}: ${textOf(valueAt(tree, [...path, 'tag']))}`
            }
            known={PROTOCOLS}
            optional={older}
            onChange={onChange}
          />
          <Line
            tree={tree}
            path={[...path, older ? 'address' : 'server']}
            label={words('config.proxyAddress')}
            onChange={onChange}
          />
          <Port tree={tree} path={[...path, 'port']} label={words('config.proxyPort')} onChange={onChange} />
        </div>
      ))}
      {(proxies.length > 0 || !older) && (
        <div class="fields">
          <Choice
            tree={tree}
            path={defaultRoute}
            label={words('config.defaultAction')}
            hint={words('config.defaultActionHint')}
            known={older ? ['direct', 'proxy', 'block'] : targetsIn(tree).map(({ tag }) => tag)}
            optional
            onChange={onChange}
          />
        </div>
      )}
    </section>
  );
}
