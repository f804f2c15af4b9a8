import type { Static } from 'typebox';
import { LONGEST_NOTE } from '../../text/notes.js';
import { READS, writes } from '../../wire/operations/operation.js';
import { limitBytes, name, optional, orNull, text, texts, u64 } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import { type OwnRows, PAGE } from '../operation.js';
import { exactly } from '../schemas.js';

/** A key as Keyway's own interface shows it. */
export const KEY = exactly({
  access_key: text('The key.'),
  name: orNull(text('Text.'), 'a string or null', 'Display name.'),
  limit_bytes: orNull(u64('Bytes.'), 'an unsigned 64-bit integer or null', 'Traffic limit; null means none.'),
  bytes_up: u64('Bytes from the client.'),
  bytes_down: u64('Bytes to the client.'),
  connections: u64('Open connections.'),
  online: Type.Boolean({ description: 'It has open connections.' }),
  last_seen: orNull(
    text('A time.'),
    'a time or null',
    'The time at which its bytes last moved; null where that is not known.',
  ),
  status: Type.Union([Type.Literal('active'), Type.Literal('over_limit')]),
  note: orNull(
    text('Text.'),
    'a string or null',
    "The operator's note; null to tokens that may do less than `keys`, too.",
  ),
});

/** A key, or of one that only counted what has changed. */
const CHANGED_KEY = Type.Union([
  KEY,
  exactly({
    access_key: KEY.properties.access_key,
    bytes_up: KEY.properties.bytes_up,
    bytes_down: KEY.properties.bytes_down,
    connections: KEY.properties.connections,
    online: KEY.properties.online,
  }),
]);

export type WireKey = Static<typeof KEY>;

/** The note of a key in a body. */
export const note = optional(
  Type.String({ maxLength: LONGEST_NOTE, expected: `a string of at most ${LONGEST_NOTE} characters or null` }),
  `a string of at most ${LONGEST_NOTE} characters or null`,
  "The operator's note, which no user and no server sees; null for none.",
);

const KEY_PATCH = exactly({ name, limit_bytes: limitBytes, note });

export type KeyPatch = Static<typeof KEY_PATCH>;

const MERGE_PATCH = ['application/merge-patch+json', 'application/json'];

/** Access keys, one by one and as a list. */
export const KEYS = {
  listKeys: {
    endpoint: 'GET /keys',
    access: ['relay', 'create', 'keys'],
    effect: READS,
    query: {
      ...PAGE,
      since: { kind: 'text', description: 'A `cursor` of an answer before: what changed since, and not the list.' },
      wait: {
        kind: 'number',
        least: 0,
        most: 60,
        description: 'Seconds to wait for a change, answered after 55 at the latest; counters alone end it after 10.',
      },
      noted: { kind: 'number', least: 0, most: 1, description: '1: only keys that have a note. Not with `since`.' },
    },
    headers: {
      Accept: '`text/event-stream` for a stream of the changes, each of them such an answer.',
      'Last-Event-ID': 'The id of the last event of a stream before, in place of `since`.',
    },
    answer: exactly({
      cursor: text('The place in the changes: of the first page, where this is another.'),
      whole: Type.Boolean({ description: 'True where these are keys, and not changes.' }),
      keys: Type.Array(CHANGED_KEY),
      removed: texts('Keys that are gone; empty where `whole` is true.'),
    }),
    failures: ['tooManyStreams', 'tooManyPolls'],
    summary: 'Keys in the order of their texts, or what changed of them',
    description:
      'A page of all keys. The next one is asked for with `after`, the last key of this one. With `since`, what changed: a key with another record whole, of one that only counted its counters. A cursor that is too old, malformed or of another process answers the list, with `whole` true.',
  },
  getKey: {
    endpoint: 'GET /keys/{key}',
    access: ['relay', 'create', 'keys'],
    effect: READS,
    answer: KEY,
    failures: ['userNotFound'],
    summary: 'One key',
    description: 'Record and counters of one key.',
  },
  getSubscription: {
    endpoint: 'GET /keys/{key}/subscription',
    access: ['keys'],
    effect: READS,
    answer: exactly({
      path: orNull(
        text('A path.'),
        'a path or null',
        'The path of its subscription by token, at the address for subscriptions, else at this one; null where Keyway answers none.',
      ),
    }),
    failures: ['userNotFound'],
    summary: "The place of a key's subscription",
    description: 'What a browser is shown there is a page for the user of the key.',
  },
  patchKey: {
    endpoint: 'PATCH /keys/{key}',
    access: ['keys'],
    effect: writes('changes a key'),
    body: { schema: KEY_PATCH, types: MERGE_PATCH },
    answer: KEY,
    failures: ['userNotFound', 'unreadableByServer', 'savedInMemory', 'saveFailed'],
    summary: 'Changes what is named of one key',
    description:
      'A merge patch (RFC 7396): an absent member stays, null clears it. Answers the key as it is then. A name or a limit beside a server that takes plain keys alone is 422 `unreadable_by_server`.',
  },
  rotateKey: {
    endpoint: 'POST /keys/{key}/rotate',
    access: ['keys'],
    effect: writes('replaces a key by another one'),
    headers: {
      'Idempotency-Key':
        'At most 255 characters. The same rotation under it again, until a day after its answer, answers the same key and does nothing twice.',
    },
    body: { schema: exactly({}) },
    answer: exactly({ access_key: text('The new key.') }),
    failures: ['userNotFound', 'idempotencyKeyReused', 'tooManyJobs', 'savedInMemory', 'saveFailed'],
    summary: 'Gives a key a new secret',
    description:
      'The old one ends at once, and with it the subscription address that is computed from it. Name, limit and counters stay; in front of a server the counters begin at zero, and the limit is what was left.',
  },
  handOutAddress: {
    endpoint: 'POST /keys/{key}/address',
    access: ['keys'],
    effect: writes('gives a key a subscription address'),
    answer: exactly({
      token: text('Its last part.'),
      path: text('The path below which it is answered.'),
      url: orNull(
        text('An address.'),
        'a string or null',
        'The whole address; null where no domain with TLS is configured.',
      ),
    }),
    failures: ['userNotFound', 'saveFailed'],
    summary: 'The random subscription address of a key',
    description:
      'Made where there is none yet. It is not computed from the key, and goes on after a rotation; it ends with the key.',
  },
  takeBackAddress: {
    endpoint: 'DELETE /keys/{key}/address',
    access: ['keys'],
    effect: writes('ends the random subscription address of a key'),
    answer: Type.Null(),
    failures: ['saveFailed'],
    summary: 'Ends the random subscription address of a key',
    description: 'The address that is computed from the key goes on. Nothing happens where there is none.',
  },
} as const satisfies OwnRows;
