import { SETTLED_AFTER } from '../../wire/traits/storing.js';

/**
 * The times of the latest facts about one key (design: "The replica never goes back"). All times are those of
 * `ClockPort.monotonic()`, ms.
 */
export interface KeyFact {
  /** The time of the latest fact: for a read when it was sent, for a write when it was answered. */
  readonly latest: number;
  /** Writes under way. */
  readonly open: number;
  /** The time until which a write that was never answered may still take effect. */
  readonly unansweredUntil: number;
}

/** Returns whether a list may change the key: one that was sent before a known fact shows an earlier state. */
export function listMayChange(fact: KeyFact | undefined, sentAt: number): boolean {
  if (fact === undefined) return true;
  return fact.open === 0 && sentAt > fact.latest && sentAt > fact.unansweredUntil;
}

/** Tells whether a single read may change the key; `listed` is the time of the last list, taken in or under way. */
export function readMayChange(fact: KeyFact | undefined, sentAt: number, listed: number): boolean {
  if (sentAt <= listed) return false;
  return fact === undefined || (fact.open === 0 && sentAt > fact.latest);
}

export type KeyFreshness = ReturnType<typeof createKeyFreshness>;

const NOTHING: KeyFact = { latest: Number.NEGATIVE_INFINITY, open: 0, unansweredUntil: Number.NEGATIVE_INFINITY };

/** Keeps the times of the latest facts about all keys. */
export function createKeyFreshness() {
  const freshness = new Map<string, KeyFact>();
  let taken = Number.NEGATIVE_INFINITY;
  let onItsWay = Number.NEGATIVE_INFINITY;

  function change(accessKey: string, by: (fact: KeyFact) => Partial<KeyFact>): void {
    const fact = freshness.get(accessKey) ?? NOTHING;
    freshness.set(accessKey, { ...fact, ...by(fact) });
  }

  return {
    listMayChange: (accessKey: string, sentAt: number): boolean => listMayChange(freshness.get(accessKey), sentAt),
    readMayChange: (accessKey: string, sentAt: number): boolean =>
      readMayChange(freshness.get(accessKey), sentAt, Math.max(taken, onItsWay)),
    /** Returns whether a later read or write of the key is known than one that was sent then. */
    knowsLater: (accessKey: string, sentAt: number): boolean =>
      sentAt <= (freshness.get(accessKey)?.latest ?? Number.NEGATIVE_INFINITY),
    /** Tells whether a write of the key is under way. */
    isWriting: (accessKey: string): boolean => (freshness.get(accessKey)?.open ?? 0) > 0,
    readTaken: (accessKey: string, sentAt: number): void => change(accessKey, () => ({ latest: sentAt })),
    writeBegins: (accessKey: string): void => change(accessKey, ({ open }) => ({ open: open + 1 })),
    /** `refused`: nothing has changed; `lost`: nobody knows. */
    writeEnds(accessKey: string, how: 'answered' | 'refused' | 'lost', at: number): void {
      change(accessKey, ({ open }) => ({
        open: open - 1,
        ...(how === 'answered' ? { latest: at } : {}),
        ...(how === 'lost' ? { unansweredUntil: at + SETTLED_AFTER } : {}),
      }));
    },
    /** Notes that a list is sent: earlier reads count as older than it. */
    listBegins(at: number): void {
      onItsWay = at;
    },
    listFailed(): void {
      onItsWay = Number.NEGATIVE_INFINITY;
    },
    /** Notes that a list was taken in, and forgets older facts. */
    listTaken(sentAt: number): void {
      taken = sentAt;
      onItsWay = Number.NEGATIVE_INFINITY;
      for (const [accessKey, fact] of freshness) if (listMayChange(fact, sentAt)) freshness.delete(accessKey);
    },
  };
}
