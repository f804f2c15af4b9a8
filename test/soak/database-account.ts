/** What a key may be: absent, or a name and a limit. Several after a change of which nobody knows whether it happened. */
export type State = `${string}/${number}` | 'absent';

/** What became of a request. A 400 is a promise that nothing has happened; a 504, and no answer at all, are none. */
export type Outcome = 'done' | 'nothing' | 'unknown';

/** What the gateways show. */
export interface Told {
  readonly users: readonly WireUser[];
  readonly rules: readonly unknown[];
  readonly configuration: Readonly<Record<string, unknown>>;
}

export interface WireUser {
  readonly access_key: string;
  readonly name?: string | null;
  readonly limit_bytes: number | null;
  readonly bytes_up: number;
}

/** What was acknowledged, and what may have happened besides. */
export interface Account {
  /** What the key may be now. */
  states(accessKey: string): ReadonlySet<State>;
  /** What a change would make of a key. */
  key(accessKey: string, next: State, outcome: Outcome): void;
  /** Somebody was told that there is no such key. */
  missing(accessKey: string): void;
  /** A bulk of so many keys, all with this limit and no other key with it; empty where its keys were not told. */
  bulk(limit: number, count: number, keys: readonly string[], outcome: Outcome): void;
  counted(accessKeys: readonly string[]): void;
  rules(suffix: string, outcome: Outcome): void;
  note(note: string, outcome: Outcome): void;
  /** Something was otherwise than it had to be. */
  wrong(words: string): void;
  /** What is otherwise than it was acknowledged, in words. */
  faults(told: Told): readonly string[];
  /** Starts anew from what there is: what was acknowledged before counts no more. */
  restart(told: Told): void;
}

/** Keys that are there from the beginning to the end. */
export const COUNTED = 'counted-';

export function createAccount(): Account {
  const states = new Map<string, ReadonlySet<State>>();
  /** Bulks that may have been made, by their limit. */
  const bulks = new Map<number, number>();
  const counted = new Map<string, number>();
  let rules: ReadonlySet<string> = new Set(['']);
  let notes: ReadonlySet<string> = new Set(['']);
  const wrong: string[] = [];

  const after = <T>(before: ReadonlySet<T>, next: T, outcome: Outcome): ReadonlySet<T> =>
    outcome === 'done' ? new Set([next]) : outcome === 'unknown' ? new Set([...before, next]) : before;
  const statesOf = (accessKey: string) => states.get(accessKey) ?? new Set<State>(['absent']);

  function expectOne<T>(what: string, is: T, possible: ReadonlySet<T>): void {
    if (!possible.has(is)) wrong.push(`${what} is ${is} instead of ${[...possible].join(' or ')}`);
  }

  /** Of keys that nobody was told of each bulk has all or none. */
  function expectBulks(users: readonly WireUser[]): void {
    const strangers = users.filter(({ access_key: key }) => !states.has(key) && !key.startsWith(COUNTED));
    for (const limit of new Set(strangers.map(({ limit_bytes }) => Number(limit_bytes)))) {
      const { length } = strangers.filter(({ limit_bytes }) => Number(limit_bytes) === limit);
      if (length !== bulks.get(limit)) wrong.push(`${length} keys with the limit ${limit} are there that nobody made`);
    }
  }

  return {
    states: statesOf,
    key(accessKey, next, outcome) {
      states.set(accessKey, after(statesOf(accessKey), next, outcome));
    },
    missing(accessKey) {
      const before = statesOf(accessKey);
      if (!before.has('absent')) wrong.push(`${accessKey} was ${[...before].join(' or ')} and was not found`);
      states.set(accessKey, new Set(['absent']));
    },
    bulk(limit, count, keys, outcome) {
      if (outcome === 'unknown') bulks.set(limit, count);
      for (const key of keys) states.set(key, new Set<State>([`/${limit}`]));
    },
    counted(accessKeys) {
      for (const key of accessKeys) counted.set(key, (counted.get(key) ?? 0) + 1);
    },
    rules(suffix, outcome) {
      rules = after(rules, suffix, outcome);
    },
    note(note, outcome) {
      notes = after(notes, note, outcome);
    },
    wrong: (words) => wrong.push(words),
    faults({ users, rules: shown, configuration }) {
      const found = new Map(users.map((user) => [user.access_key, user]));
      for (const [key, possible] of states) expectOne(key, stateOf(found.get(key)), possible);
      for (const [key, count] of counted) expectOne(`what ${key} counts`, found.get(key)?.bytes_up, new Set([count]));
      expectBulks(users);
      expectOne('the rule', suffixOf(shown), rules);
      expectOne('the note in the configuration', noteOf(configuration), notes);
      return wrong.splice(0);
    },
    restart({ users, rules: shown, configuration }) {
      states.clear();
      counted.clear();
      bulks.clear();
      for (const user of users) {
        if (user.access_key.startsWith(COUNTED)) counted.set(user.access_key, user.bytes_up);
        else states.set(user.access_key, new Set([stateOf(user)]));
      }
      rules = new Set([suffixOf(shown)]);
      notes = new Set([noteOf(configuration)]);
    },
  };
}

/** Of a key in a list, or in a configuration. */
export function stateOf(user: (Pick<WireUser, 'name'> & { readonly limit_bytes?: number | null }) | undefined): State {
  return user === undefined ? 'absent' : `${user.name ?? ''}/${Number(user.limit_bytes ?? 0)}`;
}

function suffixOf(rules: readonly unknown[]): string {
  const [rule] = rules as readonly { readonly domain_suffix: readonly string[] }[];
  return rule?.domain_suffix[0] ?? '';
}

function noteOf({ note }: Told['configuration']): string {
  return typeof note === 'string' ? note : '';
}
