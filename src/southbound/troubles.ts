import type { ClockPort, LogPort } from '../core/ports.js';
import type { UpstreamTrouble } from './server.js';

/** Whether a server answers, and lets Keyway in. */
export interface Troubles {
  now(): UpstreamTrouble | null;
  /** A call had no answer, or was not let in. Says so in the log where that is new. */
  met(kind: UpstreamTrouble['kind'], reason: string): UpstreamTrouble;
  /** A call was answered: one that everyone may make shows nothing of who is let in. */
  over(kind?: UpstreamTrouble['kind']): void;
  onChange(listener: () => void): void;
}

const WORDS: Readonly<Record<UpstreamTrouble['kind'], string>> = {
  away: 'the server does not answer: subscriptions and the feed go on from what was last known',
  refused: 'the server does not let Keyway in: lists and subscriptions go on from what was last known',
};

/** Milliseconds between two troubles that are said: one that comes and goes with every other call is said once. */
const SAID_AGAIN = 60_000;

/** One log line when a trouble begins or becomes another, one when it is over. */
export function createTroubles(upstream: string, clock: ClockPort, log: LogPort): Troubles {
  let trouble: UpstreamTrouble | null = null;
  let isSaid = false;
  let saidAt = Number.NEGATIVE_INFINITY;
  const listeners: (() => void)[] = [];
  const becomes = (next: UpstreamTrouble | null) => {
    trouble = next;
    for (const listener of listeners) listener();
  };
  return {
    now: () => trouble,
    met(kind, reason) {
      if (trouble?.kind === kind) return trouble;
      const met = { kind, since: clock.now(), reason };
      // Another kind than the one before is news.
      isSaid = trouble !== null || clock.monotonic() - saidAt >= SAID_AGAIN;
      if (isSaid) {
        saidAt = clock.monotonic();
        log.warn({ upstream, reason }, WORDS[kind]);
      }
      becomes(met);
      return met;
    },
    over(kind) {
      if (trouble === null || (kind !== undefined && trouble.kind !== kind)) return;
      const seconds = Math.round((clock.now() - trouble.since) / 1000);
      if (isSaid) log.info({ upstream, seconds }, 'the server answers again');
      becomes(null);
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
