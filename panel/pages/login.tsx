import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure } from '../api/failure.js';
import { placeAddress } from '../api/places.js';
import { sentence, useWords, type Words } from '../i18n/text.js';
import { note } from '../state/audit-notes.js';
import type { SessionState } from '../state/session.js';
import { sayFailure } from '../state/toasts.js';
import { usePlaces, useWorkspace } from '../state/workspace.js';
import { useStore } from '../store/store.js';
import { Button, Segments } from '../ui/button.js';
import { Choices } from '../ui/choices.js';
import { Field, focusMistake, Switch, TextField } from '../ui/field.js';
import { Loading, Notice } from '../ui/notice.js';
import { SecretField } from '../ui/secret-field.js';
import { ServerChoice } from '../ui/server-choice.js';

type Way = 'password' | 'token';

interface LoginProps {
  readonly session: Exclude<SessionState, { readonly phase: 'signedIn' }>;
}

/** The way in: to this server, or to another that the panel was told of. */
export function Login({ session }: LoginProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const { all } = usePlaces();
  const heading = useId();
  const hasLogin = useStore(workspace.offers, ({ login }) => login);
  const [way, setWay] = useState<Way>(hasLogin === false ? 'token' : 'password');
  useEffect(() => {
    if (hasLogin === false) setWay('token');
  }, [hasLogin]);
  const offersToken = session.phase === 'lost' && session.reason === 'replaced' && workspace.place.token !== false;
  return (
    <main class="login" id="content" aria-labelledby={heading}>
      <div class="card">
        <div class="line">
          <span class="mark" aria-hidden="true" />
          <h1 id={heading}>{words('login.title')}</h1>
        </div>
        {session.phase === 'lost' && (
          <Notice tone="warn" urgent>
            <span>
              {words(`login.lost.${session.reason}`)} {words('login.lost.stays')}
              {offersToken && ` ${words('login.lost.useToken')}`}
            </span>
            {offersToken && way === 'password' && (
              <Button kind="small" onClick={() => setWay('token')}>
                {words('login.byToken')}
              </Button>
            )}
          </Notice>
        )}
        {all.length > 1 && (
          <Field label={words('login.server')}>
            {(control) => <ServerChoice control={control} disabled={session.phase === 'lost'} />}
          </Field>
        )}
        {session.phase === 'starting' ? (
          <Loading />
        ) : session.phase === 'signedOut' && session.problem !== null ? (
          <Notice tone="bad" urgent>
            <p>{sentence(session.problem, words)}</p>
            <Button kind="small" onClick={() => workspace.start()}>
              {words('login.retry')}
            </Button>
          </Notice>
        ) : (
          <Credentials key={way} way={way} onWay={setWay} />
        )}
      </div>
      <Choices />
    </main>
  );
}

interface CredentialsProps {
  readonly way: Way;
  readonly onWay: (way: Way) => void;
}

function Credentials({ way, onWay }: CredentialsProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const { all } = usePlaces();
  const hasLogin = useStore(workspace.offers, ({ login }) => login);
  const form = useRef<HTMLFormElement>(null);
  // Not on a phone, whose keyboard would cover the half of it.
  useLayoutEffect(() => {
    if (matchMedia('(pointer: fine)').matches) form.current?.querySelector('input')?.focus();
  }, []);
  const [username, setUsername] = useState('');
  const [secret, setSecret] = useState('');
  const [stays, setStays] = useState(false);
  const [device, setDevice] = useState('');
  const hasDevices = way === 'password' && stays && workspace.place.ownApi !== null;
  const [busy, setBusy] = useState(false);
  /** Said again in each language that is chosen. */
  const [problem, setProblem] = useState<{ readonly say: (words: Words) => string } | null>(null);
  const [missing, setMissing] = useState<'username' | 'secret' | null>(null);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    const lacks =
      way === 'password' && username === '' ? 'username' : way === 'token' && secret === '' ? 'secret' : null;
    setMissing(lacks);
    if (lacks !== null) {
      focusMistake(form.current);
      return;
    }
    if (way === 'token' && !/^[\x21-\x7e]+$/.test(secret)) {
      setProblem({ say: (words) => words('login.tokenCharacters') });
      focusMistake(form.current);
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      if (way === 'password') await workspace.session.signIn(username, secret, stays);
      else await workspace.session.useToken(secret, stays);
      note(workspace, 'signIn', true);
      if (hasDevices && device.trim() !== '') workspace.session.keepDevice(device.trim()).catch(sayFailure);
    } catch (error) {
      setProblem({ say: (words) => problemOf(error, way, words) });
      setBusy(false);
      focusMistake(form.current);
    }
  };

  const host = placeAddress(workspace.place);
  return (
    <form ref={form} class="stack" onSubmit={submit} novalidate>
      <Segments
        label={words('login.title')}
        names={['password', 'token']}
        chosen={way}
        disabled={hasLogin === false && 'password'}
        onChoose={onWay}
      >
        {(name) => words(name === 'password' ? 'login.password' : 'login.withToken')}
      </Segments>
      {hasLogin === false && <p class="hint">{words('absent.login')}</p>}
      {all.length > 1 && (
        <p class="notice">{words(way === 'password' ? 'login.sends' : 'login.sendsToken', { host })}</p>
      )}
      {way === 'password' && (
        <TextField
          label={words('login.username')}
          problem={missing === 'username' ? words('login.needed') : null}
          name="username"
          autocomplete="username"
          autocapitalize="off"
          spellcheck={false}
          value={username}
          onType={setUsername}
        />
      )}
      <SecretField
        label={words(way === 'password' ? 'login.password' : 'login.token')}
        problem={problem?.say(words) ?? (missing === 'secret' ? words('login.needed') : null)}
        name={way}
        autocomplete={way === 'password' ? 'current-password' : 'off'}
        value={secret}
        onChange={setSecret}
      />
      <Switch label={words('login.stay')} checked={stays} onChange={setStays} />
      {hasDevices && (
        <TextField
          label={words('login.device')}
          hint={words('login.deviceHint')}
          maxLength={100}
          value={device}
          onType={setDevice}
        />
      )}
      <Button type="submit" kind="primary" aria-disabled={busy}>
        {words(busy ? 'login.checking' : 'login.submit')}
      </Button>
    </form>
  );
}

function problemOf(error: unknown, way: Way, words: Words): string {
  if (!(error instanceof ApiFailure)) return sentence(error, words);
  if (error.kind === 'unauthorized' && error.retryAfter !== null) return words('login.wait', { n: error.retryAfter });
  if (error.kind === 'unauthorized') return words(way === 'password' ? 'login.wrong' : 'login.wrongToken');
  if (error.detail === 'Auth not configured') return words('login.unconfigured');
  if (error.kind === 'absent' && way === 'password') return words('absent.login');
  return sentence(error, words);
}
