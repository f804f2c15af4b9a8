import type { MirrorOptions } from './mirror.js';
import type { Packed } from './packing.js';
import type { SecondServer } from './sides.js';
import type { ShadowReport } from './tally.js';

/** A server as it goes between threads: its line by its name, its certificates as mere bytes. */
type BetweenThreads<T> = Omit<T, 'revision' | 'ca'> & {
  readonly revision: string | null;
  readonly ca: Uint8Array | null;
};

export type SecondSettings = BetweenThreads<SecondServer>;

/** The worker's settings as they go between threads: no objects but plain ones. */
export interface WorkerSettings
  extends Pick<MirrorOptions, 'prepares' | 'expected' | 'timeoutMilliseconds' | 'followEvery'> {
  readonly target: BetweenThreads<MirrorOptions['target']>;
  readonly shadow: { readonly line: string } | SecondSettings;
  /** The folder for scenarios of differences, and the milliseconds that they may take at the end; null to keep none. */
  readonly save: { readonly folder: string; readonly milliseconds: number } | null;
  /** `YYYY-MM-DD`. */
  readonly date: string;
}

/** Exchanges, or a sentence, for the worker. */
export type ToWorker =
  | { readonly kind: 'passed'; readonly packed: Packed }
  /** Nothing comes of a write of this operation, which ended by a time of the machine's clock. */
  | { readonly kind: 'lost'; readonly operation: string; readonly at: number }
  | { readonly kind: 'note'; readonly sentence: string }
  | { readonly kind: 'end' };

/** A message from the worker. */
export type FromWorker =
  /** So many exchanges more wait no longer. */
  | { readonly kind: 'done'; readonly requests: number }
  /** The report, which counts the first so many of the exchanges. */
  | { readonly kind: 'report' | 'ended'; readonly report: ShadowReport; readonly taken: number }
  | { readonly kind: 'refused'; readonly why: string; readonly details: readonly string[] };
