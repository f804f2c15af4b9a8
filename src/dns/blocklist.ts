import type { ListRules, NameRules, Wildcard } from './list-rules.js';

/** A list with its name for users. */
export interface NamedList {
  readonly name: string;
  readonly rules: ListRules;
  /** True if all of its rules are exceptions. */
  readonly isAllowing: boolean;
}

/** The rule that decides about a name. */
export interface Verdict {
  readonly isBlocked: boolean;
  /** Such as `||ads.example^`, with a leading `@@` for an exception. */
  readonly rule: string;
  /** The name of the list that contains it. */
  readonly source: string;
}

/** All lists combined, immutable: a refresh makes a new one. */
export type Blocklist = ReturnType<typeof createBlocklist>;

/** Combines lists. */
export function createBlocklist(lists: readonly NamedList[]) {
  const blocking = lists.filter(({ isAllowing }) => !isAllowing);
  const important = together(blocking.map((list) => sourced(list, list.rules.important)));
  const blocked = together(
    blocking.flatMap((list) => [
      sourced(list, list.rules.blocked),
      sourced(list, { exact: list.rules.hosts, below: NO_NAMES, wild: [] }),
    ]),
  );
  const excepted = together(
    lists.flatMap((list) => {
      const { rules, isAllowing } = list;
      const kinds = isAllowing ? [rules.excepted, rules.blocked, rules.important] : [rules.excepted];
      return kinds.map((kind) => sourced(list, kind));
    }),
  );
  const addresses = lists.map(({ rules }) => rules.addresses).filter(({ size }) => size > 0);

  /** Returns the rule that decides about a name (in lower case, without a trailing dot); null if no rule does. */
  function verdict(name: string): Verdict | null {
    const wins = find(important, name);
    if (wins !== null) return { isBlocked: true, rule: `${wins.rule}$important`, source: wins.source };
    const exception = find(excepted, name);
    if (exception !== null) return { isBlocked: false, rule: `@@${exception.rule}`, source: exception.source };
    const hit = find(blocked, name);
    return hit && { isBlocked: true, ...hit };
  }

  return {
    verdict,
    blocks: (name: string): boolean => verdict(name)?.isBlocked ?? false,
    /** Returns the addresses that hosts lines give to a name. */
    addresses: (name: string): readonly string[] => addresses.flatMap((each) => each.get(name) ?? []),
  };
}

const NO_NAMES = new Set<string>();

interface Sourced extends NameRules {
  readonly source: string;
}

function sourced({ name }: NamedList, rules: NameRules): Sourced {
  return { ...rules, source: name };
}

interface Names {
  readonly names: ReadonlySet<string>;
  readonly source: string;
}

/** The rules of one kind, the last list first, because it names the source of a rule in several lists. */
interface Together {
  readonly exact: readonly Names[];
  readonly below: readonly Names[];
  readonly wild: ReturnType<typeof createWildcards>;
}

function together(lists: readonly Sourced[]): Together {
  const last = lists.toReversed();
  const named = (of: (list: Sourced) => ReadonlySet<string>) =>
    last.map((list) => ({ names: of(list), source: list.source })).filter(({ names }) => names.size > 0);
  return {
    exact: named(({ exact }) => exact),
    below: named(({ below }) => below),
    wild: createWildcards(lists),
  };
}

/** Returns the rule for exactly this name, else one for the nearest name above it, else the first pattern that fits. */
function find(
  { exact, below, wild }: Together,
  name: string,
): { readonly rule: string; readonly source: string } | null {
  for (const { names, source } of exact) if (names.has(name)) return { rule: `|${name}^`, source };
  if (below.length > 0) {
    for (const part of nameAndAbove(name)) {
      for (const { names, source } of below) if (names.has(part)) return { rule: `||${part}^`, source };
    }
  }
  return wild(name);
}

function* nameAndAbove(name: string): Generator<string> {
  yield name;
  yield* namesAbove(name);
}

function* namesAbove(name: string): Generator<string> {
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) yield name.slice(dot + 1);
}

/** Matches `*.` before a name: all names below that one. */
const BELOW_A_NAME = /^\*\.[^*]+$/;

/**
 * Returns a search for the first pattern that fits a name. Lists may have hundreds of thousands of patterns `*.name`:
 * those are found by their names, and only the others tried one by one.
 */
function createWildcards(lists: readonly Sourced[]) {
  const all = lists.flatMap(({ wild, source }) => wild.map((wildcard) => ({ wildcard, source })));
  const places = new Map<string, number>();
  const others: { readonly place: number; readonly matches: (name: string) => boolean }[] = [];
  for (const [place, { wildcard }] of all.entries()) {
    const name = wildcard.pattern.slice(2);
    if (!BELOW_A_NAME.test(wildcard.pattern)) others.push({ place, matches: matcher(wildcard) });
    else if (!places.has(name)) places.set(name, place);
  }
  return (name: string): { readonly rule: string; readonly source: string } | null => {
    let first = all.length;
    for (const above of namesAbove(name)) first = Math.min(first, places.get(above) ?? first);
    const other = others.find(({ matches }) => matches(name));
    const found = all[Math.min(first, other?.place ?? first)];
    if (found === undefined) return null;
    const { wildcard, source } = found;
    return { rule: `${wildcard.isExact ? '|' : '||'}${wildcard.pattern}^`, source };
  };
}

function matcher({ pattern, isExact }: Wildcard): (name: string) => boolean {
  const parts = pattern.split('*');
  const [first = ''] = parts;
  const last = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1);
  const matches = (text: string): boolean => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of middle) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
  if (isExact) return matches;
  return (name) => {
    for (const part of nameAndAbove(name)) if (matches(part)) return true;
    return false;
  };
}

/** Blocks nothing. */
export const EMPTY_BLOCKLIST: Blocklist = createBlocklist([]);
