import { READS } from '../../wire/operations/operation.js';
import { text } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import { EVENT_TYPES } from '../events.js';
import { type OwnRows, PAGE } from '../operation.js';
import { exactly } from '../schemas.js';

const EVENT = exactly({
  id: text('Another for each event; they are in the order of these.'),
  time: text('The time at which it was noted.'),
  type: Type.Union(EVENT_TYPES.map((type) => Type.Literal(type))),
  data: Type.Unsafe<object>({
    type: 'object',
    description:
      'What there is to say: of keys `keys`, at most 1,000, each with `access_key`, `name` and, where they are known, `changes`, its members that became others, `from` and `to`; of a configuration `reason`; of both `by`, the credential that did it, where that is known; of an update `from` and `to`; of a job `job`, `state`, `total`, `done` and `failed`.',
  }),
});

/** The events so far. */
export const EVENTS = {
  listEvents: {
    endpoint: 'GET /events',
    access: ['create', 'keys'],
    effect: READS,
    query: {
      limit: PAGE.limit,
      since: { kind: 'text', description: 'A `cursor` of an answer before: the events after it.' },
      wait: {
        kind: 'number',
        least: 0,
        most: 60,
        description: 'Seconds to wait for an event, answered after 55 at the latest.',
      },
    },
    headers: {
      Accept: '`text/event-stream` for a stream of events, from now on or from `since` on.',
      'Last-Event-ID': 'The id of the last event of a stream before, in place of `since`.',
    },
    answer: exactly({
      cursor: text('The place behind the last of these events.'),
      whole: Type.Boolean({
        description: 'True where the cursor was none, or too old: events may be missing before these.',
      }),
      events: Type.Array(EVENT),
    }),
    failures: ['tooManyStreams', 'tooManyPolls'],
    summary: 'Events',
    description:
      'Without `since` the newest, oldest of them first. They are kept for 7 days, at most 20,000 of them. Changes of keys within a second are one event a kind and credential; a rotation is one event. Their cursor is good for every gateway of a state, and after a restart.',
  },
} as const satisfies OwnRows;
