import { isJsonObject, type JsonValue } from '../wire/json/json.js';

/** Where a value stands: the file it came from and its JSON pointer (RFC 6901; empty for the root). */
export interface Place {
  readonly file: string;
  readonly path: string;
}

/** A fixture file that is not what its format asks for. The message names the file, the JSON path and what was expected. */
export class ShapeError extends Error {
  readonly file: string;
  readonly path: string;

  constructor(place: Place, expected: string) {
    super(`${place.file}: ${place.path === '' ? '/' : place.path}: expected ${expected}`);
    this.name = 'ShapeError';
    this.file = place.file;
    this.path = place.path;
  }
}

/** Takes a JSON value apart or throws `ShapeError`. */
export type Check<T> = (value: JsonValue, place: Place) => T;

type Checks = Readonly<Record<string, Check<unknown>>>;
type Result<C> = C extends Check<infer T> ? T : never;
type Members<R extends Checks, O extends Checks> = { readonly [K in keyof R]: Result<R[K]> } & {
  readonly [K in keyof O]?: Result<O[K]>;
};

/** One step down: the place of a member or an element. */
export function below(place: Place, member: string | number): Place {
  const segment = String(member).replaceAll('~', '~0').replaceAll('/', '~1');
  return { file: place.file, path: `${place.path}/${segment}` };
}

function found(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return `the text ${JSON.stringify(value)}`;
  return typeof value === 'boolean' ? String(value) : `the number ${value}`;
}

/** A `ShapeError` that also says what stood there instead. */
export function mismatch(place: Place, expected: string, value: JsonValue): ShapeError {
  return new ShapeError(place, `${expected}, found ${found(value)}`);
}

export const anything: Check<JsonValue> = (value) => value;

export const text: Check<string> = (value, place) => {
  if (typeof value !== 'string') throw mismatch(place, 'a text', value);
  return value;
};

export const truth: Check<boolean> = (value, place) => {
  if (typeof value !== 'boolean') throw mismatch(place, 'true or false', value);
  return value;
};

/** An integer of any size, as a bigint. */
export const integer: Check<bigint> = (value, place) => {
  if (typeof value !== 'bigint') throw mismatch(place, 'an integer', value);
  return value;
};

/** An integer between two bounds that fit a plain number. */
export function smallInteger(least: number, most: number): Check<number> {
  return (value, place) => {
    const number = integer(value, place);
    if (number < BigInt(least) || number > BigInt(most))
      throw mismatch(place, `an integer from ${least} to ${most}`, value);
    return Number(number);
  };
}

export function oneOf<const T extends string>(...choices: readonly T[]): Check<T> {
  return (value, place) => {
    const choice = choices.find((each) => each === value);
    if (choice === undefined) throw mismatch(place, `one of ${choices.join(', ')}`, value);
    return choice;
  };
}

export function listOf<T>(element: Check<T>): Check<readonly T[]> {
  return (value, place) => {
    if (!Array.isArray(value)) throw mismatch(place, 'an array', value);
    return value.map((each: JsonValue, index) => element(each, below(place, index)));
  };
}

/** An object whose members all have the same form, under any names; null-prototype, so that `__proto__` is a name like any. */
export function mapOf<T>(member: Check<T>): Check<Readonly<Record<string, T>>> {
  return (value, place) => {
    const source = asObject(value, place);
    const result: Record<string, T> = Object.create(null);
    for (const [name, each] of Object.entries(source)) result[name] = member(each, below(place, name));
    return result;
  };
}

/** An object with exactly these members: all of `required`, any of `optional`, no others; their order is kept. */
export function members<R extends Checks, O extends Checks>(required: R, optional: O): Check<Members<R, O>> {
  return (value, place) => {
    const source = asObject(value, place);
    const result: Record<string, unknown> = {};
    for (const name of Object.keys(required)) {
      if (!Object.hasOwn(source, name)) throw new ShapeError(place, `a member ${name}`);
    }
    for (const [name, member] of Object.entries(source)) {
      const check = checkOf(name);
      if (check === undefined) throw new ShapeError(below(place, name), `no such member; known are ${names()}`);
      result[name] = check(member, below(place, name));
    }
    // The loops above let exactly the members of R and O through, which the compiler cannot follow through `Object.entries`.
    return result as Members<R, O>;
  };
  function checkOf(name: string): Check<unknown> | undefined {
    if (Object.hasOwn(required, name)) return required[name];
    return Object.hasOwn(optional, name) ? optional[name] : undefined;
  }
  function names(): string {
    return [...Object.keys(required), ...Object.keys(optional)].join(', ');
  }
}

/** The members of an object, or a `ShapeError`. */
export function asObject(value: JsonValue, place: Place): Readonly<Record<string, JsonValue>> {
  if (!isJsonObject(value)) throw mismatch(place, 'an object', value);
  return value;
}
