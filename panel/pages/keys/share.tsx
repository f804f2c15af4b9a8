import { useEffect, useState } from 'preact/hooks';
import { subscriptionUrl } from '../../api/places.js';
import { sentence, useWords } from '../../i18n/text.js';
import type { NamedKey } from '../../state/named-keys.js';
import { useWorkspace } from '../../state/workspace.js';
import { CopyButton } from '../../ui/copy.js';
import { download } from '../../ui/download.js';
import { Icon } from '../../ui/icon.js';
import { Notice } from '../../ui/notice.js';
import { Qr } from '../../ui/qr.js';
import { sheet } from './handout.js';

/** What a client can be given: the link itself, or the address at which it fetches its configuration. */
type Way = 'link' | 'subscription';

/** What is handed out for a key: link and subscription URL, each with its QR code, to copy, share and print. */
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
  if (error !== null) return <Notice tone="bad">{sentence(error, words)}</Notice>;
  const text = way === 'link' ? link : subscriptionUrl(place, of.key);
  return (
    <section class="share" aria-label={words('key.share')}>
      <div class="segments" role="group" aria-label={words('key.share')}>
        {(['link', 'subscription'] as const).map((name) => (
          <button key={name} type="button" aria-pressed={way === name} onClick={() => setWay(name)}>
            {words(`key.${name}`)}
          </button>
        ))}
      </div>
      {text === null ? (
        <p class="hint loading">{words('login.checking')}</p>
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
              <button type="button" class="button" onClick={() => navigator.share({ text }).catch(() => undefined)}>
                <Icon name="share" /> {words('key.send')}
              </button>
            )}
            <button type="button" class="button" onClick={() => sheet.set([{ ...of, link: text }])}>
              <Icon name="print" /> {words('action.print')}
            </button>
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
      {error !== null && <Notice tone="bad">{sentence(error, words)}</Notice>}
      {config !== null && (
        <>
          <div class="buttons">
            <CopyButton text={config} label={`${words('action.copy')}: ${words('key.config')}`} />
            <button
              type="button"
              class="button"
              onClick={() => download('config.json', `${config}\n`, 'application/json')}
            >
              <Icon name="download" /> {words('action.download')}
            </button>
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
          <pre tabIndex={0}>{config}</pre>
        </>
      )}
    </details>
  );
}
