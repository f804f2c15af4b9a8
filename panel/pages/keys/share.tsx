import { useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { addressesSet, clientLink, MissingAddress } from '../../state/client-links.js';
import type { NamedKey } from '../../state/named-keys.js';
import { subscriptionOf } from '../../state/subscriptions.js';
import { useAsked } from '../../state/tasks.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { isReachable } from '../../text/client-address.js';
import { Button, Segments } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { download } from '../../ui/download.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { LargeQr } from '../../ui/qr.js';
import { askAddress } from './client-address.js';
import { sheet } from './handout.js';

/** A client is given the link itself, or the address at which it fetches its configuration. */
type Way = 'link' | 'subscription';

/** A key's link and subscription URL, each with its QR code, to copy, share and print. */
export function Share({ of }: { readonly of: NamedKey }) {
  const words = useWords();
  const workspace = useWorkspace();
  const set = useStore(addressesSet(workspace));
  const [way, setWay] = useState<Way>('link');
  const { value: link, error } = useAsked(() => clientLink(workspace, of.key), [of.key, workspace, set]);
  const isSubscription = way === 'subscription';
  // Asking for one hands it out.
  const asked = useAsked(isSubscription ? () => subscriptionOf(workspace, of.key) : null, [
    ...[of.key, workspace, isSubscription],
  ]);
  const failure = isSubscription ? asked.error : error;
  const missing = error instanceof MissingAddress ? error.host : null;
  if (failure !== undefined && (isSubscription || missing === null)) return <Failure of={failure} />;
  const text = isSubscription ? asked.value : link?.text;
  const host = isSubscription ? localHost(text ?? null) : (link?.unreachable ?? null);
  const told = missing ?? link?.unreachable ?? null;
  return (
    <section class="stack tight share" aria-label={words('key.share')}>
      <Segments label={words('key.share')} names={['link', 'subscription']} chosen={way} onChoose={setWay}>
        {(name) => words(`key.way.${name}`)}
      </Segments>
      {!isSubscription && missing !== null ? (
        <>
          <Notice tone="warn">{words('address.why', { host: missing || '—' })}</Notice>
          <Button kind="primary" onClick={() => askAddress(missing)}>
            {words('start.addressDo')}
          </Button>
        </>
      ) : text === null ? (
        <Notice tone="plain">{words('key.noSubscription')}</Notice>
      ) : text === undefined ? (
        <Loading />
      ) : (
        <>
          <LargeQr text={text} label={words(`key.qr.${way}`)} />
          <div class="line copy-line">
            <code class="wrap">{text}</code>
          </div>
          <p class="hint">{words(`key.hint.${way}`)}</p>
          {host !== null && <Notice tone="warn">{words('address.named', { host })}</Notice>}
          {isSubscription && told !== null && (
            <Notice tone="warn">{words('address.subscription', { host: told })}</Notice>
          )}
          {isSubscription && (
            <p class="hint">
              <a href={text} target="_blank" rel="noreferrer">
                {words('key.userPage')}
              </a>{' '}
              {words('key.userPageHint')}
            </p>
          )}
          <div class="line">
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

/** The host of a URL that leads clients elsewhere nowhere; null for a good one. */
function localHost(url: string | null): string | null {
  const host = url === null ? null : new URL(url).hostname;
  return host === null || isReachable(host) ? null : host;
}

/** The configuration that a client takes as a file. */
export function ClientConfiguration({ accessKey }: { readonly accessKey: string }) {
  const words = useWords();
  const { server } = useWorkspace();
  const [isOpen, setOpen] = useState(false);
  const { value: config, error = null } = useAsked(isOpen ? () => server.clientConfig(accessKey) : null, [isOpen]);
  return (
    <details class="sheet-part" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="line">{words('key.config')}</summary>
      <Failure of={error} />
      {config !== undefined && (
        <>
          <div class="line">
            <CopyButton text={config} label={`${words('action.copy')}: ${words('key.config')}`} />
            <Button icon="download" onClick={() => download('client', 'json', `${config}\n`)}>
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
