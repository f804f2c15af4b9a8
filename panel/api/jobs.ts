import type { Whole } from '../../src/text/whole.js';
import { encodeExact, isWhole } from '../text/exact-json.js';
import { ApiFailure } from './failure.js';
import type { OwnInterface } from './own-interface.js';
import { type Fields, fieldsOf, itemsOf } from './wire.js';

/** One change of a batch. A member left out stays as it is. */
export type KeyItem =
  | {
      readonly op: 'create';
      readonly access_key?: string;
      readonly name?: string;
      readonly limit_bytes?: Whole;
      readonly note?: string;
    }
  | {
      readonly op: 'update';
      readonly access_key: string;
      readonly name?: string | null;
      readonly limit_bytes?: Whole | null;
      readonly note?: string | null;
    }
  | { readonly op: 'delete' | 'reset'; readonly access_key: string };

/** A change that is asked for, what takes it back, and the line of the table that it stands in. */
export interface Change {
  readonly item: KeyItem;
  readonly back?: KeyItem;
  readonly line?: number;
}

/** The key that a change is about; empty of a new one that is to be generated. */
export function keyOf(item: KeyItem | undefined): string {
  return item?.access_key ?? '';
}

/** A change and what became of it. */
export interface Outcome {
  readonly index: number;
  /** The key; of a new one the one that was made, empty where none was. */
  readonly key: string;
  /** Null where it was not reached. */
  readonly ok: boolean | null;
  /** Why it failed, or is in memory alone; else null. */
  readonly error: unknown;
}

/** A batch of changes on the server, which goes on without the page. */
export interface Job {
  readonly id: string;
  readonly state: 'waiting' | 'running' | 'done' | 'stopped';
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  /** Empty in a list of jobs. */
  readonly items: readonly Outcome[];
}

/** The most items of one batch, and characters of them that surely fit into its body. */
export const MOST_ITEMS = 10_000;
export const MOST_CHARACTERS = 2_000_000;

/** Characters of a request that goes on after the page is left: a browser takes 64 KiB of all such together. */
const MOST_KEPT_ALIVE = 15_000;

export function isOver({ state }: Pick<Job, 'state'>): boolean {
  return state === 'done' || state === 'stopped';
}

/** The calls about jobs. Each rejects with `ApiFailure`. */
export function jobCalls({ ask }: OwnInterface) {
  return {
    /** Sent again under the same `once`, it is the same job. `delay` is in seconds. */
    begin: async (items: readonly KeyItem[], delay: number, once: string) => {
      const text = encodeExact({ items });
      const headers = { 'Idempotency-Key': once };
      const keepalive = text.length < MOST_KEPT_ALIVE;
      return readJob(await ask({ method: 'POST', path: `/keys/batch?delay=${delay}`, text, headers, keepalive }));
    },
    /** Answers at its end, or after a second; the outcomes of the items only with `whole`. */
    follow: async (id: string, whole = false) =>
      readJob(await ask({ path: `/jobs/${id}?${whole ? `limit=${MOST_ITEMS}` : 'wait=1&failed=1&limit=1'}` })),
    stop: async (id: string) => readJob(await ask({ method: 'DELETE', path: `/jobs/${id}` })),
    /** The newest first. */
    all: async () => {
      const list = await ask({ path: '/jobs?limit=200' });
      return Array.isArray(list) ? list.map(readJob) : [];
    },
  };
}

const STATES: readonly Job['state'][] = ['waiting', 'running', 'done', 'stopped'];

function readJob(value: unknown): Job {
  const { members, oneOf } = fieldsOf(value);
  const number = (name: string) => (isWhole(members[name]) ? Number(members[name]) : 0);
  const items = itemsOf(members.items ?? [], readOutcome, 'data.items');
  const counts = { total: number('total'), done: number('done'), failed: number('failed') };
  return { id: String(members.id), state: oneOf('state', STATES), ...counts, items };
}

function readOutcome({ members: { index, access_key, ok: known, error: said, code } }: Fields): Outcome {
  const ok = typeof known === 'boolean' ? known : null;
  const kind = code === 'saved_in_memory' ? 'inMemory' : 'refused';
  const error = said === undefined ? null : new ApiFailure(kind, String(said));
  return { index: Number(index), key: String(access_key ?? ''), ok, error };
}
