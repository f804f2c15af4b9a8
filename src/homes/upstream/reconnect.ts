import { UpstreamError } from '../../client/upstream-error.js';
import type { UpstreamContext } from './context.js';

export interface ReconnectOptions extends UpstreamContext {
  /** Loads everything that must be known before serving. */
  readonly load: () => Promise<void>;
  /** Looks whether it answers; `troubles` has the outcome. */
  readonly look: () => Promise<void>;
  /** Tells whether something that nobody asks for depends on the server. */
  readonly isNeeded: () => boolean;
  /** Called when the server answers after it was away. */
  readonly onBack: () => void;
  /** Called when it speaks another line. */
  readonly onLine: () => void;
}

/** The time between two looks, ms. */
const LOOKS = 5_000;

/** Loads everything of a server once, and looks at it while it is away or somebody depends on it. */
export function createReconnect(options: ReconnectOptions) {
  const { server, load, look, isNeeded, onBack, onLine, clock, timers, log } = options;
  let line = server.line()?.id;
  let stopLooking: (() => void) | null = null;
  let watchedUntil = Number.NEGATIVE_INFINITY;
  let wasAway = false;
  let state: 'new' | 'loading' | 'loaded' | 'closed' = 'new';
  let isSaid = false;

  const isAway = () => server.troubles().some(({ kind }) => kind === 'away');

  /** Looks every 5 s while something depends on it, and for `milliseconds` in any case. */
  function keepLooking(milliseconds = 0): void {
    const now = clock.monotonic();
    watchedUntil = Math.max(watchedUntil, now + milliseconds);
    if (stopLooking !== null || state === 'closed') return;
    if (wasAway || state === 'new' || isNeeded() || now < watchedUntil)
      stopLooking = timers.after(LOOKS, () => void lookNow());
  }

  async function lookNow(): Promise<void> {
    const isAnswered = await look().then(
      () => true,
      () => false,
    );
    stopLooking = null;
    // Something else than the status may still be away, such as its lists.
    if (wasAway && isAnswered) onBack();
    wasAway = isAway();
    if (state === 'new' && !isAway()) await loadLater();
    keepLooking();
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
    keepLooking();
  }

  server.onChange(() => {
    if (isAway()) {
      wasAway = true;
      keepLooking();
    }
    if (server.line()?.id === line) return;
    line = server.line()?.id;
    onLine();
  });

  return {
    /**
     * Loads, or goes on without where the server is away or takes no sign-in now. Rejects with an `Error` for people
     * where it lets nobody in.
     */
    async open(): Promise<void> {
      try {
        await loadNow();
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'upstreamRefused' && !error.isForNow) throw new Error(error.detail, { cause: error });
        goOn(error.detail);
      }
      keepLooking();
    },
    keepLooking,
    close(): void {
      state = 'closed';
      stopLooking?.();
    },
  };
}

const UNKNOWN = 'the server has not answered since Keyway started, and goes on being asked';
