import { hashEnd, hashStep } from './name-hash.js';
import type { NameSet } from './name-set.js';

/** What one list says: names that are blocked with all names below them, and exceptions with all below them. */
export interface ListNames {
  readonly blocked: NameSet;
  readonly excepted: NameSet;
}

/** All lists together, unchangeable: a refresh makes another one. */
export interface Blocklist {
  /** Whether a name (in lower case, without a dot at its end) is blocked. An exception of any list wins over all. */
  blocks(name: string): boolean;
}

const CODE_DOT = 0x2e;

/** Joins lists whose sets were built under this seed. */
export function createBlocklist(seed: number, lists: readonly ListNames[]): Blocklist {
  const blocked = lists.map((list) => list.blocked).filter((set) => set.size > 0);
  const excepted = lists.map((list) => list.excepted).filter((set) => set.size > 0);

  /** Asks the sets for the name and for every name above it, with one walk over its characters. */
  function inAny(sets: readonly NameSet[], name: string): boolean {
    let hash = seed;
    for (let start = name.length - 1; start >= 0; start--) {
      hash = hashStep(hash, name.charCodeAt(start));
      if (start > 0 && name.charCodeAt(start - 1) !== CODE_DOT) continue;
      const whole = hashEnd(hash);
      for (const set of sets) if (set.has(name, start, whole)) return true;
    }
    return false;
  }

  return {
    blocks: (name) => blocked.length > 0 && inAny(blocked, name) && !(excepted.length > 0 && inAny(excepted, name)),
  };
}

/** Blocks nothing. */
export const EMPTY_BLOCKLIST: Blocklist = { blocks: () => false };
