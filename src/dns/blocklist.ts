/** The rules of one list: names that are blocked with all names below them, and exceptions with all below them. */
export interface ListNames {
  readonly blocked: ReadonlySet<string>;
  readonly excepted: ReadonlySet<string>;
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

/** Joins lists. */
export function createBlocklist(lists: readonly NamedList[]) {
  const blocking = lists.filter(({ isAllowing }) => !isAllowing).map(({ name, names }) => sourced(name, names.blocked));
  const excepting = lists.flatMap(({ name, names, isAllowing }) => [
    sourced(name, names.excepted),
    ...(isAllowing ? [sourced(name, names.blocked)] : []),
  ]);

  function verdict(name: string): Verdict | null {
    const hit = find(blocking, name);
    if (hit === null) return null;
    const exception = find(excepting, name);
    const { source, listed } = exception ?? hit;
    const isBlocked = exception === null;
    return { isBlocked, rule: `${isBlocked ? '' : '@@'}||${listed}^`, source };
  }

  return {
    /** Tells which rule decides about a name (in lower case, without a dot at its end); null where none does. An exception of any list wins over all. */
    verdict,
    blocks: (name: string): boolean => verdict(name)?.isBlocked ?? false,
  };
}

interface Sourced {
  readonly names: ReadonlySet<string>;
  readonly source: string;
}

function sourced(source: string, names: ReadonlySet<string>): Sourced {
  return { source, names };
}

/** Looks for the names above a name, the highest first, and for the name itself. */
function find(lists: readonly Sourced[], name: string): { readonly source: string; readonly listed: string } | null {
  let dot = name.length;
  do {
    dot = dot === 0 ? -1 : name.lastIndexOf('.', dot - 1);
    const listed = name.slice(dot + 1);
    for (const { names, source } of lists) if (names.has(listed)) return { source, listed };
  } while (dot >= 0);
  return null;
}

/** Blocks nothing. */
export const EMPTY_BLOCKLIST: Blocklist = createBlocklist([]);
