import { type Change, MOST_CHARACTERS, MOST_ITEMS } from '../api/jobs.js';
import { keptInTab } from '../store/kept.js';
import { encodeExact, parsed } from '../text/exact-json.js';
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
}

/** The most changes of a batch that are kept once the server has taken it: of a larger one its jobs alone are. */
export const MOST_KEPT = 10_000;

/** Returns true where the server does it all without the page. */
export function isTaken({ parts }: KeptBatch): boolean {
  return parts?.every(({ job }) => job !== null) === true;
}

/** Cuts changes into as many jobs as the server takes them in. */
export function partsOf(changes: readonly Change[]): readonly Part[] {
  const parts: { from: number; count: number; once: string; job: null }[] = [];
  let characters = 0;
  for (const [from, { item }] of changes.entries()) {
    const last = parts.at(-1);
    const own = encodeExact(item).length;
    characters += own;
    if (last !== undefined && last.count < MOST_ITEMS && characters < MOST_CHARACTERS) last.count += 1;
    else {
      characters = own;
      const once = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-');
      parts.push({ from, count: 1, once, job: null });
    }
  }
  return parts;
}

export function keepBatches(place: string, batches: readonly KeptBatch[]): void {
  const kept = batches.map((batch) =>
    batch.changes.length > MOST_KEPT && isTaken(batch) ? { ...batch, changes: [] } : batch,
  );
  keptInTab.write(place, kept.length === 0 ? null : encodeExact(kept));
}

export function readBatches(place: string): readonly KeptBatch[] {
  const kept = parsed(keptInTab.read(place));
  // Written by `keepBatches` alone, perhaps of an earlier build.
  return Array.isArray(kept) ? kept.filter((batch) => Array.isArray(batch?.changes)) : [];
}
