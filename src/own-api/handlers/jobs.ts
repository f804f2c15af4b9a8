import { hash } from 'node:crypto';
import type { ChangeOutcome, KeyChange } from '../../core/backend.js';
import { wasMade } from '../../core/batch-outcomes.js';
import { DomainError } from '../../core/errors.js';
import { recordOf } from '../../core/keys/key-record.js';
import type { RandomPort } from '../../core/ports.js';
import { successEnvelope } from '../../wire/envelope.js';
import type { JsonValue } from '../../wire/json/json.js';
import type { Encodable } from '../../wire/json/write-json.js';
import { checked, SchemaError } from '../../wire/schema-check.js';
import { answer, idempotencyKeyOf, type OwnAnswer, type OwnCall, type OwnHandler, withBody } from '../call.js';
import { failureText, wireCode } from '../errors.js';
import { countsIn, type JobCounts, type JobItem, type KeptJob, noteOf } from '../job-records.js';
import { DEFAULT_LIMIT } from '../operation.js';
import { type AnyItem, ITEMS, isItemOp } from '../rows/jobs.js';

/** Random bytes of a key that is made here. */
const KEY_BYTES = 16;
/** Bytes of a body from which on the answer, which has all items, counts as a large one. */
const LARGE = 64 * 1024;
/** Names an item to its schema. */
const ITEM = 'item';

/** An item as a change of the core, its new key made. Throws `invalidBody`, which names the member. */
function changeOf(item: AnyItem, index: number, random: RandomPort): JobItem {
  const place = `items[${index}]`;
  const { op } = item;
  if (!isItemOp(op)) throw new DomainError('invalidBody', `${place}.op: expected ${Object.keys(ITEMS).join(', ')}`);
  const newKey = () => random.bytes(KEY_BYTES).toString('hex');
  try {
    if (op === 'create') {
      const given = checked(ITEMS.create, item as JsonValue, ITEM);
      const values = { name: given.name ?? null, limitBytes: given.limit_bytes ?? null };
      return { op, key: recordOf(given.access_key ?? newKey(), values), ...noteOf(given) };
    }
    if (op === 'update') {
      const given = checked(ITEMS.update, item as JsonValue, ITEM);
      const { access_key: accessKey, name, limit_bytes } = given;
      const limit = limit_bytes === undefined ? {} : { limitBytes: limit_bytes };
      return { op, accessKey, update: { ...(name === undefined ? {} : { name }), ...limit }, ...noteOf(given) };
    }
    const { access_key: accessKey } = checked(ITEMS[op], item as JsonValue, ITEM);
    return op === 'rotate' ? { op, accessKey, successor: newKey() } : { op, accessKey };
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const member = error.place === ITEM ? place : `${place}.${error.place}`;
    throw new DomainError('invalidBody', `${member}: expected ${error.expected}`);
  }
}

const keyOf = (asked: KeyChange, isDone: boolean): string => {
  if (asked.op === 'create') return asked.key.accessKey;
  return asked.op === 'rotate' && isDone ? asked.successor : asked.accessKey;
};

function itemOf(asked: KeyChange, index: number, outcome: ChangeOutcome | undefined): Encodable {
  const isDone = wasMade(outcome);
  const item = { index, ok: outcome === undefined ? null : isDone, access_key: keyOf(asked, isDone) };
  return outcome == null ? item : { ...item, error: failureText(outcome), code: wireCode(outcome.code) };
}

const timeOf = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString();

function headerOf(job: KeptJob, { done, failed }: JobCounts) {
  return {
    ...{ id: job.id, kind: 'keys', state: job.state, total: job.total },
    ...{ done, failed },
    ...{ started_at: timeOf(job.startedAt), ended_at: timeOf(job.endedAt) },
    ...(job.reason === undefined ? {} : { reason: job.reason }),
  };
}

/** Which items of a job are asked for: only those that failed or are not saved, after an index, or up to a number. */
interface AskedItems {
  readonly failedAlone?: boolean;
  readonly after?: number;
  readonly limit?: number;
}

function jobWithItems({ context: { jobs } }: OwnCall, job: KeptJob, asked: AskedItems = {}): Encodable {
  const { failedAlone = false, after = -1, limit = job.total } = asked;
  const outcomes = jobs.outcomesOf(job);
  const items = jobs
    .changesOf(job)
    .map((change, index) => [change, index, outcomes[index]] as const)
    .filter(([, index, outcome]) => index > after && (!failedAlone || outcome != null))
    .slice(0, limit);
  return { ...headerOf(job, job.counts ?? countsIn(outcomes)), items: items.map((each) => itemOf(...each)) };
}

function onceOf(call: OwnCall): { readonly key: string; readonly digest: string } | null {
  const key = idempotencyKeyOf(call);
  if (key === null) return null;
  return { key, digest: hash('sha256', bytesOf(call), 'hex') };
}

const bytesOf = ({ request: { body } }: OwnCall): Buffer => (body instanceof Buffer ? body : Buffer.alloc(0));

/** Tells whether the answer to a batch may have its items. Nobody is refused whose batch goes on. */
async function hasPlace(call: OwnCall): Promise<boolean> {
  if (bytesOf(call).length < LARGE) return true;
  return call.awaitPlace().then(
    () => true,
    () => false,
  );
}

async function batchKeys(call: OwnCall, { items }: { readonly items: readonly AnyItem[] }): Promise<OwnAnswer> {
  const { context, principal, root, query } = call;
  const { jobs, random } = context;
  const { id } = await jobs.begin({
    by: principal,
    changes: items.map((item, index) => changeOf(item, index, random)),
    delay: Number(query.delay ?? 0) * 1000,
    once: onceOf(call),
  });
  const wait = Number(query.wait ?? 0);
  if (wait > 0) await jobs.ended(id, wait * 1000);
  const job = jobs.find(principal, id);
  const payload = successEnvelope(jobWithItems(call, job, (await hasPlace(call)) ? {} : { limit: 0 }));
  return { status: job.endedAt === null ? 202 : 200, payload, headers: { location: `${root}/jobs/${id}` } };
}

export const JOB_HANDLERS = {
  batchKeys: withBody(batchKeys),
  listJobs: ({ context: { jobs }, principal, query: { after, limit = DEFAULT_LIMIT } }) => {
    const all = jobs.all(principal);
    const before = after === undefined ? -1 : all.findIndex(({ id }) => id === after);
    // The oldest are forgotten first, so nothing older than a forgotten one is left.
    const page = after !== undefined && before === -1 ? [] : all.slice(before + 1, before + 1 + Number(limit));
    return answer(page.map((job) => headerOf(job, jobs.countsOf(job))));
  },
  getJob: async (call) => {
    const { jobs } = call.context;
    const id = call.params.id ?? '';
    const { failed, wait = 0, after = -1, limit = DEFAULT_LIMIT } = call.query;
    jobs.find(call.principal, id);
    if (Number(wait) > 0) await jobs.ended(id, Number(wait) * 1000);
    await call.awaitPlace();
    const job = jobs.find(call.principal, id);
    return answer(jobWithItems(call, job, { failedAlone: failed === 1, after: Number(after), limit: Number(limit) }));
  },
  stopJob: async (call) => {
    const { context, principal, params } = call;
    await context.jobs.stop(principal, params.id ?? '');
    await call.awaitPlace();
    return answer(jobWithItems(call, context.jobs.find(principal, params.id ?? '')));
  },
} as const satisfies Readonly<Record<string, OwnHandler>>;
