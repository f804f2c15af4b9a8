import { hashEnd, hashStep } from './name-hash.js';
import type { NameSet } from './name-set.js';

/** The rules of one list: names that are blocked with all names below them, and exceptions with all below them. */
export interface ListNames {
  readonly blocked: NameSet;
  readonly excepted: NameSet;
}

/** All lists together, unchangeable: a refresh makes another one. */
export type Blocklist = ReturnType<typeof createBlocklist>;

const CODE_DOT = 0x2e;

/** Joins lists whose sets were built under this seed. */
export function createBlocklist(seed: number, lists: readonly ListNames[]) {
  const blocked = together(lists.map((list) => list.blocked));
  const excepted = together(lists.map((list) => list.excepted));

  /** Asks the sets for the name and for every name above it, with one walk over its characters. */
  function inAny({ sets, leastDots }: Sets, name: string): boolean {
    let hash = seed;
    let dots = 0;
    for (let start = name.length - 1; start >= 0; start--) {
      const character = name.charCodeAt(start);
      if (character === CODE_DOT) dots += 1;
      hash = hashStep(hash, character);
      if ((start > 0 && name.charCodeAt(start - 1) !== CODE_DOT) || dots < leastDots) continue;
      const whole = hashEnd(hash);
      for (const set of sets) if (set.has(name, start, whole)) return true;
    }
    return false;
  }

  return {
    /** Tells whether a name (in lower case, without a dot at its end) is blocked. An exception of any list wins over all. */
    blocks: (name: string): boolean => blocked.sets.length > 0 && inAny(blocked, name) && !inAny(excepted, name),
  };
}

interface Sets {
  readonly sets: readonly NameSet[];
  readonly leastDots: number;
}

function together(all: readonly NameSet[]): Sets {
  const sets = all.filter((set) => set.size > 0);
  return { sets, leastDots: Math.min(...sets.map((set) => set.leastDots)) };
}

/** Blocks nothing. */
export const EMPTY_BLOCKLIST: Blocklist = { blocks: () => false };
