import { MOST_DAYS } from '../../core/operation-use.js';
import { answer, type OwnHandler } from '../call.js';

export const USAGE_HANDLERS = {
  listUsage: async ({ context: { use, sunsets }, query: { days = MOST_DAYS } }) => {
    const ends = (revision: string) => {
      const sunset = sunsets.get(revision);
      return sunset === undefined ? {} : { sunset: new Date(sunset).toISOString() };
    };
    await use.write();
    return answer(
      use.days(Number(days)).map(({ lastSeen, count, ...row }) => ({
        ...row,
        count: BigInt(count),
        last_seen: new Date(lastSeen).toISOString(),
        ...ends(row.revision),
      })),
    );
  },
} as const satisfies Readonly<Record<string, OwnHandler>>;
