import { useEffect, useState } from 'preact/hooks';
import { subscriptionUrl } from '../../api/places.js';
import { useWords } from '../../i18n/text.js';
import type { NamedKey } from '../../state/named-keys.js';
import { useWorkspace } from '../../state/workspace.js';
import { Button, Segments } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { download } from '../../ui/download.js';
import { Failure, Loading } from '../../ui/notice.js';
import { Qr } from '../../ui/qr.js';
import { sheet } from './handout.js';

/** A client is given the link itself, or the address at which it fetches its configuration. */
type Way = 'link' | 'subscription';

/** A key's link and subscription URL, each with its QR code, to copy, share and print. */
export function Share({ of }: { readonly of: NamedKey }) {
  const words = useWords();
  const { server, place } = useWorkspace();
  const [way, setWay] = useState<Way>('link');
  const [link, setLink] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setLink(null);
    setError(null);
    server.shareLink(of.key).then(setLink, setError);
  }, [of.key, server]);
  if (error !== null) return <Failure of={error} />;
  const text = way === 'link' ? link : subscriptionUrl(place, of.key);
  return (
    <section class="share" aria-label={words('key.share')}>
      <Segments label={words('key.share')} names={['link', 'subscription']} chosen={way} onChoose={setWay}>
        {(name) => words(`key.${name}`)}
      </Segments>
      {text === null ? (
        <Loading />
      ) : (
        <>
          <Qr text={text} label={words(`key.qr.${way}`)} />
          <div class="copy-line">
            <code class="wrap">{text}</code>
            <CopyButton text={text} label={`${words('action.copy')}: ${words(`key.${way}`)}`} />
          </div>
          <p class="hint">{words(`key.${way}Hint`)}</p>
          <div class="buttons">
            {'share' in navigator && (
              // A share sheet that is closed again is no failure.
              <Button icon="share" onClick={() => navigator.share({ text }).catch(() => undefined)}>
                {words('key.send')}
              </Button>
            )}
            <Button icon="print" onClick={() => sheet.set([{ ...of, link: text }])}>
              {words('action.print')}
            </Button>
          </div>
        </>
      )}
    </section>
  );
}

/** The configuration that a client takes as a file. */
export function ClientConfiguration({ accessKey }: { readonly accessKey: string }) {
  const words = useWords();
  const { server } = useWorkspace();
  const [config, setConfig] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = () => {
    if (config === null) server.clientConfig(accessKey).then(setConfig, setError);
  };
  return (
    <details class="disclosure" onToggle={load}>
      <summary>{words('key.config')}</summary>
      <Failure of={error} />
      {config !== null && (
        <>
          <div class="buttons">
            <CopyButton text={config} label={`${words('action.copy')}: ${words('key.config')}`} />
            <Button icon="download" onClick={() => download('config.json', `${config}\n`, 'application/json')}>
              {words('action.download')}
            </Button>
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
          <pre tabIndex={0}>{config}</pre>
        </>
      )}
    </details>
  );
}
