import { DomainError } from '../../core/errors.js';
import type { FileSystemPort } from '../../core/ports.js';
import { failureWords } from '../../platform/failure-words.js';
import { compactJson, JsonSyntaxError, prettyJson } from '../../wire/json/json.js';
import {
  another,
  createScanner,
  enter,
  expectName,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../../wire/json/scanner.js';
import { readTarget } from '../file/write-file.js';
import type { ConfigurationFormat, FileReading } from './known-file.js';

/** The file at `path` as one compact JSON value. Rejects with configRead/Strip/ParseFailed. */
export async function readAsCompactJson(fileSystem: FileSystemPort, path: string): Promise<Buffer> {
  const { bytes } = await readTarget(fileSystem, path).catch((error: unknown) => {
    throw new DomainError('configReadFailed', failureWords(error));
  });
  try {
    return compactJson(bytes, { comments: true });
  } catch (error) {
    const comments = error instanceof JsonSyntaxError && error.step === 'comments';
    throw new DomainError(comments ? 'configStripFailed' : 'configParseFailed', failureWords(error));
  }
}

/**
 * What the file becomes when it is replaced by this JSON text: pretty-printed, and read. Throws configModeMissing unless
 * the root is an object that has a `mode`, configFormatFailed when the text is no JSON or cannot be printed.
 */
export function toReplacement<D extends { readonly bytes: Buffer }>(
  body: Buffer,
  format: ConfigurationFormat<D>,
): FileReading<D> {
  try {
    if (hasRootMember(body, 'mode')) return format.read(prettyJson(body));
  } catch (error) {
    throw new DomainError('configFormatFailed', failureWords(error));
  }
  throw new DomainError('configModeMissing');
}

/** Looks at the root's own members alone and builds nothing: a body may have 256 MiB. */
function hasRootMember(text: Buffer, name: string): boolean {
  const scanner = createScanner(text, false);
  if (scanner.kind !== Token.openObject) return false;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    if (stringValue(scanner) === name) return true;
    toValue(scanner);
    skipValue(scanner);
  }
  return false;
}
