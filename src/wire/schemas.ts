import type { TSchema } from 'typebox';
import { MAX_U64 } from '../core/model.js';
import { Type } from './typebox.js';

/**
 * The parts that the schemas of bodies and answers are made of. The schemas validate, and are printed in the OpenAPI
 * documents. `expected` completes the sentence "member: expected …" about a refused body. Integers are bigint here; the
 * documents call them integers.
 */

/** The bound is exclusive because the compiled validator rounds it to a double, which 2^64 survives and 2^64-1 does not. */
export const u64 = (description: string) =>
  Type.BigInt({ minimum: 0n, exclusiveMaximum: MAX_U64 + 1n, expected: 'an unsigned 64-bit integer', description });

/** The kind of placeholder that a recording has instead of a value, because the value differs in every run. */
export type Recorded = 'key' | 'session' | 'audit-id' | 'version' | 'uptime' | 'time' | 'share link';

export const text = (description: string, recorded?: Recorded) =>
  Type.String({ expected: 'a string', description, ...(recorded === undefined ? {} : { recorded }) });

export const flag = (description: string) => Type.Boolean({ expected: 'true or false', description });

export const texts = (description: string) =>
  Type.Array(text('Text.'), { expected: 'an array of strings', description });

/** An object of texts with arbitrary names. TypeBox's own pattern, `^.*$`, checks no name with a line break. */
export const textsByName = (description: string) =>
  Type.Record(Type.String({ pattern: '[\\s\\S]*' }), text(description));

/** Makes a member optional, with null meaning the same as absent (design: "A body with another content type"). */
export const optional = <S extends TSchema>(schema: S, expected: string, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { expected, description }));

export const orNull = <S extends TSchema>(schema: S, expected: string, description: string) =>
  Type.Union([schema, Type.Null()], { expected, description });

/**
 * `fewestElements` is the least length of an array in place of the object, in lines that accept those; by default the
 * number of members.
 */
export const object = <P extends Record<string, TSchema>>(
  properties: P,
  options: { description?: string; fewestElements?: number } = {},
) => Type.Object(properties, { expected: 'a JSON object', ...options });

/** The answer of operations that only confirm. */
export const yes = Type.Literal(true);
export const done = (words: string) => Type.Literal(words);

export const name = optional(text('Text.'), 'a string or null', 'Display name; null or absent means none.');
export const limitBytes = optional(
  u64('Bytes.'),
  'an unsigned 64-bit integer or null',
  'Traffic limit in bytes; null or absent means no limit.',
);
