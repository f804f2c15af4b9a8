import { isJsonObject, type JsonValue, parseJson } from '../../src/wire/json/json.js';

/** What a key must be, by what was acknowledged. */
export interface ExpectedKey {
  readonly name: string | null;
  readonly limit: bigint | null;
  readonly bytesUp: bigint;
}

/** Everything that the server has acknowledged of keys. */
export interface Ledger {
  get(key: string): ExpectedKey | undefined;
  set(key: string, expected: ExpectedKey): void;
  delete(key: string): void;
  /** Until the next `set` or `delete` the key may as well be so (null: absent): nobody knows what became of a change. */
  perhaps(key: string, expected: ExpectedKey | null): void;
  /** One sentence for each key that is not as acknowledged: in the answer of `GET /users`, and in the file's bytes. */
  differences(list: Buffer, file: Buffer): readonly string[];
}

export function createLedger(): Ledger {
  const keys = new Map<string, ExpectedKey>();
  const unsure = new Map<string, readonly (ExpectedKey | null)[]>();

  /** Of each key all that it may be, in words. */
  function allowed(counters: boolean): ReadonlyMap<string, readonly string[]> {
    const words = (state: ExpectedKey | null) => (state === null ? ABSENT : describe(state, counters));
    const sure = [...keys].map(([key, state]) => [key, [words(state)]] as const);
    const others = [...unsure].map(
      ([key, states]) => [key, [words(keys.get(key) ?? null), ...states.map(words)]] as const,
    );
    return new Map([...sure, ...others]);
  }

  return {
    get: (key) => keys.get(key),
    set(key, expected) {
      keys.set(key, expected);
      unsure.delete(key);
    },
    delete(key) {
      keys.delete(key);
      unsure.delete(key);
    },
    perhaps(key, expected) {
      const states = unsure.get(key) ?? [];
      if (expected !== null || !states.includes(null)) unsure.set(key, [...states, expected]);
    },
    differences(list, file) {
      const answer = parseJson(list);
      const configuration = parseJson(file, { comments: true });
      const shown = readAll(isJsonObject(answer) ? answer.data : undefined);
      const written = readAll(isJsonObject(configuration) ? configuration.access_keys : undefined);
      return [
        ...compare('the API', allowed(true), new Map([...shown].map(([key, found]) => [key, describe(found, true)]))),
        ...compare(
          'the file',
          allowed(false),
          new Map([...written].map(([key, found]) => [key, describe(found, false)])),
        ),
        ...[...unsure.keys()].flatMap((key) => disagreement(key, shown.get(key), written.get(key))),
      ];
    },
  };
}

const ABSENT = 'nothing';

function describe({ name, limit, bytesUp }: ExpectedKey, counters: boolean): string {
  return `name ${name}, limit ${limit}${counters ? `, ${bytesUp} bytes up` : ''}`;
}

/** Whatever became of a change, the file and the API must say the same. */
function disagreement(
  key: string,
  shown: ExpectedKey | undefined,
  written: ExpectedKey | undefined,
): readonly string[] {
  const [overApi, inFile] = [shown, written].map((state) => (state === undefined ? ABSENT : describe(state, false)));
  return overApi === inFile ? [] : [`the API has of ${key}: ${overApi}; the file: ${inFile}`];
}

/** Keys as an answer or a file has them: texts, or objects. */
function readAll(value: JsonValue | undefined): ReadonlyMap<string, ExpectedKey> {
  const found = new Map<string, ExpectedKey>();
  for (const element of Array.isArray(value) ? value : []) {
    const members = isJsonObject(element) ? element : { access_key: element };
    found.set(String(members.access_key), {
      name: typeof members.name === 'string' ? members.name : null,
      limit: typeof members.limit_bytes === 'bigint' ? members.limit_bytes : null,
      bytesUp: typeof members.bytes_up === 'bigint' ? members.bytes_up : 0n,
    });
  }
  return found;
}

function compare(
  place: string,
  expected: ReadonlyMap<string, readonly string[]>,
  found: ReadonlyMap<string, string>,
): readonly string[] {
  const lost = [...expected].flatMap(([key, words]) => {
    const present = found.get(key) ?? ABSENT;
    return words.includes(present)
      ? []
      : [`${place} has of ${key}: ${present}; acknowledged was: ${words.join(', or perhaps ')}`];
  });
  const extra = [...found.keys()].filter((key) => !expected.has(key));
  return [...lost, ...extra.map((key) => `${place} has ${key}, which was deleted or never acknowledged`)];
}
