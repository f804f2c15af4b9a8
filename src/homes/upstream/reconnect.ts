import { UpstreamError } from '../../client/upstream-error.js';
import type { UpstreamContext } from './context.js';

export interface ReconnectOptions extends UpstreamContext {
  /** Everything there is to know before anything is served. */
  readonly load: () => Promise<void>;
  /** Looks whether it answers. */
  readonly look: () => Promise<void>;
  /** Called when it answers again. */
  readonly onBack: () => void;
  /** Called when it speaks another line. */
  readonly onLine: () => void;
}

/** The time between two looks for a server that is away, ms. */
const PROBES = 5_000;

/** Loads everything of a server once, and looks for one that is away until it is back. */
export function createReconnect({ server, load, look, onBack, onLine, timers, log }: ReconnectOptions) {
  let line = server.line()?.id;
  let stopProbing: (() => void) | null = null;
  let state: 'new' | 'loading' | 'loaded' | 'closed' = 'new';
  let isSaid = false;

  const isAway = () => server.troubles().some(({ kind }) => kind === 'away');

  function probe(): void {
    if (stopProbing !== null || state === 'closed') return;
    stopProbing = timers.after(PROBES, () => {
      stopProbing = null;
      look()
        .then(onBack, () => undefined)
        .finally(() => {
          if (isAway()) probe();
          else if (state === 'new') void loadLater();
        });
    });
  }

  async function loadNow(): Promise<void> {
    state = 'loading';
    try {
      await load();
      if (state === 'loading') state = 'loaded';
    } catch (error) {
      if (state === 'loading') state = 'new';
      throw error;
    }
  }

  async function loadLater(): Promise<void> {
    await loadNow().catch((error: unknown) => goOn(error instanceof UpstreamError ? error.detail : String(error)));
  }

  /** Nothing is loaded yet: that is said once. */
  function goOn(reason: string): void {
    if (!isSaid) log.warn({ upstream: server.name, reason }, UNKNOWN);
    isSaid = true;
    probe();
  }

  server.onChange(() => {
    if (isAway()) probe();
    if (server.line()?.id === line) return;
    line = server.line()?.id;
    onLine();
  });

  return {
    /** Loads, or goes on without where the server is away or takes no sign-in now. Rejects with an `Error` for people where it lets nobody in. */
    async open(): Promise<void> {
      try {
        await loadNow();
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'upstreamRefused' && !error.isForNow) throw new Error(error.detail, { cause: error });
        goOn(error.detail);
      }
    },
    close(): void {
      state = 'closed';
      stopProbing?.();
    },
  };
}

const UNKNOWN = 'nothing is known of the server yet: it is asked again';
