import { useEffect, useState } from 'preact/hooks';
import { subscriptionUrl } from '../../api/places.js';
import { useWords } from '../../i18n/text.js';
import { clientAddressOf, clientLink, MissingAddress } from '../../state/client-links.js';
import type { NamedKey } from '../../state/named-keys.js';
import { userPage } from '../../state/user-page.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Button, Segments } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { download } from '../../ui/download.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { Qr } from '../../ui/qr.js';
import { AskAddress } from './client-address.js';
import { sheet } from './handout.js';

/** A client is given the link itself, or the address at which it fetches its configuration. */
type Way = 'link' | 'subscription';

/** Leads to the page that the user of the key sees at its subscription; nothing where none is served there. */
function UserPage({ accessKey }: { readonly accessKey: string }) {
  const words = useWords();
  const workspace = useWorkspace();
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    let isShown = true;
    userPage(workspace, accessKey).then(
      (found) => isShown && setAddress(found),
      // The key is handed out without it.
      () => undefined,
    );
    return () => {
      isShown = false;
    };
  }, [workspace, accessKey]);
  if (address === null) return null;
  return (
    <p class="hint">
      <a href={address} target="_blank" rel="noreferrer">
        {words('key.userPage')}
      </a>{' '}
      {words('key.userPageHint')}
    </p>
  );
}

/** A key's link and subscription URL, each with its QR code, to copy, share and print. */
export function Share({ of }: { readonly of: NamedKey }) {
  const words = useWords();
  const workspace = useWorkspace();
  const addressStore = clientAddressOf(workspace);
  const address = useStore(addressStore);
  const [way, setWay] = useState<Way>('link');
  const [link, setLink] = useState<Awaited<ReturnType<typeof clientLink>> | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setLink(null);
    setError(null);
    clientLink(workspace, of.key).then(setLink, setError);
  }, [of.key, workspace, address]);
  const unreachable = error instanceof MissingAddress ? error.host : (link?.instead ?? null);
  if (error !== null && unreachable === null) return <Failure of={error} />;
  const text = way === 'link' ? (link?.text ?? null) : subscriptionUrl(workspace.place, of.key);
  return (
    <section class="share" aria-label={words('key.share')}>
      <Segments label={words('key.share')} names={['link', 'subscription']} chosen={way} onChoose={setWay}>
        {(name) => words(`key.way.${name}`)}
      </Segments>
      {way === 'link' && error instanceof MissingAddress ? (
        <AskAddress host={error.host} />
      ) : text === null ? (
        <Loading />
      ) : (
        <>
          <Qr text={text} label={words(`key.qr.${way}`)} />
          <div class="copy-line">
            <code class="wrap">{text}</code>
          </div>
          <p class="hint">{words(`key.hint.${way}`)}</p>
          {unreachable !== null && way === 'subscription' && (
            <Notice tone="warn">{words('address.subscription', { host: unreachable })}</Notice>
          )}
          {unreachable !== null && way === 'link' && (
            <p class="hint">
              {words('address.instead', { address: address ?? '', host: unreachable })}{' '}
              <Button kind="small" onClick={() => addressStore.set(null)}>
                {words('key.edit')}: {words('address.title')}
              </Button>
            </p>
          )}
          {way === 'subscription' && <UserPage accessKey={of.key} />}
          <div class="buttons">
            <CopyButton text={text} label={`${words('action.copy')}: ${words(`key.way.${way}`)}`} isMain />
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
    <details class="disclosure sheet-part" onToggle={load}>
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
