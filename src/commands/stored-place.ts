import type { FileSystemPort } from '../core/ports.js';
import { type OnShare, piecesOf } from '../files/file-pieces.js';
import { LinesError } from '../homes/file/counters/lines.js';
import type { StoredPlace } from '../homes/file/offline-replacements.js';
import { failureWords } from '../platform/failure-words.js';
import type { ParsedFlags } from '../settings/flags.js';
import type { HomePlace, HomePlaceOf } from '../settings/home.js';
import { databaseMeant } from '../settings/read.js';
import type { Command, CommandContext } from './command.js';
import { complainingLog } from './complaining-log.js';
import { type CommandPlan, defineCommand, UsageError } from './define-command.js';

/** A command over a data folder, and a configuration file where its home has one. */
interface StoredPlan<Place>
  extends Pick<CommandPlan<ParsedFlags, Place>, 'name' | 'help' | 'flags' | 'offered' | 'work'> {
  /** The names of its words; it takes exactly these. */
  readonly words: readonly string[];
  /** Does the work where the state is in a database; without it, the command is for files alone. */
  overDatabase?(place: HomePlaceOf<'database'>, flags: ParsedFlags, context: CommandContext): Promise<void>;
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
  const { overDatabase, words, ...own } = plan;
  const files = ['config', 'upstream', 'dataDir', 'inPlace'] as const;
  return defineCommand<ParsedFlags, (Known & Opened) | HomePlaceOf<'database'>>({
    ...own,
    ...(overDatabase === undefined ? { settings: files } : { settings: [...files, 'database'], apart: ['database'] }),
    words: { names: words },
    ask(reading, flags) {
      if (reading.value('database') !== null && reading.value('config') !== null)
        reading.problems.push('--database: expected either this or --config, not both');
      return flags;
    },
    async home(settings, _flags, { context, sources }) {
      const meant = await databaseMeant(sources);
      if (meant !== null && overDatabase !== undefined) return meant;
      const found = filesOf(meant ?? settings.home);
      if (typeof found === 'string') throw new UsageError(found);
      const { fileSystem, clock, progress } = context;
      return { ...found, fileSystem, clock, progress, log: complainingLog(context) };
    },
    async work(home, flags, context) {
      if (!('kind' in home)) return plan.work(home, flags, context);
      await overDatabase?.(home, flags, context);
      return undefined;
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
