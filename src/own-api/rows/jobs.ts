import { READS, writes } from '../../wire/operations/operation.js';
import { flag, limitBytes, name, orNull, text, u64 } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import { type OwnRows, PAGE } from '../operation.js';
import { exactly } from '../schemas.js';
import { note } from './keys.js';

/** Items of one batch, and bytes of its body. */
export const MOST_ITEMS = 10_000;
const BATCH_BODY_LIMIT = 8 * 1024 * 1024;

const accessKey = Type.String({ minLength: 1, expected: 'a string that is not empty', description: 'The key.' });

/** The members of an item, by what it does. */
export const ITEMS = {
  create: exactly({
    op: Type.Literal('create'),
    access_key: Type.Optional(accessKey),
    name,
    limit_bytes: limitBytes,
    note,
  }),
  update: exactly({ op: Type.Literal('update'), access_key: accessKey, name, limit_bytes: limitBytes, note }),
  delete: exactly({ op: Type.Literal('delete'), access_key: accessKey }),
  reset: exactly({ op: Type.Literal('reset'), access_key: accessKey }),
  rotate: exactly({ op: Type.Literal('rotate'), access_key: accessKey }),
} as const;

export type ItemOp = keyof typeof ITEMS;

export const isItemOp = (op: unknown): op is ItemOp => typeof op === 'string' && Object.hasOwn(ITEMS, op);

/** An item before its members are looked at: by its operation alone it is told what else it may say. */
export interface AnyItem {
  readonly op?: unknown;
}

const items = (schema: ReturnType<typeof Type.Object> | ReturnType<typeof Type.Union>) =>
  exactly({
    items: Type.Array(schema, {
      minItems: 1,
      maxItems: MOST_ITEMS,
      expected: `a list of 1 to ${MOST_ITEMS} items`,
      description: 'Acted on in their order. An absent member of an update stays, null clears it.',
    }),
  });

const ITEM_OUTCOME = exactly({
  index: u64('The place of the item in the batch, from 0.'),
  ok: orNull(
    flag('It was done.'),
    'true, false or null',
    'Null: not done yet, or not reached by a job that was stopped.',
  ),
  access_key: text('The key; of a create the one that was made, of a rotation that is done the new one.'),
  error: Type.Optional(
    text('Why it was not done; of a change that was done in memory alone, why it is not in the file.'),
  ),
  code: Type.Optional(text('The name of the failure.')),
});

const time = (description: string) => orNull(text('A time.'), 'a time or null', description);

const HEADER = {
  id: text('Names the job.'),
  kind: Type.Literal('keys'),
  state: Type.Union([Type.Literal('waiting'), Type.Literal('running'), Type.Literal('done'), Type.Literal('stopped')]),
  total: u64('Items.'),
  done: u64('Items that were done.'),
  failed: u64('Items that were not.'),
  started_at: time('Null while it waits.'),
  ended_at: time('Null until it has ended.'),
  reason: Type.Optional(text('Why it was stopped, where nobody asked for it.')),
};

const JOB = exactly({ ...HEADER, items: Type.Array(ITEM_OUTCOME) });

/** Batches of changes, which are jobs. */
export const JOBS = {
  batchKeys: {
    endpoint: 'POST /keys/batch',
    access: ['create', 'keys'],
    effect: writes('makes, changes or removes keys'),
    query: {
      wait: { kind: 'number', least: 0, most: 30, description: 'Seconds to wait for its end; then the answer is 200.' },
      delay: {
        kind: 'number',
        least: 0,
        most: 60,
        description: 'Seconds before it begins; until then DELETE undoes it.',
      },
    },
    headers: {
      'Idempotency-Key':
        'At most 255 characters. The same batch under it again, until a day after its end, is the same job and does nothing twice.',
    },
    body: {
      schema: items(Type.Object({}, { expected: 'a JSON object' })),
      described: items(Type.Union(Object.values(ITEMS))),
    },
    bodyLimit: BATCH_BODY_LIMIT,
    answer: JOB,
    statuses: [200, 202],
    failures: ['idempotencyKeyReused', 'conflict', 'tooManyJobs', 'saveFailed'],
    summary: 'Changes many keys',
    description:
      'Answers once the batch outlives a crash; it goes on when the caller is gone, and after a restart. Each item has its own outcome; who may make keys alone is told `not_permitted` of every other.',
  },
  listJobs: {
    endpoint: 'GET /jobs',
    access: ['create', 'keys'],
    effect: READS,
    query: PAGE,
    answer: Type.Array(exactly(HEADER)),
    failures: [],
    summary: 'Batches, the newest first',
    description:
      'Those that the credential began; one that may do everything sees all. Kept for a day after their end, at most 1,000 of them and 64 MiB.',
  },
  getJob: {
    endpoint: 'GET /jobs/{id}',
    access: ['create', 'keys'],
    effect: READS,
    query: {
      failed: { kind: 'number', least: 0, most: 1, description: '1: only items that were not done.' },
      wait: { kind: 'number', least: 0, most: 30, description: 'Seconds to wait for its end before it is answered.' },
      limit: PAGE.limit,
      after: {
        kind: 'number',
        least: 0,
        most: MOST_ITEMS,
        description: 'Goes on behind the item of this index, the last of the page before.',
      },
    },
    answer: JOB,
    failures: ['notFound', 'tooManyPolls'],
    summary: 'One batch with its items',
    description: 'Its progress, and what became of each item, in pages of these.',
  },
  stopJob: {
    endpoint: 'DELETE /jobs/{id}',
    access: ['create', 'keys'],
    effect: writes('stops a batch'),
    answer: JOB,
    failures: ['notFound', 'tooManyPolls'],
    summary: 'Stops a batch',
    description: 'What is done stays. One that waits does nothing at all.',
  },
} as const satisfies OwnRows;
