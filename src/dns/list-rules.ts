/** Names of one kind of rules. */
export interface NameRules {
  /** Each by itself. */
  readonly exact: Set<string>;
  /** Each with all names below it. */
  readonly below: Set<string>;
  readonly wild: Wildcard[];
}

/** A pattern in which `*` stands for any characters, of whole names or of what follows a dot. */
export interface Wildcard {
  readonly pattern: string;
  readonly isExact: boolean;
}

/** The rules of one list. */
export interface ListRules {
  readonly blocked: NameRules;
  readonly excepted: NameRules;
  /** Blocked whatever is excepted. */
  readonly important: NameRules;
  /** Names of hosts lines that lead nowhere: blocked by themselves, and no exceptions in a list that allows. */
  readonly hosts: Set<string>;
  /** Names of hosts lines that lead somewhere. */
  readonly addresses: Map<string, readonly string[]>;
  /** Lines that say something of names, and those that say what is not understood. */
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

/** The number of names that a list blocks. */
export function countBlocked({ blocked, important, hosts }: ListRules): number {
  return sizeOf(blocked) + sizeOf(important) + hosts.size;
}

export function sizeOf({ exact, below, wild }: NameRules): number {
  return exact.size + below.size + wild.length;
}
