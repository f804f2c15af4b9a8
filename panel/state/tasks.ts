import { useEffect, useState } from 'preact/hooks';
import { useWorkspace } from './workspace.js';

/** Runs one thing at a time, and keeps why the last one failed until the next. */
export function useTask() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (act: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await act();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run, forget: () => setError(null) };
}

/** Loads now and at every refresh, as long as the component is there. Returns why the last load failed, or null. */
export function useRefreshed(load: () => Promise<void>): unknown {
  const workspace = useWorkspace();
  const [error, setError] = useState<unknown>(null);
  useEffect(
    () =>
      workspace.contact.add(async () => {
        try {
          await load();
          setError(null);
        } catch (problem) {
          setError(problem);
          throw problem;
        }
      }),
    [workspace],
  );
  return error;
}

/** Asks for something, again for other inputs and not for null: undefined until it is known. */
export function useAsked<T>(ask: (() => Promise<T>) | null, inputs: readonly unknown[]) {
  const [known, setKnown] = useState<{ readonly value?: T; readonly error?: unknown }>({});
  useEffect(() => {
    let isWanted = true;
    setKnown({});
    ask?.().then(
      (value) => isWanted && setKnown({ value }),
      (error: unknown) => isWanted && setKnown({ error }),
    );
    return () => {
      isWanted = false;
    };
  }, inputs);
  return known;
}
