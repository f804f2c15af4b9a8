import { hash } from 'node:crypto';
import type { ChangeOutcome, KeyChange } from '../core/backend.js';
import { outcomesIn, wasMade } from '../core/batch-outcomes.js';
import { DomainError, type DomainErrorCode } from '../core/errors.js';
import type { KeptRecords } from '../core/kept-records.js';
import type { KeyFieldValues } from '../core/keys/key-fields.js';
import { leftAsItIs } from '../core/keys/key-makers.js';
import { recordOf } from '../core/keys/key-record.js';
import type { Principal } from '../core/principal.js';
import { parseJson } from '../wire/json/json.js';
import { encodeJson } from '../wire/json/write-json.js';

/** A job without its items, as it is kept. Times are milliseconds since the epoch. */
export interface KeptJob {
  readonly id: string;
  /** The name of the credential that began it, and its presets at that time. */
  readonly owner: string;
  readonly may: Principal['may'];
  /** The named token that began it, as its principal has it. */
  readonly token?: string;
  readonly state: JobState;
  readonly total: number;
  /** Items that are kept and looked at together. */
  readonly chunk: number;
  readonly createdAt: number;
  readonly notBefore: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** The counts of its items once it has ended; null until then, when its outcomes are counted. */
  readonly counts: JobCounts | null;
  /** The record of its `Idempotency-Key`; null where it came without one. */
  readonly once: string | null;
  /** Somebody has asked for its end. */
  readonly stops: boolean;
  /** Why it was stopped, where nobody has asked for it. */
  readonly reason?: string;
  /** The process that ran it has ended between two items, so that no change is in doubt. */
  readonly isPaused: boolean;
  /** Its end stands in the audit list. */
  readonly isTold: boolean;
}

/** Items of a job that were done, and that were not. */
export interface JobCounts {
  readonly done: number;
  readonly failed: number;
}

export type JobState = 'waiting' | 'running' | 'done' | 'stopped';

/** The job under an `Idempotency-Key`, and the digest of the body that began it. */
export interface Once {
  readonly job: string;
  readonly digest: string;
  /** The end of a job that is not kept any more, or of a rotation; absent while the job is kept. */
  readonly endedAt?: number;
  /** The name of the credential; absent until the end, and where an older Keyway wrote it. */
  readonly owner?: string;
}

const JOB = 'job/';
const ONCE = 'once/';

export const jobRecord = (id: string): string => JOB + id;
export const itemsRecord = (id: string): string => `items/${id}`;
export const outcomesRecord = (id: string, chunk: number): string => `out/${id}/${chunk}`;
/** The record that a home leaves of changes that it must not make twice. */
export const noteRecord = (id: string, chunk: number): string => `note/${id}/${chunk}`;
/** The record of what the credential was allowed to change in a chunk when that was first checked. */
export const allowedRecord = (id: string, chunk: number): string => `barred/${id}/${chunk}`;
/** The record of which deletions of a chunk do nothing. */
export const vainRecord = (id: string, chunk: number): string => `vain/${id}/${chunk}`;
export const isOnce = (id: string): boolean => id.startsWith(ONCE);
export const onceRecord = (owner: string, key: string): string => ONCE + hash('sha256', `${owner}\0${key}`, 'hex');

/** Reads the job of a record; null without one. */
export function jobIn(records: KeptRecords, id: string): KeptJob | null {
  const body = records.of('jobs').get(jobRecord(id));
  return body === undefined ? null : JSON.parse(body);
}

export function onceIn(records: KeptRecords, id: string): Once | null {
  const body = records.of('jobs').get(id);
  return body === undefined ? null : JSON.parse(body);
}

