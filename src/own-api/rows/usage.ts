import { MOST_DAYS } from '../../core/operation-use.js';
import { READS } from '../../wire/operations/operation.js';
import { text, u64 } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import type { OwnRows } from '../operation.js';
import { exactly } from '../schemas.js';

/** The use of operations. */
export const USAGE = {
  listUsage: {
    endpoint: 'GET /usage',
    access: [],
    effect: READS,
    query: {
      days: { kind: 'number', least: 1, most: MOST_DAYS, description: `The last so many days; default ${MOST_DAYS}.` },
    },
    answer: Type.Array(
      exactly({
        by: text(
          'A token; `static`, `session`, or `open` for who showed none; `others` for the rest of a day with more than 1,000 rows.',
        ),
        program: text('The first word of the user agent with its version, such as `curl/8.5.0`; may be empty.'),
        revision: text('The revision; `v1` for this interface.'),
        operation: text('The operation.'),
        day: text('In UTC.'),
        count: u64('How often.'),
        last_seen: Type.String({ format: 'date-time', description: 'When last.' }),
        sunset: Type.Optional(
          Type.String({ format: 'date-time', description: 'The announced end of the revision; absent for none.' }),
        ),
      }),
    ),
    failures: [],
    summary: 'Who still uses what, by day',
    description:
      'The newest day first, within it the most used. No keys and no addresses. What other gateways of the state have counted is up to a minute old.',
  },
} as const satisfies OwnRows;
