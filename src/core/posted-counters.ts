import type { UsageEntry } from './keys/types.js';

/** The counters of a tunnel server as they stand there at one moment (design: "Counters as they stand"). */
export interface CountersPost {
  /** Names the tunnel server. */
  readonly source: string;
  readonly run: SourceRun;
  /** Rises within a run, so that late and repeated posts are recognized. Unsigned 64-bit. */
  readonly number: bigint;
  /** True if the first post of a source counts from zero; otherwise it is the base of the next ones. */
  readonly isFromZero: boolean;
  /**
   * True where the source kept its counters over the start of this run, false where it began at zero; null where the
   * post does not say.
   */
  readonly restart: 'kept' | 'zero' | null;
  /** `total`: the source never lowers its connections, so that only movement tells who is online. */
  readonly connections: 'present' | 'total';
  /** True if a key that is missing in it has no connections there. */
  readonly isWhole: boolean;
  /** Each key once, with absolute values. */
  readonly counters: readonly UsageEntry[];
}

/** One run of a tunnel server: by a number that rises from run to run, or by its age. */
export type SourceRun =
  | { readonly kind: 'epoch'; readonly epoch: bigint }
  | { readonly kind: 'uptime'; readonly uptimeSeconds: bigint };

/** The outcome of a post. */
export type CountersOutcome =
  /**
   * `repeated`: it was taken before, or a later one was, and is not counted now. `baseline`: it is what the next are
   * compared with.
   */
  | { readonly kind: 'repeated' | 'counted' | 'baseline'; readonly unknownKeys: readonly string[] }
  /** A later run of the source has posted; nothing is counted. */
  | { readonly kind: 'ended' };
