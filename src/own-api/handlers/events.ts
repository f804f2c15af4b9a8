import { seesOwnAlone } from '../../core/keys/key-makers.js';
import { heldFor } from '../../core/long-polls.js';
import { encodeJson } from '../../wire/json/write-json.js';
import { answer, follow, type OwnCall, type OwnHandler } from '../call.js';
import type { EventKey, OwnEvent } from '../events.js';
import { DEFAULT_LIMIT } from '../operation.js';
import { type EventSource, type StreamEvent, Streams } from '../streams.js';

/** Milliseconds that a stream waits at a time. */
const LOOK = 10_000;
/** Events that a stream takes at a time. */
const AT_ONCE = 100;

const wireEvent = ({ id, time, type, data }: OwnEvent) => ({ id, time, type, data });

/**
 * Returns the part of an event that a caller may know: one who sees only its own keys learns of these and of its own
 * batches.
 */
function shown({ context: { makers }, principal }: Caller, event: OwnEvent): readonly OwnEvent[] {
  if (!seesOwnAlone(principal)) return [event];
  const { keys, by } = event.data;
  if (event.type === 'job.ended') return by === principal.name ? [event] : [];
  if (typeof keys !== 'object' || keys === null) return [];
  // Which keys changed is not known: its own may be among them.
  if (event.data.whole === true) return [{ ...event, data: { keys, whole: true } }];
  const own = keys.filter(({ access_key }) => makers.sees(principal, access_key));
  return own.length === 0 ? [] : [{ ...event, data: { keys: own.map(withoutNote) } }];
}

/** A key without the word that its note has changed, which is for operators. */
function withoutNote({ changes, ...key }: EventKey): EventKey {
  const others = changes?.filter(({ member }) => member !== 'note') ?? [];
  return others.length === 0 ? key : { ...key, changes: others };
}

type Caller = Pick<OwnCall, 'context' | 'principal'>;

function listed(caller: Caller, events: readonly OwnEvent[], cursor: string, whole: boolean) {
  const told = events.flatMap((event) => shown(caller, event)).map(wireEvent);
  return answer({ cursor: events.at(-1)?.id ?? cursor, whole, events: told });
}

async function awaitEvent({ context, request }: OwnCall, cursor: string, milliseconds: number): Promise<void> {
  const { events, eventsWaiting } = context;
  if (milliseconds === 0) return;
  await follow(context, milliseconds);
  if (events.after(cursor, 1)?.length !== 0) return;
  const { socket } = request.raw;
  const controller = new AbortController();
  const abort = () => controller.abort();
  socket.once('close', abort);
  await eventsWaiting.until(milliseconds, controller.signal);
  socket.off('close', abort);
}

function eventStream(caller: Caller, cursor: string): EventSource {
  const { context } = caller;
  const { events, eventsWaiting } = context;
  return async function* (signal) {
    let last = cursor === '' ? events.newest : cursor;
    while (!signal.aborted && !eventsWaiting.isReleased) {
      await follow(context, LOOK);
      const known = events.after(last, AT_ONCE);
      const next = known ?? events.latest(AT_ONCE);
      if (known === null) {
        yield WHOLE;
        last = events.newest;
      }
      for (const event of next) {
        for (const one of shown(caller, event)) yield streamed(one);
        last = event.id;
      }
      if (next.length === 0) await eventsWaiting.until(LOOK, signal);
    }
  };
}

/** Says that the cursor was missing or too old, so that events may be missing before the next. */
const WHOLE: StreamEvent = { event: 'whole', data: '{}' };

const streamed = (event: OwnEvent): StreamEvent => ({
  event: event.type,
  id: event.id,
  data: encodeJson(wireEvent(event)),
});

export const EVENT_HANDLERS = {
  async listEvents(call) {
    const { context, request, query } = call;
    const { events } = context;
    const limit = Number(query.limit ?? DEFAULT_LIMIT);
    const last = request.headers['last-event-id'];
    const since = typeof query.since === 'string' ? query.since : null;
    const isStream = Streams.isWanted(request);
    const cursor = since ?? (isStream && typeof last === 'string' ? last : '');
    await events.lookFor(cursor);
    if (isStream) return { stream: eventStream(call, cursor) };
    if (since !== null) await awaitEvent(call, since, heldFor(Number(query.wait ?? 0)));
    await call.awaitPlace();
    const told = () => {
      const after = since === null ? null : events.after(since, limit);
      return after === null
        ? listed(call, events.latest(limit), events.newest, since !== null)
        : listed(call, after, since ?? '', false);
    };
    if (seesOwnAlone(call.principal)) return told();
    return context.sharedEvents.of(events.newest, JSON.stringify([since, limit]), told);
  },
} as const satisfies Readonly<Record<string, OwnHandler>>;
