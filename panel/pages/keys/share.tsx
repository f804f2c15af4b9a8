import { useEffect, useState } from 'preact/hooks';
import { sentence, useWords } from '../../i18n/text.js';
import { useWorkspace } from '../../state/workspace.js';
import { CopyButton } from '../../ui/copy.js';
import { download } from '../../ui/download.js';
import { Icon } from '../../ui/icon.js';
import { Notice } from '../../ui/notice.js';
import { Qr } from '../../ui/qr.js';

/** A key's share link, its QR code, and the client configuration. */
export function Share({ accessKey }: { readonly accessKey: string }) {
  const words = useWords();
  const { server } = useWorkspace();
  const [link, setLink] = useState<string | null>(null);
  const [config, setConfig] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setLink(null);
    setConfig(null);
    setError(null);
    Promise.all([server.shareLink(accessKey), server.clientConfig(accessKey)]).then(([text, json]) => {
      setLink(text);
      setConfig(json);
    }, setError);
  }, [accessKey, server]);
  return (
    <section aria-label={words('key.share')}>
      <h3>{words('key.share')}</h3>
      {error !== null && <Notice tone="bad">{sentence(error, words)}</Notice>}
      {link !== null && (
        <>
          <Qr text={link} label={words('key.qr')} />
          <div class="copy-line">
            <code class="wrap">{link}</code>
            <CopyButton text={link} label={`${words('action.copy')}: ${words('key.link')}`} />
          </div>
        </>
      )}
      {config !== null && (
        <details class="disclosure">
          <summary>{words('key.config')}</summary>
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
        </details>
      )}
    </section>
  );
}
