import type { Static } from 'typebox';
import { readFixtureJson } from '../replay/format/scenario.js';
import { listOf, object, shaped, TEXT } from '../replay/format/shape.js';

const REGISTER = listOf(object({ operation: TEXT, where: TEXT, reason: TEXT }));

/** Reads a register of expected differences. Throws `ShapeError`, which names the file, the JSON path and what was expected there. */
export function readExpected(content: string, file: string): Static<typeof REGISTER> {
  return shaped(REGISTER, readFixtureJson(content, file), { file, path: '' });
}
