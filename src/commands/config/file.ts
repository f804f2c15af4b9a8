import { resolve } from 'node:path';
import type { VersionsOptions } from '../../local/file/rewrite-file.js';
import { readTarget, type TargetFile } from '../../local/file/write-file.js';
import { failureWords } from '../../platform/failure-words.js';
import { type FlagShape, type ParsedFlags, parseFlags, problemText } from '../../settings/flags.js';
import { readSettings, type SettingName, settingFlags } from '../../settings/read.js';
import { type CommandContext, type ExitCode, usageProblem, wordsOf } from '../command.js';
import { complainingLog } from '../complaining-log.js';

/** A command about one configuration file, which its command line names. */
export interface FileCommand {
  readonly name: string;
  /** The settings that it looks at besides the file. */
  readonly settings: readonly SettingName[];
  readonly flags: readonly FlagShape[];
  /** What else is wrong with its flags. */
  problems(flags: ParsedFlags): readonly string[];
  /** Resolves to the exit code; what it rejects with is said as a problem. */
  work(file: NamedFile, context: CommandContext): Promise<ExitCode>;
}

/** The file as it was found. */
export interface NamedFile {
  /** As the command line has it. */
  readonly named: string;
  readonly target: TargetFile;
  readonly versions: VersionsOptions;
  readonly flags: ParsedFlags;
}

/** What its command line may hold. */
export function fileFlags({ settings, flags }: FileCommand): readonly FlagShape[] {
  return settings.length === 0 ? flags : [...settingFlags(settings), ...flags];
}

/** Reads the command line and the file, and does the work. */
export async function runOnFile(
  command: FileCommand,
  argv: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  const { environment, folder, fileSystem, clock } = context;
  const flags = parseFlags(argv, fileFlags(command));
  const readFile = fileSystem.read;
  const sources = { flags, environment, folder, readFile };
  const [named] = flags.words;
  const path = resolve(folder, named ?? '');
  const answer = await readSettings(sources, command.settings, { config: path });
  const problems = answer.ok ? [...command.problems(flags)] : answer.problems.map(problemText);
  if (named === undefined || flags.words.length > 1) problems.push(`expected keyway ${command.name} FILE, and flags`);
  if (!answer.ok || named === undefined || problems.length > 0) return usageProblem(context, command.name, problems);
  try {
    const { stored } = answer.settings.home;
    if (typeof stored === 'string') throw new Error(stored);
    const versions = { fileSystem, clock, log: complainingLog(context), path, ...stored };
    return await command.work({ named, target: await readTarget(fileSystem, path), versions, flags }, context);
  } catch (error) {
    const words = error instanceof Error && 'code' in error ? failureWords(error) : wordsOf(error);
    context.complain(`keyway ${command.name}: ${named}: ${words}`);
    return 1;
  }
}

export const JSON_FLAG: FlagShape = { flag: 'json', placeholder: null, repeatable: false };

/** A text of a file for a terminal: as it is when it is plain, else with JSON's escapes. */
export function plainText(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : JSON.stringify(text);
}
