import { SETTLED_AFTER } from '../../wire/traits/storing.js';

/**
 * Of what is known of a key, when it was asked for (design: "The replica never goes back"). All times are those of
 * `ClockPort.monotonic()`, ms.
 */
export interface KeyFact {
  /** The moment that the latest fact bears: of a read when it was sent, of a write when it was answered. */
  readonly latest: number;
  /** Writes under way. */
  readonly open: number;
  /** Until when a write may still take effect that was never answered. */
  readonly unansweredUntil: number;
}

/** Whether a list may change the key: what was sent before something that is known already shows an earlier state. */
export function listMayChange(fact: KeyFact | undefined, sentAt: number): boolean {
  if (fact === undefined) return true;
  return fact.open === 0 && sentAt > fact.latest && sentAt > fact.unansweredUntil;
}

/** Whether a single read may change it, `listed` being the moment of the list that was taken in last, or is on its way. */
export function readMayChange(fact: KeyFact | undefined, sentAt: number, listed: number): boolean {
  if (sentAt <= listed) return false;
  return fact === undefined || (fact.open === 0 && sentAt > fact.latest);
}

/** What is known of the moments of all keys. */
export interface KeyFacts {
  listMayChange(accessKey: string, sentAt: number): boolean;
  readMayChange(accessKey: string, sentAt: number): boolean;
  readTaken(accessKey: string, sentAt: number): void;
  /** Whether a later read or write of the key is known than one that was sent then. */
  knowsLater(accessKey: string, sentAt: number): boolean;
  /** Since when it is known what the server has of the key; `-Infinity` for never. */
  knownAt(accessKey: string): number;
  writeBegins(accessKey: string): void;
  /** `refused`: nothing has changed; `lost`: nobody knows. */
  writeEnds(accessKey: string, how: 'answered' | 'refused' | 'lost', at: number): void;
  /** A list is asked for. Whatever is read before counts as older than it. */
  listBegins(at: number): void;
  listFailed(): void;
  /** A list has been taken in; what it was as new as needs no keeping. */
  listTaken(sentAt: number): void;
}

const NOTHING: KeyFact = {
  latest: Number.NEGATIVE_INFINITY,
  open: 0,
  unansweredUntil: Number.NEGATIVE_INFINITY,
};

export function createKeyFacts(): KeyFacts {
  const facts = new Map<string, KeyFact>();
  let taken = Number.NEGATIVE_INFINITY;
  let onItsWay = Number.NEGATIVE_INFINITY;

  function change(accessKey: string, by: (fact: KeyFact) => Partial<KeyFact>): void {
    const fact = facts.get(accessKey) ?? NOTHING;
    facts.set(accessKey, { ...fact, ...by(fact) });
  }

  return {
    listMayChange: (accessKey, sentAt) => listMayChange(facts.get(accessKey), sentAt),
    readMayChange: (accessKey, sentAt) => readMayChange(facts.get(accessKey), sentAt, Math.max(taken, onItsWay)),
    knowsLater: (accessKey, sentAt) => sentAt <= (facts.get(accessKey)?.latest ?? Number.NEGATIVE_INFINITY),
    readTaken: (accessKey, sentAt) => change(accessKey, () => ({ latest: sentAt })),
    knownAt: (accessKey) => {
      const fact = facts.get(accessKey);
      if (fact === undefined) return taken;
      return listMayChange(fact, taken) ? taken : fact.latest;
    },
    writeBegins: (accessKey) => change(accessKey, ({ open }) => ({ open: open + 1 })),
    writeEnds(accessKey, how, at) {
      change(accessKey, ({ open }) => ({
        open: open - 1,
        ...(how === 'answered' ? { latest: at } : {}),
        ...(how === 'lost' ? { unansweredUntil: at + SETTLED_AFTER } : {}),
      }));
    },
    listBegins(at) {
      onItsWay = at;
    },
    listFailed() {
      onItsWay = Number.NEGATIVE_INFINITY;
    },
    listTaken(sentAt) {
      taken = sentAt;
      onItsWay = Number.NEGATIVE_INFINITY;
      for (const [accessKey, fact] of facts) if (listMayChange(fact, sentAt)) facts.delete(accessKey);
    },
  };
}
