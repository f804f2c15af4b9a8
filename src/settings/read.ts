import { resolve } from 'node:path';
import { didYouMean } from '../wire/suggest.js';
import { crossProblems, homeOf } from './cross.js';
import { memberPlace, readSettingsFile, type SettingsFile, unknownMembers } from './file.js';
import { type FlagShape, parseFlags, type SettingProblem } from './flags.js';
import { GONE, GONE_SHAPES, goneWarnings } from './gone.js';
import type { HomePlaceOf } from './home.js';
import type { NamedPlace } from './kinds.js';
import { findSetting, isEmpty, type SettingsSources } from './sources.js';
import {
  HOME_SETTINGS,
  memberOf,
  SETTINGS,
  type Setting,
  type Settings,
  type SettingValues,
  variableOf,
} from './table.js';

/** The flag that names Keyway's own settings file; it is not a setting itself. */
export const SETTINGS_FLAG: FlagShape & { readonly description: string } = {
  flag: 'settings',
  placeholder: 'FILE',
  repeatable: false,
  offered: 'paths',
  description:
    "A settings file of Keyway's own: JSON with comments, the settings by their member names. Relative paths in it start at its folder.",
};

export type SettingsAnswer = SettingsRead | { readonly ok: false; readonly problems: readonly SettingProblem[] };

/** Settings without a problem. */
export interface SettingsRead {
  readonly ok: true;
  /**
   * One sentence for each removed setting, each flag with an empty value, and each variable that looks like a misspelt
   * setting.
   */
  readonly warnings: readonly string[];
  readonly settings: Settings;
  /** Returns the places on this machine that a row's value names. */
  places(name: SettingName): readonly NamedPlace[];
}

export type SettingName = keyof SettingValues;

// Object.keys is typed as string; the table's own type lists exactly these names.
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** The flags that these settings add to a command, in the table's order. */
export function settingFlags(names: readonly SettingName[] = SETTING_NAMES): readonly FlagShape[] {
  const rows = SETTING_NAMES.filter((name) => names.includes(name)).map((name) => SETTINGS[name]);
  const shapes = rows.flatMap(({ flag, placeholder, alone, repeatable, negation, offered }) => [
    { flag, placeholder, alone, repeatable, offered },
    ...(negation === null ? [] : [{ flag: negation.flag, placeholder: null, repeatable: false }]),
  ]);
  return [...shapes, SETTINGS_FLAG];
}

/** Reads a command line of these flags and those of removed settings, without words, and the settings in it. */
export async function settingsFromCommandLine(
  argv: readonly string[],
  sources: Omit<SettingsSources, 'flags'>,
  shapes = settingFlags(),
): Promise<SettingsAnswer> {
  const flags = parseFlags(argv, [...shapes, ...GONE_SHAPES]);
  const { words } = flags;
  if (words.length === 0) return readSettings({ ...sources, flags });
  const message = `${words.length === 1 ? 'one word belongs' : `${words.length} words belong`} to no flag; expected flags only, the configuration file as --config FILE`;
  const problems = [...flags.problems, { setting: '', place: 'command line', message }];
  return readSettings({ ...sources, flags: { ...flags, problems } });
}

/**
 * Reads settings from flags, environment and settings file, in this order of precedence, and reports all problems at
 * once. Settings that are not among `names` are not read; they have their defaults, or the value in `given`. An empty
 * variable counts as unset.
 */
export async function readSettings(
  sources: SettingsSources,
  names: readonly SettingName[] = SETTING_NAMES,
  given: Partial<SettingValues> = {},
): Promise<SettingsAnswer> {
  const problems = [...sources.flags.problems];
  const file = await openSettingsFile(sources, problems);
  const places = new Map<SettingName, string>();
  const take = (name: SettingName): unknown => {
    const setting: Setting<unknown> = SETTINGS[name];
    const found = names.includes(name) ? findSetting(setting, sources, file, problems) : undefined;
    if (found === undefined) return setting.fallback(sources.folder);
    places.set(name, found.place);
    return found.value;
  };
  // Each value has its row's type, which the entries do not express.
  const taken = { ...Object.fromEntries(SETTING_NAMES.map((name) => [name, take(name)])), ...given } as SettingValues;
  // A state elsewhere has no configuration file; naming one anyway is a problem.
  const isElsewhere = taken.upstream !== null || taken.database !== null;
  const values = isElsewhere && !places.has('config') ? { ...taken, config: null } : taken;
  // With an invalid revision the mounts are unknown, so options that name them cannot be checked.
  if (!problems.some(({ setting }) => setting === SETTINGS.revision.flag))
    problems.push(...crossProblems(values, (name) => places.get(name) ?? 'default'));
  if (problems.length > 0) return { ok: false, problems };
  const warnings = [...goneIn(sources, file), ...emptyFlags(sources, names), ...misspeltVariables(sources.environment)];
  return { ok: true, warnings, settings: settingsOf(values), places: (name) => placesOf(SETTINGS[name], values[name]) };
}