/** All jobs, the oldest first. */
export function allJobs(records: KeptRecords): readonly KeptJob[] {
  const bodies = [...records.of('jobs')].flatMap(([id, body]) => (id.startsWith(JOB) ? [body] : []));
  const jobs: KeptJob[] = bodies.map((body) => JSON.parse(body));
  return jobs.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** The outcomes of a job so far, in the order of its items. */
export function outcomesOf(records: KeptRecords, { id, total, chunk }: KeptJob): readonly ChangeOutcome[] {
  const all: ChangeOutcome[] = [];
  for (let at = 0; at * chunk < total && all.length === Math.min(at * chunk, total); at += 1)
    all.push(...chunkOutcomes(records, id, at));
  return all;
}

export function countsIn(outcomes: readonly ChangeOutcome[]): JobCounts {
  const failed = outcomes.filter((outcome) => !wasMade(outcome)).length;
  return { done: outcomes.length - failed, failed };
}

export function chunkOutcomes(records: KeptRecords, id: string, chunk: number): readonly ChangeOutcome[] {
  const body = records.of('jobs').get(outcomesRecord(id, chunk));
  return body === undefined ? [] : outcomesIn(body);
}

/** The records of one job: their ids, and the characters of them all. */
interface JobRecords {
  readonly ids: string[];
  characters: number;
}

/** The records of each job by its id, besides those of an `Idempotency-Key`. */
export function recordsByJob(records: KeptRecords): ReadonlyMap<string, JobRecords> {
  const jobs = new Map<string, JobRecords>();
  for (const [id, body] of records.of('jobs')) {
    const [, job] = id.split('/');
    if (job === undefined || isOnce(id)) continue;
    const own = jobs.get(job) ?? { ids: [], characters: 0 };
    own.ids.push(id);
    own.characters += body.length;
    jobs.set(job, own);
  }
  return jobs;
}

/** A change that a batch asks for, with the note that a create or an update gives its key; without one that stays. */
export type JobItem = KeyChange & Noted;

type Noted = { readonly note?: string | null };

/** Picks the note that is given. */
export const noteOf = ({ note }: { readonly note?: string | null | undefined }): Noted =>
  note === undefined ? {} : { note };

/** The items of a job as text: each a list of its operation, key, what is given and the key in its place. */
export function itemsText(changes: readonly JobItem[]): string {
  return encodeJson(
    changes.map((asked) => {
      if (asked.op === 'create') return [asked.op, asked.key.accessKey, { ...asked.key, ...noteOf(asked) }];
      if (asked.op === 'update') return [asked.op, asked.accessKey, { ...asked.update, ...noteOf(asked) }];
      return asked.op === 'rotate' ? [asked.op, asked.accessKey, asked.successor] : [asked.op, asked.accessKey];
    }),
  );
}

type KeptItem = readonly [op: KeyChange['op'], accessKey: string, given?: string | (Partial<KeyFieldValues> & Noted)];

/** Reads what `itemsText` wrote; nobody else writes it. */
export function itemsIn(text: string): readonly JobItem[] {
  const items = parseJson(Buffer.from(text)) as unknown as readonly KeptItem[];
  return items.map(([op, accessKey, given]): JobItem => {
    const { note, ...fields } = typeof given === 'object' ? given : {};
    if (op === 'create') return { op, key: recordOf(accessKey, fields), ...noteOf({ note }) };
    if (op === 'update') return { op, accessKey, update: fields, ...noteOf({ note }) };
    return op === 'rotate' ? { op, accessKey, successor: typeof given === 'string' ? given : '' } : { op, accessKey };
  });
}

/**
 * The verdict over a change for a credential: the change itself, or one that leaves the key as it is; otherwise the
 * refusal.
 */
export type Allowed = KeyChange | DomainError;

/**
 * Writes what a credential is allowed as text: 0 for the change itself, 1 for no change, otherwise the error and its
 * detail.
 */
export function allowedText(allowed: readonly Allowed[], changes: readonly KeyChange[]): string {
  return JSON.stringify(
    allowed.map((each, index) => {
      if (each instanceof DomainError) return [each.code, each.detail];
      return each === changes[index] ? 0 : 1;
    }),
  );
}

/** Reads what `allowedText` wrote; nobody else writes it. */
export function allowedIn(text: string, changes: readonly KeyChange[]): readonly Allowed[] {
  const kept: readonly (0 | 1 | [DomainErrorCode, string])[] = JSON.parse(text);
  return changes.map((asked, index) => {
    const each = kept[index] ?? 0;
    if (each === 0) return asked;
    return each === 1 ? leftAsItIs(keyOf(asked)) : new DomainError(...each);
  });
}

/** The key that a change is of. */
export const keyOf = (asked: KeyChange): string => (asked.op === 'create' ? asked.key.accessKey : asked.accessKey);
