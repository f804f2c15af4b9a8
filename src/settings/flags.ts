import { didYouMean } from '../wire/suggest.js';

/** A problem with the settings that the operator has to fix. */
export interface SettingProblem {
  /** The setting's name (its flag without dashes), or what it was taken for. */
  readonly setting: string;
  /** The source of the value: a flag, an environment variable, a member of the settings file. */
  readonly place: string;
  readonly message: string;
}

/** Returns one line: the setting, the place, what is wrong and what was expected. */
export function problemText({ setting, place, message }: SettingProblem): string {
  return setting === '' ? `${place}: ${message}` : `${setting} (${place}): ${message}`;
}

/** Completions of a value or a word: paths, revisions, or these texts. Absent if there are none. */
export type Offered = 'paths' | 'revisions' | readonly string[];

/** A flag that a command accepts. */
export interface FlagShape {
  /** Without its dashes. */
  readonly flag: string;
  /** The name of its value in help texts; null for a switch. */
  readonly placeholder: string | null;
  /** Its value if the flag is given without one; absent if a value is required. */
  readonly alone?: string | null;
  readonly repeatable: boolean;
  readonly offered?: Offered | undefined;
}

export function valueFlag(flag: string, placeholder: string, offered?: Offered): FlagShape {
  return { flag, placeholder, repeatable: false, offered };
}

export function switchFlag(flag: string): FlagShape {
  return { flag, placeholder: null, repeatable: false };
}

export interface ParsedFlags {
  /** The texts of each flag in the order given; for a switch `true` or `false`, however that was written. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Words that belong to no flag. Never printed: one may be the second half of a secret. */
  readonly words: readonly string[];
  readonly problems: readonly SettingProblem[];
}

/** Tells whether a switch was given and not switched off. */
export function isOn({ values }: Pick<ParsedFlags, 'values'>, flag: string): boolean {
  return values.get(flag)?.at(-1) === 'true';
}

/** Reads flags one by one and collects their problems. */
export type FlagReading = ReturnType<typeof readFlags>;

export function readFlags(flags: ParsedFlags) {
  const problems: string[] = [];
  return {
    problems,
    /** Returns the one value of a flag, or null. */
    value: (flag: string) => flags.values.get(flag)?.[0] ?? null,
    isOn: (flag: string) => isOn(flags, flag),
  };
}

/** The texts of a switch, to follow the word "expected". */
export const SWITCH_EXPECTED = 'true or false';

/** Reads on or off in one of the usual words; undefined for another text. */
export function readSwitch(text: string): boolean | undefined {
  if (/^(true|1|yes|on)$/i.test(text)) return true;
  return /^(false|0|no|off)$/i.test(text) ? false : undefined;
}

/** Removed flags, without their dashes, each with its replacement. */
export type GoneFlags = Readonly<Record<string, string>>;

interface FlagReader {
  readonly values: Map<string, string[]>;
  readonly words: string[];
  readonly problems: SettingProblem[];
}

/**
 * Reads `--flag VALUE`, `--flag=VALUE`, `--switch` and `--switch=false`; after a lone `--` everything is a word. Values
 * of unknown flags are skipped and never printed. A value that starts with `--` is accepted only after a `=`. Removed
 * flags are unknown, and their problem names the replacement.
 */
export function parseFlags(argv: readonly string[], shapes: readonly FlagShape[], gone: GoneFlags = {}): ParsedFlags {
  const reader: FlagReader = { values: new Map(), words: [], problems: [] };
  let index = 0;
  while (index < argv.length) {
    const argument = argv[index] ?? '';
    if (argument === '--') {
      reader.words.push(...argv.slice(index + 1));
      break;
    }
    const dashed = DASHED.exec(argument)?.[1];
    if (dashed !== undefined) {
      reader.problems.push(dashedFlag(argument, dashed));
      if (!argument.includes('=') && argv[index + 1]?.startsWith('-') === false) index += 1;
    } else if (argument.startsWith('-') && argument !== '-')
      index += readFlag(reader, argument, argv[index + 1], shapes, gone);
    else reader.words.push(argument);
    index += 1;
  }
  for (const { flag, repeatable } of shapes) {
    if (repeatable || (reader.values.get(flag)?.length ?? 0) < 2) continue;
    reader.problems.push({ setting: flag, place: `flag --${flag}`, message: 'given more than once, expected once' });
  }
  return reader;
}

