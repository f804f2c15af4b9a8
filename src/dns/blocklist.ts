import { hashEnd, hashStep } from './name-hash.js';
import type { NameSet } from './name-set.js';

/** The rules of one list: names that are blocked with all names below them, and exceptions with all below them. */
export interface ListNames {
  readonly blocked: NameSet;
  readonly excepted: NameSet;
  /** Lines that say something else than names. */
  readonly unsupported: number;
}

/** A list with the name by which people know it. */
export interface NamedList {
  readonly name: string;
  readonly names: ListNames;
  /** All of its names are exceptions. */
  readonly isAllowing: boolean;
}

/** The rule that decides about a name. */
export interface Verdict {
  readonly isBlocked: boolean;
  /** Such as `||ads.example^`, or with `@@` before it. */
  readonly rule: string;
  /** The list in which it stands. */
  readonly source: string;
}

/** All lists together, unchangeable: a refresh makes another one. */
export type Blocklist = ReturnType<typeof createBlocklist>;

const CODE_DOT = 0x2e;

/** Joins lists whose sets were built under this seed. */
export function createBlocklist(seed: number, lists: readonly NamedList[]) {
  const blocking = lists.filter(({ isAllowing }) => !isAllowing).map((list) => sourced(list, list.names.blocked));
  const excepting = lists.flatMap((list) => [
    sourced(list, list.names.excepted),
    ...(list.isAllowing ? [sourced(list, list.names.blocked)] : []),
  ]);
  const blocked = together(blocking);
  const excepted = together(excepting);

  /** Asks the sets for the name and for every name above it, with one walk over its characters. */
  function find({ sets, leastDots }: Sets, name: string): { readonly source: string; readonly start: number } | null {
    let hash = seed;
    let dots = 0;
    for (let start = name.length - 1; start >= 0; start--) {
      const character = name.charCodeAt(start);
      if (character === CODE_DOT) dots += 1;
      hash = hashStep(hash, character);
      if ((start > 0 && name.charCodeAt(start - 1) !== CODE_DOT) || dots < leastDots) continue;
      const whole = hashEnd(hash);
      for (const { set, source } of sets) if (set.has(name, start, whole)) return { source, start };
    }
    return null;
  }

  function verdict(name: string): Verdict | null {
    const hit = blocked.sets.length === 0 ? null : find(blocked, name);
    if (hit === null) return null;
    const exception = find(excepted, name);
    const { source, start } = exception ?? hit;
    const isBlocked = exception === null;
    return { isBlocked, rule: `${isBlocked ? '' : '@@'}||${name.slice(start)}^`, source };
  }

  return {
    /** Tells which rule decides about a name (in lower case, without a dot at its end); null where none does. An exception of any list wins over all. */
    verdict,
    blocks: (name: string): boolean => verdict(name)?.isBlocked ?? false,
  };
}

interface Sourced {
  readonly set: NameSet;
  readonly source: string;
}

interface Sets {
  readonly sets: readonly Sourced[];
  readonly leastDots: number;
}

function sourced({ name }: NamedList, set: NameSet): Sourced {
  return { set, source: name };
}

function together(all: readonly Sourced[]): Sets {
  const sets = all.filter(({ set }) => set.size > 0);
  return { sets, leastDots: Math.min(...sets.map(({ set }) => set.leastDots)) };
}

/** Blocks nothing. */
export const EMPTY_BLOCKLIST: Blocklist = createBlocklist(0, []);
