import { isWhole, type Whole } from '../text/exact-json.js';
import type { OwnInterface } from './own-interface.js';
import { garbled, listOf, objectOf, readText, readTime } from './wire.js';

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
  return listOf(await own.ask({ method: 'GET', path: '/usage', timeout: 60_000 }), 'data').map((item, index) => {
    const place = `data[${index}]`;
    const row = objectOf(item, place);
    const text = (name: string) => readText(row[name], `${place}.${name}`);
    return {
      ...{ by: text('by'), program: text('program'), revision: text('revision') },
      ...{ operation: text('operation'), day: text('day') },
      count: isWhole(row.count) ? row.count : garbled(`${place}.count`),
      lastSeen: readTime(row.last_seen, `${place}.last_seen`),
      sunset: row.sunset === undefined ? null : readTime(row.sunset, `${place}.sunset`),
    };
  });
}
