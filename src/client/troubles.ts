import type { ClockPort, LogPort } from '../core/ports.js';
import type { AskedThing, UpstreamTrouble } from './server.js';

export type Troubles = ReturnType<typeof createTroubles>;

const WORDS: Readonly<Record<UpstreamTrouble['kind'], string>> = {
  away: 'the server does not answer: subscriptions and the feed go on from what was last known',
  refused: 'the server does not let Keyway in: lists and subscriptions go on from what was last known',
};

/** Milliseconds between two troubles that are said: one that comes and goes with every other call is said once. */
const SAID_AGAIN = 60_000;

/** The order in which a person is to look at them. */
const ORDER: readonly AskedThing[] = ['connection', 'sign-in', 'lists', 'single calls', 'writes', 'configuration'];

/** Keyway asks for these only when somebody wants them: after so long, ms, their last outcome says nothing of now. */
const SAYS_SOMETHING: Readonly<Partial<Record<AskedThing, number>>> = { writes: 60_000, configuration: 60_000 };

interface Met {
  readonly trouble: UpstreamTrouble;
  /** The times of the first call and of the last; monotonic, ms. */
  readonly beganAt: number;
  readonly metAt: number;
}

/** One log line when a trouble begins or becomes one of another kind, one when nothing is wrong any more. */
export function createTroubles(upstream: string, clock: ClockPort, log: LogPort) {
  const troubles = new Map<AskedThing, Met>();
  let isSaid = false;
  let saidAt = Number.NEGATIVE_INFINITY;
  const listeners: (() => void)[] = [];
  const changed = () => {
    for (const listener of listeners) listener();
  };

  const first = (): UpstreamTrouble | null => all()[0] ?? null;

  /** Lists each thing whose last call had no answer, or was not let in; a missing connection first. */
  function all(): readonly UpstreamTrouble[] {
    const now = clock.monotonic();
    for (const [of, { metAt }] of troubles)
      if (now - metAt >= (SAYS_SOMETHING[of] ?? Number.POSITIVE_INFINITY)) over(of);
    return ORDER.flatMap((of) => troubles.get(of)?.trouble ?? []);
  }

  /** It was answered. */
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
    // Another kind than the one before is news.
    isSaid = others.length > 0 || clock.monotonic() - saidAt >= SAID_AGAIN;
    if (!isSaid) return;
    saidAt = clock.monotonic();
    log.warn({ upstream, asked: of, reason }, WORDS[kind]);
  }

  return {
    /** The first of `all`. */
    now: first,
    all,
    /** A call had no answer, or was not let in. Says so in the log where that is new. */
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
