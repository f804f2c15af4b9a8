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
  away: 'the server does not answer: lists and subscriptions go on from what was last known',
  refused: 'the server does not let Keyway in: lists and subscriptions go on from what was last known',
};

/** One log line when a trouble begins or becomes another, one when it is over. */
export function createTroubles(upstream: string, clock: Pick<ClockPort, 'now'>, log: LogPort): Troubles {
  let trouble: UpstreamTrouble | null = null;
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
      log.warn({ upstream, reason }, WORDS[kind]);
      becomes(met);
      return met;
    },
    over(kind) {
      if (trouble === null || (kind !== undefined && trouble.kind !== kind)) return;
      const seconds = Math.round((clock.now() - trouble.since) / 1000);
      log.info({ upstream, seconds }, 'the server answers again');
      becomes(null);
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
