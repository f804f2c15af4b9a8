import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { type At, dataOf, type Found, NEEDS_CREDENTIAL } from './looking.js';

/** How often the status is asked until its uptime has grown, and the milliseconds before each time. */
const LOOKS = 24;
const EVERY = 100;

/** The uptime goes on, as whole seconds do. */
export async function lookAtUptime(at: At): Promise<Found> {
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  let before = uptimeIn(await dataOf('getStatus', at));
  const first = before;
  if (first === null) return { unseen: 'the status tells none' };
  for (let look = 1; look <= LOOKS; look += 1) {
    const turn = `uptime ${look}`;
    await at.look.pauseBefore(turn, EVERY);
    const uptime = uptimeIn(await dataOf('getStatus', at, { turn }));
    // One that was started anew meanwhile goes on from less.
    if (uptime !== null && before !== null && uptime > before) return [];
    before = uptime;
  }
  const expected = `more than ${first} after ${(LOOKS * EVERY) / 1000} s`;
  return [{ request: 'GET /server/status', where: 'body /data/uptime_seconds', expected, actual: before ?? undefined }];
}

function uptimeIn(status: JsonValue | undefined): bigint | null {
  const uptime = isJsonObject(status) ? status.uptime_seconds : undefined;
  return typeof uptime === 'bigint' ? uptime : null;
}
