/** The most bytes that bodies of requests without an accepted credential hold together while they are received. */
export const BODY_BUDGET = 16 * 1024 * 1024;

/** The share of one body in the budget. */
export interface HeldBody {
  /** Reserves more bytes; another body, or this one, may have to give way. */
  take(bytes: number): void;
  /** Gives all of it back. */
  release(): void;
}

interface Holding {
  bytes: number;
  readonly drop: () => void;
}

/**
 * Makes a budget for bodies that anybody can send. When it is used up, the longest body gives way. A client that sends
 * many long bodies and never ends them takes the room from such bodies alone: to crowd out one as short as a login, all
 * the others would have to be as short, and there are not enough connections for that.
 */
export function createBodyBudget(most: number) {
  const held = new Set<Holding>();
  let total = 0;

  function release(holding: Holding): void {
    if (held.delete(holding)) total -= holding.bytes;
  }

  function longest(): Holding | undefined {
    let found: Holding | undefined;
    for (const holding of held) if (found === undefined || holding.bytes > found.bytes) found = holding;
    return found;
  }

  return {
    /** Opens a body that holds nothing yet. Its `drop` is called at most once, when it has to give way. */
    open(drop: () => void): HeldBody {
      const holding: Holding = { bytes: 0, drop };
      held.add(holding);
      return {
        take(bytes) {
          if (!held.has(holding)) return;
          holding.bytes += bytes;
          total += bytes;
          while (total > most) {
            const last = longest();
            if (last === undefined) return;
            release(last);
            last.drop();
          }
        },
        release: () => release(holding),
      };
    },
  };
}
