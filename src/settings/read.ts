import { resolve } from 'node:path';
import { didYouMean } from '../wire/suggest.js';
import { crossProblems, homeOf } from './cross.js';
import { memberPlace, readSettingsFile, type SettingsFile, unknownMembers } from './file.js';
import { type FlagShape, parseFlags, type SettingProblem } from './flags.js';
import { GONE, GONE_SHAPES, goneWarnings } from './gone.js';
import type { HomePlaceOf } from './home.js';
import type { NamedPlace } from './kinds.js';
import { findSetting, type SettingsSources } from './sources.js';
import {
  HOME_SETTINGS,
  memberOf,
  SETTINGS,
  type Setting,
  type Settings,
  type SettingValues,
  variableOf,
} from './table.js';

/** The flag that names Keyway's own settings file; no setting itself. */
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
  /** One sentence for each setting that is gone, and for each variable that was likely meant to be a setting and is none. */
  readonly warnings: readonly string[];
  readonly settings: Settings;
  /** The places of the machine that a row's value names. */
  places(name: SettingName): readonly NamedPlace[];
}

export type SettingName = keyof SettingValues;

// Object.keys knows no more than string; the table's own type lists exactly these names.
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

/** Reads a command line of these flags, those of settings that are gone, and no words, and then the settings among them. */
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
 * Reads settings from flags, environment and settings file, in this order of weight, and reports all problems at once.
 * Settings that are not among `names` are not looked at and have their defaults, or the value in `given`.
 * An empty variable counts as unset.
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
  // Each value is of its row's type, which the entries do not show.
  const taken = { ...Object.fromEntries(SETTING_NAMES.map((name) => [name, take(name)])), ...given } as SettingValues;
  // A state elsewhere has no configuration file; one that is named all the same is a problem.
  const isElsewhere = taken.upstream !== null || taken.database !== null;
  const values = isElsewhere && !places.has('config') ? { ...taken, config: null } : taken;
  // With a bad revision the mounts are not what was meant, and what names them cannot be judged.
  if (!problems.some(({ setting }) => setting === SETTINGS.revision.flag))
    problems.push(...crossProblems(values, (name) => places.get(name) ?? 'default'));
  if (problems.length > 0) return { ok: false, problems };
  const warnings = [...goneIn(sources, file), ...misspeltVariables(sources.environment)];
  return { ok: true, warnings, settings: settingsOf(values), places: (name) => placesOf(SETTINGS[name], values[name]) };
}

/** The database that holds the state where no flag names a file: one that lies here by chance is not what was meant. */
export async function databaseMeant(sources: SettingsSources): Promise<HomePlaceOf<'database'> | null> {
  if ([SETTINGS.config, SETTINGS.dataDir].some(({ flag }) => sources.flags.values.has(flag))) return null;
  const answer = await readSettings(sources, ['database']);
  return answer.ok && answer.settings.home.kind === 'database' ? answer.settings.home : null;
}

const PREFIX = 'KEYWAY_';
/** Variables that commands read besides the settings. */
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

/** Every flag that a variable or a member may be named after. */
const NAMED_FLAGS: readonly string[] = [
  ...SETTING_NAMES.flatMap((name) => [SETTINGS[name].flag, SETTINGS[name].negation?.flag ?? []].flat()),
  ...GONE.map(({ flag }) => flag),
];

/** Never more than a warning: others may call things of theirs so. */
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
