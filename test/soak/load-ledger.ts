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
  /** One sentence for each key that is not as acknowledged: in the answer of `GET /users`, and in the file's bytes. */
  differences(list: Buffer, file: Buffer): readonly string[];
}

export function createLedger(): Ledger {
  const keys = new Map<string, ExpectedKey>();
  return {
    get: (key) => keys.get(key),
    set: (key, expected) => void keys.set(key, expected),
    delete: (key) => void keys.delete(key),
    differences(list, file) {
      const answer = parseJson(list);
      const configuration = parseJson(file, { comments: true });
      const shown = readAll(isJsonObject(answer) ? answer.data : undefined);
      const written = readAll(isJsonObject(configuration) ? configuration.access_keys : undefined);
      const withCounters = new Map([...keys].map(([key, expected]) => [key, describe(expected, true)]));
      const withoutCounters = new Map([...keys].map(([key, expected]) => [key, describe(expected, false)]));
      return [
        ...compare('the API', withCounters, new Map([...shown].map(([key, found]) => [key, describe(found, true)]))),
        ...compare(
          'the file',
          withoutCounters,
          new Map([...written].map(([key, found]) => [key, describe(found, false)])),
        ),
      ];
    },
  };
}

function describe({ name, limit, bytesUp }: ExpectedKey, counters: boolean): string {
  return `name ${name}, limit ${limit}${counters ? `, ${bytesUp} bytes up` : ''}`;
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
  expected: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): readonly string[] {
  const lost = [...expected].flatMap(([key, words]) => {
    const present = found.get(key) ?? 'nothing';
    return present === words ? [] : [`${place} has of ${key}: ${present}; acknowledged was: ${words}`];
  });
  const extra = [...found.keys()].filter((key) => !expected.has(key));
  return [...lost, ...extra.map((key) => `${place} has ${key}, which was deleted or never acknowledged`)];
}
