/** What a key is to a client: null where there is none. */
export type Seen = { readonly name: string | null; readonly limit: number | null } | null;

/** What may be found of keys, by what was asked of their server and what it answered. */
export interface ExpectedKeys {
  /** Something is asked for; to be told of before it is sent. Every state that it can lead to is possible from now on. */
  asks(key: string, change: Change): { answered(): void; refused(): void };
  /** Keys of which something was asked. */
  readonly keys: readonly string[];
  /** What is known to have been asked, `present` when it is there. */
  mayBe(key: string, seen: Seen): boolean;
  describe(key: string): string;
}

/** What a write makes of what stood there before. */
export type Change = (before: Seen) => Seen;

interface Expectation {
  /** Each as it may stand there now. */
  possible: readonly Seen[];
}

/**
 * One write is asked for a key at a time. What was answered has happened, what was refused by the server has not; what got no
 * answer may or may not have, then and still later.
 */
export function createExpectedKeys(): ExpectedKeys {
  const expected = new Map<string, Expectation>();
  const of = (key: string): Expectation => {
    const known = expected.get(key) ?? { possible: [null] };
    expected.set(key, known);
    return known;
  };
  return {
    asks(key, change) {
      const known = of(key);
      const before = known.possible;
      const after = distinct(before.map(change));
      known.possible = distinct([...before, ...after]);
      return {
        answered() {
          known.possible = after;
        },
        refused() {
          known.possible = before;
        },
      };
    },
    get keys() {
      return [...expected.keys()];
    },
    mayBe: (key, seen) => of(key).possible.some((each) => same(each, seen)),
    describe: (key) => JSON.stringify(of(key).possible),
  };
}

function distinct(states: readonly Seen[]): readonly Seen[] {
  return states.filter((state, i) => states.findIndex((other) => same(other, state)) === i);
}

function same(a: Seen, b: Seen): boolean {
  return a === null || b === null ? a === b : a.name === b.name && a.limit === b.limit;
}
