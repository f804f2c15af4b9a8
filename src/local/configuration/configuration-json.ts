import { DomainError } from '../../core/errors.js';
import type { FileSystemPort } from '../../core/ports.js';
import { failureWords } from '../../platform/failure-words.js';
import { compactJson, JsonSyntaxError } from '../../wire/json/json.js';
import { readTarget } from '../file/write-file.js';

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