/** Returns how many of the following arguments the flag used. */
function readFlag(
  reader: FlagReader,
  argument: string,
  next: string | undefined,
  shapes: readonly FlagShape[],
  gone: GoneFlags,
): number {
  const equals = argument.indexOf('=');
  const name = argument.slice(0, equals < 0 ? undefined : equals).replace(/^--?/, '');
  const attached = equals < 0 ? undefined : argument.slice(equals + 1);
  const following = next === undefined || next.startsWith('--') ? undefined : next;
  const shape = argument.startsWith('--') ? shapes.find(({ flag }) => flag === name) : undefined;
  if (shape === undefined) {
    reader.problems.push(
      goneFlag(argument, name, gone) ?? unknownFlag(argument.startsWith('--') ? '--' : '-', name, shapes),
    );
    return attached === undefined && following !== undefined && !following.startsWith('-') ? 1 : 0;
  }
  const isAlone = attached === undefined && following === undefined;
  const value = attached ?? (shape.placeholder === null ? 'true' : (following ?? shape.alone ?? undefined));
  if (value === undefined) {
    const message = `expected a value after it: --${name} ${shape.placeholder}`;
    reader.problems.push({ setting: name, place: `flag --${name}`, message });
    return 0;
  }
  const text = shape.placeholder === null ? readSwitch(value)?.toString() : value;
  if (text === undefined) {
    const message = `expected ${SWITCH_EXPECTED}, got ${JSON.stringify(value.slice(0, 200))}`;
    reader.problems.push({ setting: name, place: `flag --${name}`, message });
  } else reader.values.set(name, [...(reader.values.get(name) ?? []), text]);
  return attached === undefined && !isAlone && shape.placeholder !== null ? 1 : 0;
}

/** Matches a flag whose hyphens a messenger or a web page has turned into a dash. */
const DASHED = /^-?[\u2010-\u2015\u2212]+([a-z][a-z-]{0,31})(?==|$)/;

function dashedFlag(argument: string, name: string): SettingProblem {
  const shown = argument.slice(0, argument.indexOf(name) + name.length);
  return {
    setting: '',
    place: 'command line',
    message: `${shown} is no flag, its dash is no hyphen: --${name} with two`,
  };
}

/** Names that other programs, and other commands here, use for flags. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  b: ['bind'],
  c: ['config'],
  f: ['config'],
  file: ['config'],
  host: ['bind'],
  listen: ['bind'],
  p: ['bind'],
  port: ['bind'],
  upstream: ['target'],
  url: ['target', 'upstream'],
};

function goneFlag(argument: string, name: string, gone: GoneFlags): SettingProblem | null {
  const instead = argument.startsWith('--') && Object.hasOwn(gone, name) ? gone[name] : undefined;
  return instead === undefined ? null : { setting: '', place: `flag --${name}`, message: `is gone: ${instead}` };
}

/** Prints the flag only as far as it can be a flag's name, because a secret may follow without a space. */
function unknownFlag(dashes: string, name: string, shapes: readonly FlagShape[]): SettingProblem {
  const known = shapes.map(({ flag }) => flag);
  const shown = /^[a-z][a-z-]{0,31}$/i.test(name) ? `${dashes}${name}` : `${dashes}…`;
  const others = Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? []) : [name.replace(/^no-/, '')];
  const other = others.find((flag) => known.includes(flag));
  const meant = other === undefined ? didYouMean(name, known, '--') : ` (did you mean --${other}?)`;
  return { setting: '', place: `flag ${shown}`, message: `there is no such flag${meant}` };
}
