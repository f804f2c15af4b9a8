import type { Static } from 'typebox';
import { done, limitBytes, name, object, optional, text, u64, yes } from '../schemas.js';
import type { Revision } from '../traits/revision.js';
import { Type } from '../typebox.js';
import { ALL_ALONE, json, NO_BODY, type OperationRows, READS, writes } from './operation.js';

const CreateBody = object({
  access_key: optional(
    Type.String({ minLength: 1 }),
    'a string that is not empty, or null',
    'The key; when absent, 32 lowercase hexadecimal characters are generated.',
  ),
  name,
  limit_bytes: limitBytes,
});
const BulkBody = object({
  count: u64('How many keys to create, at most 1000.'),
  limit_bytes: limitBytes,
});

export type CreateUser = Static<typeof CreateBody>;

const snapshot = (revision: Revision) => revision.snapshot.schema(revision.online.name);

const CHANGES_KEYS = writes('makes or changes keys');

/** Access keys and their subscriptions. */
export const USERS = {
  listUsers: {
    endpoint: 'GET /users',
    access: 'protected',
    presets: ['relay', 'create', 'keys'],
    capability: null,
    body: NO_BODY,
    answer: (revision) => Type.Array(snapshot(revision)),
    subject: 'keys',
    effect: READS,
    failures: [],
    summary: 'All keys, most bytes down first',
    description:
      'Sorted by `bytes_down`, descending; equal ones in the order of registration. Compressed when `Accept-Encoding` allows.',
  },
  createUser: {
    endpoint: 'POST /users',
    access: 'protected',
    presets: ['create', 'keys'],
    capability: null,
    body: json(CreateBody),
    answer: () => text('The key, given or generated (32 lowercase hexadecimal characters).', 'key'),
    subject: 'keys',
    effect: CHANGES_KEYS,
    failures: ['savedInMemory'],
    summary: 'Registers or replaces a key',
    description:
      'Without `access_key` one is generated. An existing key is replaced and its counters start at zero. Written to the configuration file before the answer.',
  },
  bulkCreateUsers: {
    endpoint: 'POST /users/bulk',
    access: 'protected',
    presets: ['create', 'keys'],
    capability: 'bulk',
    body: json(BulkBody),
    answer: () => Type.Array(text('A generated key of 16 lowercase hexadecimal characters.', 'key')),
    subject: 'keys',
    effect: CHANGES_KEYS,
    failures: ['countTooLarge'],
    summary: 'Registers many keys',
    description:
      'Generates `count` keys without a name. They have no counters until their first update, limit or usage. A failed write is carried by the next one.',
  },
  getUser: {
    endpoint: 'GET /users/{key}',
    access: 'protected',
    presets: ['relay', 'create', 'keys'],
    capability: null,
    body: NO_BODY,
    answer: snapshot,
    subject: 'keys',
    effect: READS,
    failures: ['userNotFound'],
    summary: 'One key',
    description: 'Record and counters of one key.',
  },
  updateUser: {
    endpoint: 'PUT /users/{key}',
    access: 'protected',
    presets: ['keys'],
    capability: null,
    body: json(object({ name, limit_bytes: limitBytes })),
    answer: () => done('User updated'),
    subject: 'keys',
    effect: CHANGES_KEYS,
    failures: ['userNotFoundCapital', 'savedInMemory'],
    summary: 'Overwrites name and limit',
    description: 'Overwrites both: an absent member becomes null. Counters are kept.',
  },
  deleteUser: {
    endpoint: 'DELETE /users/{key}',
    access: 'protected',
    presets: ['keys'],
    capability: null,
    body: NO_BODY,
    answer: () => done('User removed'),
    subject: 'keys',
    effect: CHANGES_KEYS,
    failures: ['userNotFoundCapital', 'savedInMemory'],
    summary: 'Removes a key and its counters',
    description: 'Removes record and counters.',
  },
  setLimit: {
    endpoint: 'PUT /users/{key}/limit',
    access: 'protected',
    presets: ['keys'],
    capability: null,
    body: json(object({ limit_bytes: limitBytes })),
    answer: () => yes,
    subject: 'keys',
    effect: CHANGES_KEYS,
    failures: ['userNotFound', 'savedInMemory'],
    summary: 'Overwrites the limit',
    description: 'Null or absent clears the limit. Name and counters are kept.',
  },
  resetUser: {
    endpoint: 'POST /users/{key}/reset',
    access: 'protected',
    presets: ['keys'],
    capability: null,
    body: NO_BODY,
    answer: () => yes,
    subject: 'keys',
    effect: CHANGES_KEYS,
    failures: ['userNotFound'],
    summary: 'Sets the traffic counters to zero',
    description:
      'Sets bytes and connections to zero; the limit is kept and the file is not written. Counters that cannot be written now are carried by the next write. A key without counters is not found.',
  },
  subscribe: {
    endpoint: 'GET /subscribe/{key}',
    access: 'open',
    presets: ALL_ALONE,
    capability: null,
    body: NO_BODY,
    answer: (revision) => revision.subscribe.data,
    beside: (revision) => revision.subscribe.beside,
    subject: 'keys',
    effect: READS,
    failures: ['invalidAccessKey'],
    summary: 'Share link or client configuration of a key',
    description:
      'The access key itself admits. With `text/plain` in `Accept` the data is a share link, otherwise a client configuration.',
  },
} as const satisfies OperationRows;