/** Returns the database in the settings, unless a flag names a file; a file that happens to be here is not meant. */
export async function databaseMeant(sources: SettingsSources): Promise<HomePlaceOf<'database'> | null> {
  if ([SETTINGS.config, SETTINGS.dataDir].some(({ flag }) => sources.flags.values.has(flag))) return null;
  const answer = await readSettings(sources, ['database']);
  return answer.ok && answer.settings.home.kind === 'database' ? answer.settings.home : null;
}

const PREFIX = 'KEYWAY_';
/** Variables that commands read in addition to the settings. */
const OTHER_VARIABLES = ['KEYWAY_USERNAME', 'KEYWAY_PASSWORD'];
/** Variables that orchestrators set for a service that is called keyway. */
const OF_ORCHESTRATORS = /^KEYWAY_(?:.*_)?(?:SERVICE_(?:HOST|PORT(?:_.*)?)|PORT(?:_\d+_(?:TCP|UDP)(?:_.*)?)?)$/;

function goneIn({ flags, environment }: SettingsSources, file: SettingsFile | null): readonly string[] {
  return goneWarnings(({ flag }) => [
    ...(flags.values.has(flag) ? [`flag --${flag}`] : []),
    ...((environment[variableOf(flag)] ?? '') === '' ? [] : [`environment variable ${variableOf(flag)}`]),
    ...(file !== null && Object.hasOwn(file.members, memberOf(flag)) ? [memberPlace(file, memberOf(flag))] : []),
  ]);
}

function emptyFlags({ flags }: SettingsSources, names: readonly SettingName[]): readonly string[] {
  const rows = names.map((name) => SETTINGS[name]).filter(({ needsText }) => needsText);
  return rows.flatMap(({ flag, defaultText }) => {
    const texts = flags.values.get(flag);
    if (texts === undefined || !isEmpty(texts)) return [];
    return [`flag --${flag}: empty, and counts as not given: ${defaultText}`];
  });
}

/** Every flag that a variable or a member may be named after. */
const NAMED_FLAGS: readonly string[] = [
  ...SETTING_NAMES.flatMap((name) => [SETTINGS[name].flag, SETTINGS[name].negation?.flag ?? []].flat()),
  ...GONE.map(({ flag }) => flag),
];

/** Returns warnings, never errors, because others may use such names for their own variables. */
function misspeltVariables(environment: SettingsSources['environment']): readonly string[] {
  const known = [...[SETTINGS_FLAG.flag, ...NAMED_FLAGS].map(variableOf), ...OTHER_VARIABLES];
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith(PREFIX) || known.includes(name) || OF_ORCHESTRATORS.test(name)) return [];
    const endings = known.map((each) => each.slice(PREFIX.length));
    const meant = didYouMean(name.slice(PREFIX.length), endings, PREFIX);
    return meant === '' ? [] : [`environment variable ${name}: there is no such setting${meant}`];
  });
}

function placesOf(setting: Setting<unknown>, value: unknown): readonly NamedPlace[] {
  return setting.names(value);
}

function settingsOf(values: SettingValues): Settings {
  const others = Object.entries(values).filter(([name]) => !HOME_SETTINGS.some((ofHome) => ofHome === name));
  // Only the rows of the home were left out.
  return { ...Object.fromEntries(others), home: homeOf(values) } as Settings;
}

async function openSettingsFile(sources: SettingsSources, problems: SettingProblem[]): Promise<SettingsFile | null> {
  const flag = sources.flags.values.get(SETTINGS_FLAG.flag)?.[0];
  const variable = variableOf(SETTINGS_FLAG.flag);
  const text = flag ?? sources.environment[variable] ?? '';
  if (text === '' && flag === undefined) return null;
  const place = flag === undefined ? `environment variable ${variable}` : `flag --${SETTINGS_FLAG.flag}`;
  if (text === '' || text.includes('\0')) {
    problems.push({ setting: SETTINGS_FLAG.flag, place, message: 'expected a path' });
    return null;
  }
  const file = await readSettingsFile(resolve(sources.folder, text), place, sources.readFile);
  if ('members' in file) {
    problems.push(...unknownMembers(file, NAMED_FLAGS));
    return file;
  }
  problems.push(file);
  return null;
}
