import type { Whole } from '../../src/text/whole.js';
import { parseExact } from '../text/exact-json.js';
import { isObject } from './objects.js';
import type { OwnInterface } from './own-interface.js';
import { type Fields, fieldsOf, itemsOf } from './wire.js';

/** Something that happened (docs/api.md, "Events"). */
export interface ServerEvent {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface EventPage {
  /** The place behind the last of them. */
  readonly cursor: string;
  /** Oldest first. */
  readonly events: readonly ServerEvent[];
}

/** Asks for the newest events. Rejects with `ApiFailure`. */
export async function newestEvents(own: OwnInterface, limit: number): Promise<EventPage> {
  const { text, members } = fieldsOf(await own.ask({ path: `/events?limit=${limit}` }));
  return { cursor: text('cursor'), events: itemsOf(members.events, readEvent, 'data.events') };
}

/** The events behind a place as they come, until the stream ends. Throws `ApiFailure`. */
export async function* laterEvents(
  own: OwnInterface,
  cursor: string,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent, void> {
  for await (const { data } of own.stream(`/events?since=${encodeURIComponent(cursor)}`, signal))
    yield readEvent(fieldsOf(parseExact(data), 'event'));
}

function readEvent({ members: { data }, text, time }: Fields): ServerEvent {
  return { id: text('id'), time: time('time'), type: text('type'), data: isObject(data) ? data : {} };
}

/** A member of a key's record that became another one; of a note neither text is told. */
export interface EventChange {
  readonly member: unknown;
  readonly from: unknown;
  readonly to: unknown;
}

/** A key that an event tells of; its name is empty where it has none. */
export interface EventKey {
  readonly key: string;
  readonly name: string;
  readonly changes: readonly EventChange[];
}

export function keysOf({ data }: ServerEvent): readonly EventKey[] {
  return objectsIn(data.keys).flatMap(({ access_key: key, name, changes }) =>
    typeof key === 'string'
      ? [
          {
            ...{ key, name: typeof name === 'string' ? name : '' },
            changes: objectsIn(changes).map(({ member, from, to }) => ({ member, from, to })),
          },
        ]
      : [],
  );
}

function objectsIn(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** A number of an event's data; 0 where there is none. */
export function numberOf({ data }: ServerEvent, name: string): Whole {
  const value = data[name];
  return typeof value === 'number' || typeof value === 'bigint' ? value : 0;
}

/** A text of an event's data; empty where there is none. */
export function textOf({ data }: ServerEvent, name: string): string {
  const value = data[name];
  return typeof value === 'string' ? value : '';
}
