/** Names of one kind of rules. */
export interface NameRules {
  /** Names that are meant alone. */
  readonly exact: Set<string>;
  /** Names that are meant with all names below them. */
  readonly below: Set<string>;
  readonly wild: Wildcard[];
}

/** A pattern with `*` for any characters, matching whole names or the part after a dot. */
export interface Wildcard {
  readonly pattern: string;
  readonly isExact: boolean;
}

/** The rules of one list. */
export interface ListRules {
  readonly blocked: NameRules;
  readonly excepted: NameRules;
  /** Blocked in spite of exceptions. */
  readonly important: NameRules;
  /** Names of hosts lines that lead nowhere: blocked alone, and not exceptions in an allowing list. */
  readonly hosts: Set<string>;
  /** Names of hosts lines that lead somewhere. */
  readonly addresses: Map<string, string[]>;
  /** The number of lines that are rules, and of those that are not understood. */
  rules: number;
  unsupported: number;
}

export function createListRules(): ListRules {
  const kind = (): NameRules => ({ exact: new Set(), below: new Set(), wild: [] });
  return {
    blocked: kind(),
    excepted: kind(),
    important: kind(),
    hosts: new Set(),
    addresses: new Map(),
    rules: 0,
    unsupported: 0,
  };
}

/** Returns the number of names that a list blocks. */
export function countBlocked({ blocked, important, hosts }: ListRules): number {
  return sizeOf(blocked) + sizeOf(important) + hosts.size;
}

export function sizeOf({ exact, below, wild }: NameRules): number {
  return exact.size + below.size + wild.length;
}
