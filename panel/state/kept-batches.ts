import { type Change, MOST_CHARACTERS, MOST_ITEMS } from '../api/jobs.js';
import { newIdempotencyKey } from '../api/own-interface.js';
import { keptInTab } from '../store/kept.js';
import { encodeExact, parsed } from '../text/exact-json.js';
import { atOnce, type Steps } from '../text/steps.js';
import type { Verb } from './batch.js';

/** The changes that one job of the server makes, beginning at `from`. */
export interface Part {
  readonly from: number;
  readonly count: number;
  /** Its `Idempotency-Key`. */
  readonly once: string;
  /** Null until the server has taken it. */
  readonly job: string | null;
}

/** A batch as the tab keeps it over a reload. */
export interface KeptBatch {
  readonly verb: Verb;
  /** The title of its first key. */
  readonly name: string;
  /** The changes that may still have to be done. */
  readonly changes: readonly Change[];
  /** Milliseconds since the epoch. */
  readonly begunAt: number;
  /** Null where its changes are single calls of the page. */
  readonly parts: readonly Part[] | null;
  /** Somebody has stopped it, which the server may not know yet. */
  readonly isStopped?: true;
  /** It is over since then, in milliseconds since the epoch, and its limits can be given back. */
  readonly endedAt?: number;
  /** The name of the page that has kept it. */
  readonly page?: string;
}

/** The most changes of a batch that are kept once the server has taken it: of a larger one its jobs alone are. */
export const MOST_KEPT = 10_000;

/** Returns true where the server does it all without the page. */
export function isTaken({ parts }: KeptBatch): boolean {
  return parts?.every(({ job }) => job !== null) === true;
}

/** Returns the changes that the server has not taken. */
export function untakenOf({ changes, parts }: KeptBatch): readonly Change[] {
  return parts === null
    ? changes
    : parts.flatMap(({ from, count, job }) => (job === null ? changes.slice(from, from + count) : []));
}

/** Changes that are gone through in one step. */
const STEP = 1_000;

/** Cuts changes into as many jobs as the server takes them in. */
export function* partsOf(changes: readonly Change[]): Steps<readonly Part[]> {
  const parts: { from: number; count: number; once: string; job: null }[] = [];
  let characters = 0;
  for (const [from, { item }] of changes.entries()) {
    if (from % STEP === STEP - 1) yield;
    const last = parts.at(-1);
    const own = encodeExact(item).length;
    characters += own;
    if (last !== undefined && last.count < MOST_ITEMS && characters < MOST_CHARACTERS) last.count += 1;
    else {
      characters = own;
      parts.push({ from, count: 1, once: newIdempotencyKey(), job: null });
    }
  }
  return parts;
}

const texts = new WeakMap<readonly Change[], string>();

/** Encodes changes, once for all the times that they are kept. */
export function* encodeChanges(changes: readonly Change[]): Steps<string> {
  const pieces: string[] = [];
  for (let from = 0; from < changes.length; from += STEP) {
    pieces.push(encodeExact(changes.slice(from, from + STEP)).slice(1, -1));
    yield;
  }
  const text = `[${pieces.join(',')}]`;
  texts.set(changes, text);
  return text;
}

/** The name of this page among those of its tab, and of the tab's copies. */
const PAGE = String(performance.timeOrigin);

/** Returns false where the tab has no room for them. */
export function keepBatches(place: string, batches: readonly KeptBatch[]): boolean {
  const kept = batches.map((batch) => {
    const { changes, ...rest } = batch;
    const isLeftOut = changes.length > MOST_KEPT && isTaken(batch);
    const text = isLeftOut ? '[]' : (texts.get(changes) ?? atOnce(encodeChanges(changes)));
    return `{"changes":${text},${encodeExact({ ...rest, page: PAGE }).slice(1)}`;
  });
  return keptInTab.write(place, kept.length === 0 ? null : `[${kept.join(',')}]`);
}

export function readBatches(place: string): readonly KeptBatch[] {
  const kept = parsed(keptInTab.read(place));
  // Written by `keepBatches` alone, perhaps of an earlier build.
  return Array.isArray(kept) ? kept.filter((batch) => Array.isArray(batch?.changes)) : [];
}

/** Milliseconds that another page is given to answer. */
const PATIENCE = 150;

/** Answers copies of this tab. Resolves to true in such a copy: the page that has kept the batches goes on with them itself. */
export function isCopy(place: string, [batch]: readonly KeptBatch[]): Promise<boolean> {
  const channel = new BroadcastChannel(place);
  return new Promise((resolve) => {
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data === `${PAGE}?`) channel.postMessage(`${PAGE}!`);
      else if (data === `${batch?.page}!`) resolve(true);
    };
    if (batch === undefined) return resolve(false);
    channel.postMessage(`${batch.page}?`);
    setTimeout(() => resolve(false), PATIENCE);
  });
}
