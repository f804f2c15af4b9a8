import type { TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/wire/json/json.js';

/** The way to a member within an answer's data; `*` for the elements of a list. */
export type Place = readonly string[];

export interface Member {
  readonly place: Place;
  readonly hasOtherValues: boolean;
}

interface Node {
  readonly type?: string;
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
}

/** Every member that a schema names, those that hold others before these. */
export function placesOf(schema: TSchema, at: Place = []): readonly Member[] {
  const { anyOf = [], items, properties = {} }: Node = schema;
  return [
    ...anyOf.flatMap((each) => placesOf(each, at)),
    ...(items === undefined ? [] : placesOf(items, [...at, '*'])),
    ...Object.entries(properties).flatMap(([name, member]) => {
      const place = [...at, name];
      return [{ place, hasOtherValues: hasOtherValues(member) }, ...placesOf(member, place)];
    }),
  ];
}

/** Whether there is another value of the same type: an object has other members instead, and null is one value. */
function hasOtherValues(schema: TSchema): boolean {
  const { properties, type }: Node = schema;
  return type !== 'null' && (properties === undefined || Object.keys(properties).length === 0);
}

/** Has `edit` change the first such member that it can; false where there is none. */
export function editFirst(
  value: JsonValue,
  place: Place,
  edit: (holder: JsonObject, name: string) => boolean,
): boolean {
  const [first, ...rest] = place;
  if (first === undefined) return false;
  if (first === '*') return Array.isArray(value) && value.some((each) => editFirst(each, rest, edit));
  if (!isJsonObject(value)) return false;
  if (rest.length === 0) return edit(value, first);
  const member = value[first];
  return member !== undefined && editFirst(member, rest, edit);
}

/** What may be wrong with one member: it is changed in place, or the answer is false. */
type MemberWrong = readonly [words: string, edit: (holder: JsonObject, name: string) => boolean];

export const SHAPE_WRONGS: readonly MemberWrong[] = [
  [
    'missing',
    (holder, name) => {
      const isThere = holder[name] !== undefined;
      delete holder[name];
      return isThere;
    },
  ],
  ['of another type', (holder, name) => replaced(holder, name, ofAnotherType)],
];

export const VALUE_WRONG: MemberWrong = ['with another value', (holder, name) => replaced(holder, name, otherValue)];

function replaced(holder: JsonObject, name: string, other: (value: JsonValue) => JsonValue | undefined): boolean {
  const value = holder[name];
  const next = value === undefined ? undefined : other(value);
  if (next !== undefined) holder[name] = next;
  return next !== undefined;
}

function ofAnotherType(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'string') return 7n;
  return value === null ? false : Array.isArray(value) ? {} : [];
}

/** Another value of the same type; undefined where the type has none. */
export function otherValue(value: JsonValue): JsonValue | undefined {
  if (typeof value === 'bigint') return value + 1n;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'string') return `${value}x`;
  if (Array.isArray(value)) return value.length === 0 ? ['other'] : [];
  return isJsonObject(value) ? { ...value, other: 'other' } : undefined;
}

/** What may be wrong with a list. */
export const LIST_WRONGS: readonly (readonly [string, (list: readonly JsonValue[]) => JsonValue[]])[] = [
  ['is empty', () => []],
  ['is in the opposite order', (list) => list.toReversed()],
  ['lacks its first element', (list) => list.slice(1)],
  ['has its first element twice', (list) => [...list.slice(0, 1), ...list]],
];
