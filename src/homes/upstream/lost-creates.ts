import type { UpstreamContext } from './context.js';
import type { PendingWrite } from './unconfirmed-writes.js';

export type LostCreates = ReturnType<typeof createLostCreates>;

/** Losses were measured where a write took 27 ms, and none where it took 2.4 (protocol: "What servers store"). Milliseconds. */
const SLOW = 20;
/** The number of last writes that tell it. */
const LOOKED_AT = 10;

/** Tells creates that a server lost from keys that somebody has deleted there (design: "When a write is settled"). */
export function createLostCreates({ server, clock }: UpstreamContext) {
  let durations: readonly number[] = [];
  /** Monotonic, ms: when the server was seen away last, and when it started at the latest. */
  let awayAt = Number.NEGATIVE_INFINITY;
  let startedAt = Number.NEGATIVE_INFINITY;

  server.onChange(() => {
    if (server.troubles().some(({ kind }) => kind === 'away')) awayAt = clock.monotonic();
  });

  /** Returns whether the server is slow by its last writes: such ones lose writes while they run. */
  const isSlow = (): boolean => median(durations) > SLOW;

  return {
    /** Takes in how long the server took for a write of keys, ms. */
    took(milliseconds: number): void {
      durations = [...durations, milliseconds].slice(-LOOKED_AT);
    },
    isSlow,
    /**
     * Resolves to whether the server may have lost the write: one that was confirmed, only by a start since it was seen last.
     * Rejects where it cannot be asked since when it runs.
     */
    async mayBe({
      answeredAt,
      seenAt,
      isUnsafe,
      isOld,
    }: Pick<PendingWrite, 'answeredAt' | 'seenAt' | 'isUnsafe' | 'isOld'>): Promise<boolean> {
      const since = seenAt ?? answeredAt;
      const isMeanwhile = () => awayAt > since || startedAt > since;
      const isLossy = seenAt === undefined && !isOld && (isUnsafe || isSlow());
      if (isLossy || isMeanwhile()) return true;
      const { value } = await server.status('caller');
      // Uptimes are whole seconds: it did not start later than that.
      startedAt = clock.monotonic() - Number(value.uptimeSeconds) * 1000;
      return isMeanwhile();
    },
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
