import {
  type FlagReading,
  type FlagShape,
  type Offered,
  type ParsedFlags,
  parseFlags,
  problemText,
  readFlags,
} from '../settings/flags.js';
import { GONE_SETTING_FLAGS } from '../settings/gone.js';
import { settingsHelp } from '../settings/help.js';
import { readSettings, type SettingName, settingFlags } from '../settings/read.js';
import type { SettingsSources } from '../settings/sources.js';
import type { Settings, SettingValues } from '../settings/table.js';
import { type Command, type CommandContext, type ExitCode, usageProblem, wordsOf } from './command.js';

/** Something wrong with a command line that shows only when its home is looked for. */
export class UsageError extends Error {}

/** The plan of a command: all but how its command line is read and how failures are told. */
export interface CommandPlan<Asked, Home> {
  readonly name: string;
  /** The whole help text; `settings` is the list of those that it reads. */
  help(settings: string): string;
  /** The settings that it reads; none, and no settings file, where it is left out. */
  readonly settings?: readonly SettingName[];
  /** False where these flags ask for nothing that the settings say, so that none is read, and no settings file; default: always true. */
  readonly readsSettings?: (flags: ParsedFlags) => boolean;
  /** Settings that `ask` reads by itself, because they name another home than the others. */
  readonly apart?: readonly SettingName[];
  /** Flags in addition to those of its settings. */
  readonly flags?: readonly FlagShape[];
  /** The names of its words, all of them needed unless `least` says less; not counted where it is left out. */
  readonly words?: { readonly names: readonly string[]; readonly least?: number };
  /** Words that shells offer. */
  readonly offered?: Offered;
  /** Settings that its command line says otherwise than by their flags. */
  fixed?(flags: ParsedFlags, context: CommandContext): Partial<SettingValues>;
  /** Returns the request, or null where nothing can be asked; problems go to the reading. */
  ask(reading: FlagReading, flags: ParsedFlags, given: Given): Asked | null | Promise<Asked | null>;
  /** Opens what it works on. Rejects with a `UsageError` where the command line names none of the kind. */
  home(settings: Settings, asked: Asked, given: Given): Promise<Home>;
  /** Resolves to the exit code, 0 where to nothing. */
  work(home: Home, asked: Asked, context: CommandContext): Promise<ExitCode | undefined>;
  /** Lets go of what was opened. */
  close?(home: Home): Promise<void>;
  /** Words for people about a failure; default the error's own. */
  failure?(error: unknown, asked: Asked): string;
  /** The exit code of a failure; default 1. */
  readonly failureCode?: ExitCode;
}

/** For a command that works on nothing which is opened. */
export const NO_HOME = async (): Promise<null> => null;

interface Given {
  readonly context: CommandContext;
  readonly sources: SettingsSources;
}

/**
 * Makes a command: reads flags and settings, says all that is wrong with them at once (exit code 2), opens the home, does the work,
 * and tells a failure in one line (exit code 1).
 */
export function defineCommand<Asked, Home>(plan: CommandPlan<Asked, Home>): Command {
  const { name, settings, flags: own = [], offered } = plan;
  // The settings file is named where settings are.
  const flags = settings === undefined || settings.length === 0 ? own : [...settingFlags(settings), ...own];
  return {
    name,
    flags,
    ...(offered === undefined ? {} : { words: offered }),
    help: () => plan.help(settings === undefined ? '' : settingsHelp(settings)),
    run: (argv, context) => run(plan, parseFlags(argv, flags, GONE_SETTING_FLAGS), context),
  };
}

const NO_FLAGS = parseFlags([], []);

async function run<Asked, Home>(
  plan: CommandPlan<Asked, Home>,
  flags: ParsedFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { environment, folder, fileSystem } = context;
  const sources = { flags, environment, folder, readFile: fileSystem.read };
  // A command without settings does not care about the settings file that flags or the environment name.
  const needsNone = plan.settings === undefined || plan.readsSettings?.(flags) === false;
  const read = needsNone ? { ...sources, environment: {}, flags: { ...NO_FLAGS, problems: flags.problems } } : sources;
  const { settings = [], apart = [] } = plan;
  const names = settings.filter((name) => !apart.includes(name));
  const answer = await readSettings(read, names, plan.fixed?.(flags, context));
  const reading = readFlags(flags);
  const asked = await plan.ask(reading, flags, { context, sources });
  // A settings file that cannot be read is a problem of all that is read from it.
  const problems = [...new Set([...(answer.ok ? [] : answer.problems.map(problemText)), ...reading.problems])];
  const { names: words, least = words?.length } = plan.words ?? {};
  if (words !== undefined && (flags.words.length > words.length || flags.words.length < (least ?? 0)))
    problems.push(`expected ${['keyway', plan.name, ...words].join(' ')}, and flags`);
  if (!answer.ok || asked === null || problems.length > 0) return usageProblem(context, plan.name, problems);
  for (const warning of needsNone ? [] : answer.warnings) context.complain(warning);
  let home: Home | null = null;
  try {
    home = await plan.home(answer.settings, asked, { context, sources });
    return (await plan.work(home, asked, context)) ?? 0;
  } catch (error) {
    context.progress.clear();
    if (error instanceof UsageError) return usageProblem(context, plan.name, [error.message]);
    context.complain(`keyway ${plan.name}: ${plan.failure?.(error, asked) ?? wordsOf(error)}`);
    return plan.failureCode ?? 1;
  } finally {
    if (home !== null) await plan.close?.(home);
    context.progress.clear();
  }
}
