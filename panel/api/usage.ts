import type { Whole } from '../../src/text/whole.js';
import type { OwnInterface } from './own-interface.js';
import { itemsOf } from './wire.js';

/** The calls of one operation by one program on one day. Times are milliseconds since the epoch. */
export interface UsageRow {
  /** A token; `static`, `session`, `open` for no credential, or `others`. */
  readonly by: string;
  /** Perhaps empty. */
  readonly program: string;
  /** `v1` is Keyway's own interface. */
  readonly revision: string;
  readonly operation: string;
  /** In UTC. */
  readonly day: string;
  readonly count: Whole;
  readonly lastSeen: number;
  /** The announced end of the revision; null for none. */
  readonly sunset: number | null;
}

/** Asks who used what in the last 90 days. Rejects with `ApiFailure`. */
export async function listUsage(own: OwnInterface): Promise<readonly UsageRow[]> {
  return itemsOf(await own.ask({ path: '/usage', timeout: 60_000 }), ({ members, text, time, whole }) => ({
    ...{ by: text('by'), program: text('program'), revision: text('revision') },
    ...{ operation: text('operation'), day: text('day'), count: whole('count'), lastSeen: time('last_seen') },
    sunset: members.sunset === undefined ? null : time('sunset'),
  }));
}
