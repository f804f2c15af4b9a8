import { memberPlace, memberTexts, type SettingsFile } from './file.js';
import type { ParsedFlags, SettingProblem } from './flags.js';
import { onOrOff } from './kinds.js';
import { memberOf, type Setting, variableOf } from './table.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that settings are read from. */
export interface SettingsSources {
  readonly flags: ParsedFlags;
  readonly environment: Environment;
  /** The working folder: relative paths of flags and variables start here. */
  readonly folder: string;
  /** Reads a whole file of at most `limit` bytes. */
  readonly readFile: (path: string, limit: number) => Promise<Uint8Array>;
}

/** A flag's value in one source. */
interface Said {
  readonly place: string;
  readonly texts: readonly string[];
  readonly folder: string;
}

/** The form that a flag's value has in the sources. */
type Shape = Pick<Setting<unknown>, 'member' | 'repeatable'> & Partial<Pick<Setting<unknown>, 'needsText'>>;

type Source = (flag: string, shape: Shape) => Said | SettingProblem | undefined;

/** Lists the three sources, in order of precedence. */
function sourcesOf({ flags, environment, folder }: SettingsSources, file: SettingsFile | null): readonly Source[] {
  return [
    (flag, { needsText = false }) => {
      const texts = flags.values.get(flag);
      return texts === undefined || (needsText && isEmpty(texts))
        ? undefined
        : { place: `flag --${flag}`, texts, folder };
    },
    (flag, { repeatable }) => {
      const text = environment[variableOf(flag)] ?? '';
      if (text === '') return undefined;
      const texts = repeatable ? text.split(',').map((part) => part.trim()) : [text];
      return { place: `environment variable ${variableOf(flag)}`, texts, folder };
    },
    (flag, shape) => {
      if (file === null) return undefined;
      const texts = memberTexts(file, memberOf(flag), { ...shape, flag });
      if (texts === undefined || 'message' in texts) return texts;
      return { place: memberPlace(file, memberOf(flag)), texts, folder: file.folder };
    },
  ];
}

/** Tells whether a flag has only empty texts. */
export function isEmpty(texts: readonly string[]): boolean {
  return texts.every((text) => text === '');
}

interface Found<T> {
  readonly place: string;
  readonly value: T;
}

/**
 * Returns the value of a setting from the source that takes precedence, and its place; undefined if no source gives
 * one. All sources are read, so that a problem in an overridden one is reported, too.
 */
export function findSetting<T>(
  setting: Setting<T>,
  sources: SettingsSources,
  file: SettingsFile | null,
  problems: SettingProblem[],
): Found<T> | undefined {
  let found: Found<T> | undefined;
  for (const source of sourcesOf(sources, file)) {
    const given = readSaid(setting, source(setting.flag, setting), problems);
    const negated = negatedBy(setting, source, problems);
    if (given !== undefined && negated !== undefined) {
      const message = `expected either this or --${setting.negation?.flag}, not both`;
      problems.push({ setting: setting.flag, place: given.place, message });
    }
    found ??= given ?? negated;
  }
  return found;
}

/** Returns the value that the setting's negation stands for, if a source switches it on. */
function negatedBy<T>({ negation }: Setting<T>, source: Source, problems: SettingProblem[]): Found<T> | undefined {
  if (negation === null) return undefined;
  const reader = {
    flag: negation.flag,
    secret: false,
    expected: onOrOff.expected,
    read: ([text = '']: readonly string[], folder: string) => {
      const value = onOrOff.read(text, folder);
      return value === undefined ? { bad: [text] } : { value };
    },
  };
  const on = readSaid(reader, source(negation.flag, { member: onOrOff.member, repeatable: false }), problems);
  return on?.value === true ? { place: on.place, value: negation.value } : undefined;
}

function readSaid<T>(
  setting: Pick<Setting<T>, 'flag' | 'secret' | 'expected' | 'read'> & Partial<Pick<Setting<T>, 'hint'>>,
  said: Said | SettingProblem | undefined,
  problems: SettingProblem[],
): Found<T> | undefined {
  if (said === undefined) return undefined;
  if ('message' in said) {
    problems.push(said);
    return undefined;
  }
  const read = setting.read(said.texts, said.folder);
  if ('value' in read) return { place: said.place, value: read.value };
  for (const bad of read.bad) {
    const got = setting.secret
      ? ' (the value is not shown)'
      : `, got ${JSON.stringify(withoutUser(bad).slice(0, 200))}`;
    const message = `expected ${setting.expected}${got}${setting.hint?.(bad) ?? ''}`;
    problems.push({ setting: setting.flag, place: said.place, message });
  }
  return undefined;
}

/**
 * Returns a text without what may be a name and password in it: all up to the last `@`, because neither a forgotten
 * scheme nor a `/` in a password ends them.
 */
function withoutUser(text: string): string {
  return text.replace(/(?<=:\/\/).*@|^(?!.*:\/\/).*:.*@/s, '…@');
}
