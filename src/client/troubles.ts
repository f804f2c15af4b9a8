import type { ClockPort, LogPort } from '../core/ports.js';
import type { AskedThing, UpstreamTrouble } from './server.js';

export type Troubles = ReturnType<typeof createTroubles>;

const WORDS: Readonly<Record<UpstreamTrouble['kind'], string>> = {
  away: 'the server does not answer: subscriptions and the feed go on from what was last known',
  refused: 'the server does not let Keyway in: lists and subscriptions go on from what was last known',
};

/**
 * Milliseconds between two reports in the log, so that a trouble that comes and goes with every other call is reported
 * once.
 */
const SAID_AGAIN = 60_000;

/** The order in which the user should deal with them. */
const ORDER: readonly AskedThing[] = ['connection', 'sign-in', 'lists', 'single calls', 'writes', 'configuration'];

/** Milliseconds after which the last outcome is out of date, for calls that Keyway makes only on demand. */
const SAYS_SOMETHING: Readonly<Partial<Record<AskedThing, number>>> = { writes: 60_000, configuration: 60_000 };

interface Met {
  readonly trouble: UpstreamTrouble;
  /** The times of the first failed call and of the last; monotonic, ms. */
  readonly beganAt: number;
  readonly metAt: number;
}

/** Keeps the troubles with a server. Logs when a trouble begins or changes its kind, and when all are over. */
export function createTroubles(upstream: string, clock: ClockPort, log: LogPort) {
  const troubles = new Map<AskedThing, Met>();
  let isSaid = false;
  let saidAt = Number.NEGATIVE_INFINITY;
  const listeners: (() => void)[] = [];
  const changed = () => {
    for (const listener of listeners) listener();
  };

  const first = (): UpstreamTrouble | null => all()[0] ?? null;

  /** Lists the kinds of calls whose last call had no answer, or was refused entry; a missing connection first. */
  function all(): readonly UpstreamTrouble[] {
    const now = clock.monotonic();
    for (const [of, { metAt }] of troubles)
      if (now - metAt >= (SAYS_SOMETHING[of] ?? Number.POSITIVE_INFINITY)) over(of);
    return ORDER.flatMap((of) => troubles.get(of)?.trouble ?? []);
  }

  /** Ends the trouble of a kind of calls, because one was answered. */
  function over(of: AskedThing): void {
    const met = troubles.get(of);
    if (met === undefined) return;
    troubles.delete(of);
    const seconds = Math.round((clock.monotonic() - met.beganAt) / 1000);
    if (isSaid && troubles.size === 0) log.info({ upstream, seconds }, 'the server answers again');
    changed();
  }

  function say(of: AskedThing, kind: UpstreamTrouble['kind'], reason: string): void {
    const others = [...troubles.values()].map(({ trouble }) => trouble.kind);
    if (others.includes(kind)) return;
    // A different kind from the previous one is worth reporting.
    isSaid = others.length > 0 || clock.monotonic() - saidAt >= SAID_AGAIN;
    if (!isSaid) return;
    saidAt = clock.monotonic();
    log.warn({ upstream, asked: of, reason }, WORDS[kind]);
  }

  return {
    /** Returns the first of `all`. */
    now: first,
    all,
    /** Notes a call without an answer, or that was refused entry, and logs it if that is new. */
    met(of: AskedThing, kind: UpstreamTrouble['kind'], reason: string): UpstreamTrouble {
      const before = troubles.get(of);
      const metAt = clock.monotonic();
      if (before?.trouble.kind === kind) {
        const again = { ...before.trouble, reason };
        troubles.set(of, { ...before, trouble: again, metAt });
        return again;
      }
      const trouble = { of, kind, since: clock.now(), reason };
      troubles.delete(of);
      say(of, kind, reason);
      troubles.set(of, { trouble, beganAt: metAt, metAt });
      changed();
      return trouble;
    },
    over,
    onChange: (listener: () => void): void => void listeners.push(listener),
  };
}
