import { DomainError } from '../../../core/errors.js';
import type { FileSystemPort } from '../../../core/ports.js';
import { inTurns } from '../../../core/steps.js';
import { readTarget } from '../../../files/write-file.js';
import { failureWords } from '../../../platform/failure-words.js';
import { compactJsonSteps, JsonSyntaxError } from '../../../wire/json/json.js';

/** The file at `path` as one compact JSON value, in pieces. Rejects with configRead/Strip/ParseFailed. */
export async function readAsCompactJson(fileSystem: FileSystemPort, path: string): Promise<readonly Buffer[]> {
  const { bytes } = await readTarget(fileSystem, path).catch((error: unknown) => {
    throw new DomainError('configReadFailed', failureWords(error));
  });
  try {
    return await inTurns(compactJsonSteps(bytes, { comments: true }));
  } catch (error) {
    const comments = error instanceof JsonSyntaxError && error.step === 'comments';
    throw new DomainError(comments ? 'configStripFailed' : 'configParseFailed', failureWords(error));
  }
}
