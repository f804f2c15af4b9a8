import type { ChangeReason, MissedChanges, PastChanges } from '../../core/backend.js';
import type { KeyChange } from '../../core/keys/change-log.js';
import type { Connections, Row } from './connection.js';
import { MOST_MISSED, missedSince, type Seen } from './statements.js';

/** In milliseconds. */
const DEADLINE = 10_000;
const MARK = /^(\d{1,18}) ([0-9a-f-]{36}) (\d{1,18})$/;

/** Creates the report of changes that no gateway observed, from the numbers of their writes. */
export function createPast(connections: Pick<Connections, 'run'>, seen: () => Seen): PastChanges {
  return {
    mark() {
      const { state, stateMark, counters } = seen();
      return `${state} ${stateMark} ${counters}`;
    },
    async since(mark) {
      const [, state, stateMark, counters] = MARK.exec(mark) ?? [];
      if (state === undefined || stateMark === undefined || counters === undefined) return null;
      const asked = missedSince({ state: BigInt(state), stateMark, counters: BigInt(counters) });
      const [, known, settings, keys = [], over = []] = await connections.run(asked, DEADLINE);
      if (known?.[0]?.[0] !== 't') return null;
      const areTooMany = keys.length > MOST_MISSED || over.length > MOST_MISSED;
      const missed: MissedChanges['keys'] = areTooMany
        ? null
        : [...keys.flatMap(readMissed), ...over.map(([accessKey]) => [accessKey ?? '', 'over_limit'] as const)];
      // The statement returns one of these, or null.
      return { keys: missed, settings: (settings?.[0]?.[0] ?? null) as ChangeReason | null };
    },
  };
}

/** Reads every kind of change that one row may contain: a key that was reset may have been renamed, too. */
function readMissed([accessKey, removed, isNew, isReset]: Row): readonly (readonly [string, KeyChange])[] {
  const kinds: readonly KeyChange[] =
    removed === 't'
      ? isNew === 't'
        ? ['created', 'removed']
        : ['removed']
      : isNew === 't'
        ? ['created']
        : isReset === 't'
          ? ['changed', 'reset']
          : ['changed'];
  return kinds.map((kind) => [accessKey ?? '', kind]);
}
