import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { Button } from './button.js';
import { Loading, Notice } from './notice.js';
import { Page } from './page.js';

type View = () => JSX.Element;

/** A page whose code is fetched when it is first opened. */
export function lazyPage(fetchView: () => Promise<View>): View {
  let known: View | null = null;
  return function LazyPage() {
    const words = useWords();
    const [state, setState] = useState<'waiting' | 'there' | 'failed'>(known === null ? 'waiting' : 'there');
    const load = () =>
      fetchView().then(
        (view) => {
          known = view;
          setState('there');
        },
        () => setState('failed'),
      );
    useEffect(() => {
      if (known === null) void load();
    }, []);
    if (known !== null) {
      const Known = known;
      return <Known />;
    }
    return (
      <Page title="Keyway">
        {state === 'waiting' && <Loading />}
        {state === 'failed' && (
          <Notice tone="bad" urgent>
            {words('failure.unreachable')}
            {/* A browser remembers that a script could not be fetched. */}
            <Button kind="small" onClick={() => window.location.reload()}>
              {words('login.retry')}
            </Button>
          </Notice>
        )}
      </Page>
    );
  };
}
