import { FILE_LIMITS } from '../../core/file-limits.js';
import { failureWords } from '../../platform/failure-words.js';
import type { CommandContext } from '../command.js';

/** Reads a file that the command line names. Rejects with an `Error` for people. */
export async function readNamed(path: string, { fileSystem }: CommandContext): Promise<string> {
  const content = await fileSystem.read(path, FILE_LIMITS.archive).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${failureWords(error)}`, { cause: error });
  });
  return content.toString('utf8');
}
