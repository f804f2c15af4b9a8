import type { FileSystemPort } from '../core/ports.js';
import { LinesError } from '../local/counters/lines.js';
import { type OnShare, piecesOf } from '../local/file/file-pieces.js';
import type { StoredPlace } from '../local/settle-jobs.js';
import { failureWords } from '../platform/failure-words.js';
import { type FlagShape, type ParsedFlags, parseFlags, problemText } from '../settings/flags.js';
import { databaseMeant, readSettings, type SettingName, settingFlags } from '../settings/read.js';
import { type CommandContext, type ExitCode, usageProblem, wordsOf } from './command.js';
import { complainingLog } from './complaining-log.js';

/** The settings of commands over what is stored. */
export const STORED_SETTINGS: readonly SettingName[] = ['config', 'upstream', 'dataDir', 'inPlace'];

/** What the command line of such a command may hold. */
export const STORED_FLAGS: readonly FlagShape[] = settingFlags(STORED_SETTINGS);

/** A command over a configuration file and its data folder. */
export interface StoredCommand {
  readonly name: string;
  /** What its words are called; it takes exactly these. */
  readonly words: readonly string[];
  /** Flags besides those of its settings. */
  readonly flags?: readonly FlagShape[];
  /** What there is to say, for people. `given` are the flags' values. */
  work(
    place: StoredPlace,
    words: readonly string[],
    context: CommandContext,
    given: ParsedFlags['values'],
  ): Promise<void>;
}

/** Runs it over the place that the command line names; a failure is said. */
export async function runStored(
  command: StoredCommand,
  argv: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  const { environment, folder, fileSystem, clock, progress } = context;
  const flags = parseFlags(argv, [...STORED_FLAGS, ...(command.flags ?? [])]);
  const readFile = fileSystem.read;
  const sources = { flags, environment, folder, readFile };
  const answer = await readSettings(sources, STORED_SETTINGS);
  const problems = answer.ok ? [] : answer.problems.map(problemText);
  if (flags.words.length !== command.words.length) {
    problems.push(`expected ${['keyway', command.name, ...command.words].join(' ')}, and flags`);
  }
  if (!answer.ok || problems.length > 0) return usageProblem(context, command.name, problems);
  const { stored } = (await databaseMeant(sources)) ?? answer.settings.home;
  if (typeof stored === 'string') return usageProblem(context, command.name, [stored]);
  try {
    const place = { ...stored, fileSystem, clock, log: complainingLog(context), progress };
    await command.work(place, flags.words, context, flags.values);
    return 0;
  } catch (error) {
    context.complain(`keyway ${command.name}: ${wordsOf(error)}`);
    return 1;
  }
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
