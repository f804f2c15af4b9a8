import { resolve } from 'node:path';
import { readTarget, type TargetFile } from '../../files/write-file.js';
import { contentDigest } from '../../homes/file/configuration/whole-content.js';
import type { StoredPlace } from '../../homes/file/offline-replacements.js';
import { failureWords } from '../../platform/failure-words.js';
import { type ParsedFlags, switchFlag } from '../../settings/flags.js';
import type { Command, CommandContext, ExitCode } from '../command.js';
import { complainingLog } from '../complaining-log.js';
import { type CommandPlan, defineCommand, UsageError } from '../define-command.js';
import { openReplacements } from '../replacements.js';

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
  readonly place: StoredPlace;
  readonly flags: ParsedFlags;
}

/** Makes the file this content, which was made from what it held; the present one is kept as a version, always if `forever`. */
export async function replaceNamed(
  { place, target }: NamedFile,
  content: Buffer,
  { forever }: { readonly forever: boolean },
): Promise<void> {
  const replacements = await openReplacements(place);
  await replacements.putFile(content, { forever, replaces: contentDigest(target.bytes) });
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
      const { fileSystem, clock, progress } = context;
      const path = pathOf(flags, context);
      const place = { ...document, configPath: path, fileSystem, clock, progress, log: complainingLog(context) };
      return { named: flags.words[0] ?? '', target: await readTarget(fileSystem, path), place, flags };
    },
    work: (file, _flags, context) => plan.work(file, withPlainLines(context)),
    failure(error, { words: [named] }) {
      const words = failureWords(error);
      return `${named}: ${words}`;
    },
  });
}

/** Lines quote names and comments of the file: what a terminal would act on goes out as JSON's escapes. */
function withPlainLines(context: CommandContext): CommandContext {
  const { output, complain } = context;
  return {
    ...context,
    output: { ...output, line: (text) => output.line(escaped(text)) },
    complain: (text) => complain(escaped(text)),
  };
}

/** Line ends and tabs stay: some texts are lines of the file. */
function escaped(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\r\t]|\r(?!\n)|[\p{Cf}\p{Zl}\p{Zp}]/gu, (signs) =>
    signs
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

export const JSON_FLAG = switchFlag('json');

/** A text of a file for a terminal: as it is when it is plain, else with JSON's escapes. */
export function plainText(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : JSON.stringify(text);
}
