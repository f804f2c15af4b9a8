import type { FileSystemPort } from '../core/ports.js';
import { type OnShare, piecesOf } from '../files/file-pieces.js';
import { LinesError } from '../homes/file/counters/lines.js';
import type { StoredPlace } from '../homes/file/settle-requests.js';
import { failureWords } from '../platform/failure-words.js';
import type { ParsedFlags } from '../settings/flags.js';
import { databaseMeant } from '../settings/read.js';
import type { Command, CommandContext } from './command.js';
import { complainingLog } from './complaining-log.js';
import { type CommandPlan, defineCommand, UsageError } from './define-command.js';

/** A command over a configuration file and its data folder. */
interface StoredPlan extends Pick<CommandPlan<ParsedFlags, StoredPlace>, 'name' | 'help' | 'flags' | 'offered'> {
  /** What its words are called; it takes exactly these. */
  readonly words: readonly string[];
  work(place: StoredPlace, flags: ParsedFlags, context: CommandContext): Promise<void>;
}

/** Makes it a command with the settings and the place that all of them have. */
export function storedCommand(plan: StoredPlan): Command {
  return defineCommand<ParsedFlags, StoredPlace>({
    ...plan,
    settings: ['config', 'upstream', 'dataDir', 'inPlace'],
    words: { names: plan.words },
    ask: (_reading, flags) => flags,
    async home(settings, _flags, { context, sources }) {
      const { stored } = (await databaseMeant(sources)) ?? settings.home;
      if (typeof stored === 'string') throw new UsageError(stored);
      const { fileSystem, clock, progress } = context;
      return { ...stored, fileSystem, clock, progress, log: complainingLog(context) };
    },
    async work(place, flags, context) {
      await plan.work(place, flags, context);
      return 0;
    },
  });
}

/** The bytes of a file that a command line names. Rejects with words for people. */
export async function* givenPieces(
  fileSystem: FileSystemPort,
  path: string,
  onShare?: OnShare,
): AsyncGenerator<Buffer, void> {
  try {
    yield* piecesOf(fileSystem, path, onShare);
  } catch (error) {
    throw new Error(`${path} cannot be read: ${failureWords(error)}`, { cause: error });
  }
}

/** What is wrong with the lines that are read is said with the name of the file that they are from. */
export async function inFile<T>(name: string, reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    if (error instanceof LinesError) throw new Error(`${name}: ${error.message}`, { cause: error });
    throw error;
  });
}
