import { resolve } from 'node:path';
import type { VersionsOptions } from '../../files/rewrite-file.js';
import { readTarget, type TargetFile } from '../../files/write-file.js';
import { failureWords } from '../../platform/failure-words.js';
import { type ParsedFlags, switchFlag } from '../../settings/flags.js';
import { type Command, type CommandContext, type ExitCode, wordsOf } from '../command.js';
import { complainingLog } from '../complaining-log.js';
import { type CommandPlan, defineCommand, UsageError } from '../define-command.js';

/** A command about one configuration file, which its command line names. */
interface FilePlan extends Pick<CommandPlan<ParsedFlags, NamedFile>, 'name' | 'help' | 'settings' | 'flags'> {
  /** Further problems of its flags. */
  problems?(flags: ParsedFlags): readonly string[];
  /** Resolves to the exit code; what it rejects with is said as a problem. */
  work(file: NamedFile, context: CommandContext): Promise<ExitCode>;
}

export interface NamedFile {
  /** The path as the command line has it. */
  readonly named: string;
  readonly target: TargetFile;
  readonly versions: VersionsOptions;
  readonly flags: ParsedFlags;
}

/** Makes it a command that reads the file which its one word names. */
export function fileCommand(plan: FilePlan): Command {
  const pathOf = ({ words: [named = ''] }: ParsedFlags, { folder }: CommandContext) => resolve(folder, named);
  return defineCommand<ParsedFlags, NamedFile>({
    ...plan,
    words: { names: ['FILE'] },
    offered: 'paths',
    fixed: (flags, context) => ({ config: pathOf(flags, context) }),
    ask(reading, flags) {
      reading.problems.push(...(plan.problems?.(flags) ?? []));
      return flags;
    },
    async home({ home: { document } }, flags, { context }) {
      if (typeof document === 'string') throw new UsageError(document);
      const { fileSystem, clock } = context;
      const path = pathOf(flags, context);
      const versions = { ...document, fileSystem, clock, path, log: complainingLog(context) };
      return { named: flags.words[0] ?? '', target: await readTarget(fileSystem, path), versions, flags };
    },
    work: (file, _flags, context) => plan.work(file, context),
    failure(error, { words: [named] }) {
      const words = error instanceof Error && 'code' in error ? failureWords(error) : wordsOf(error);
      return `${named}: ${words}`;
    },
  });
}

export const JSON_FLAG = switchFlag('json');

/** A text of a file for a terminal: as it is when it is plain, else with JSON's escapes. */
export function plainText(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : JSON.stringify(text);
}
