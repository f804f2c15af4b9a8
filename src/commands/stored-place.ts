import type { FileSystemPort } from '../core/ports.js';
import { type OnShare, piecesOf } from '../files/file-pieces.js';
import { LinesError } from '../homes/file/counters/lines.js';
import type { StoredPlace } from '../homes/file/settle-requests.js';
import { failureWords } from '../platform/failure-words.js';
import type { ParsedFlags } from '../settings/flags.js';
import type { HomePlace } from '../settings/home.js';
import { databaseMeant } from '../settings/read.js';
import type { Command } from './command.js';
import { complainingLog } from './complaining-log.js';
import { type CommandPlan, defineCommand, UsageError } from './define-command.js';

/** A command over a data folder, and a configuration file where its home has one. */
interface StoredPlan<Place>
  extends Pick<CommandPlan<ParsedFlags, Place>, 'name' | 'help' | 'flags' | 'offered' | 'work'> {
  /** The names of its words; it takes exactly these. */
  readonly words: readonly string[];
}

type Opened = Pick<StoredPlace, 'fileSystem' | 'clock' | 'progress' | 'log'>;
type Files = Omit<StoredPlace, keyof Opened>;
type DocumentFiles = Files & { readonly configPath: string };

/** Makes it a command over what a home stores. */
export function storedCommand(plan: StoredPlan<StoredPlace>): Command {
  return placeCommand(plan, ({ stored }) => stored);
}

/** Makes it a command over a home's configuration file. */
export function documentCommand(plan: StoredPlan<DocumentFiles & Opened>): Command {
  return placeCommand(plan, ({ stored, document }) => {
    if (typeof document === 'string' && typeof stored !== 'string') throw new Error(document);
    return document;
  });
}

function placeCommand<Known extends Files>(
  plan: StoredPlan<Known & Opened>,
  filesOf: (home: HomePlace) => Known | string,
): Command {
  return defineCommand<ParsedFlags, Known & Opened>({
    ...plan,
    settings: ['config', 'upstream', 'dataDir', 'inPlace'],
    words: { names: plan.words },
    ask: (_reading, flags) => flags,
    async home(settings, _flags, { context, sources }) {
      const files = filesOf((await databaseMeant(sources)) ?? settings.home);
      if (typeof files === 'string') throw new UsageError(files);
      const { fileSystem, clock, progress } = context;
      return { ...files, fileSystem, clock, progress, log: complainingLog(context) };
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

/** Adds the file's name to what is said of a wrong line in it. */
export async function inFile<T>(name: string, reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    if (error instanceof LinesError) throw new Error(`${name}: ${error.message}`, { cause: error });
    throw error;
  });
}
