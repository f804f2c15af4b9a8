import type { TSchema } from 'typebox';
import { Type } from '../wire/typebox.js';

/** An object that has no other members: one that has is refused by the name of that member. */
export const exactly = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false, expected: 'a JSON object' });
