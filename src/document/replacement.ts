import { DomainError, messageOf } from '../core/errors.js';
import { FILE_LIMITS } from '../core/file-limits.js';
import { finish, type Steps } from '../core/steps.js';
import { prettyJsonSteps } from '../wire/json/json.js';
import {
  another,
  createScanner,
  enter,
  expectName,
  skipValueSteps,
  stringValue,
  Token,
  toValue,
} from '../wire/json/scanner.js';

const MEBIBYTE = 1024 * 1024;

/** The most bytes of a pretty-printed replacement, because nested arrays grow five hundredfold. */
const MOST_WRITTEN = FILE_LIMITS.configuration;
const MOST_GROWTH = 16;
const ALWAYS_WRITTEN = MEBIBYTE;

/**
 * Pretty-prints the JSON text that is to replace the file, and reads it. Throws configModeMissing unless the root is an
 * object with a `mode`, configFormatFailed if the text is not JSON, has half of a surrogate pair, or would become too
 * long.
 */
export function toReplacement<Reading>(body: Buffer, format: { read(bytes: Buffer): Reading }): Reading {
  try {
    return format.read(finish(textSteps(body)));
  } catch (error) {
    throw refusalOf(error);
  }
}

/** Does what `toReplacement` does, in steps. */
export function* toReplacementSteps<Reading>(body: Buffer, read: (bytes: Buffer) => Steps<Reading>): Steps<Reading> {
  try {
    return yield* read(yield* textSteps(body));
  } catch (error) {
    throw refusalOf(error);
  }
}

function* textSteps(body: Buffer): Steps<Buffer> {
  if (!(yield* hasRootMember(body, 'mode'))) throw new DomainError('configModeMissing');
  const limit = Math.min(MOST_WRITTEN, Math.max(ALWAYS_WRITTEN, MOST_GROWTH * body.length));
  return yield* prettyJsonSteps(body, { limit, foreign: true });
}

function refusalOf(error: unknown): DomainError {
  return error instanceof DomainError ? error : new DomainError('configFormatFailed', messageOf(error));
}

/** Reads only the root's own members and builds nothing, because a body may have 256 MiB. */
function* hasRootMember(text: Buffer, name: string): Steps<boolean> {
  const scanner = createScanner(text, false);
  if (scanner.kind !== Token.openObject) return false;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    if (stringValue(scanner) === name) return true;
    toValue(scanner);
    yield* skipValueSteps(scanner);
  }
  return false;
}
