import { resolve } from 'node:path';
import { SETTINGS, type Setting, type Settings, variableOf } from './settings.js';
import { crossProblems } from './settings-cross.js';
import { readSettingsFile, type SettingsFile, unknownMembers } from './settings-file.js';
import { type FlagShape, parseFlags, type SettingProblem } from './settings-flags.js';
import { findSetting, type SettingsSources } from './settings-sources.js';

/** The flag that names Keyway's own settings file; no setting itself. */
export const SETTINGS_FLAG: FlagShape & { readonly description: string } = {
  flag: 'settings',
  placeholder: 'FILE',
  repeatable: false,
  offered: 'paths',
  description:
    "A settings file of Keyway's own: JSON with comments, the settings by their member names. Relative paths in it start at its folder.",
};

export type SettingsAnswer =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly problems: readonly SettingProblem[] };

export type SettingName = keyof Settings;

// Object.keys knows no more than string; the table's own type lists exactly these names.
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** The flags that these settings add to a command, in the table's order. */
export function settingFlags(names: readonly SettingName[] = SETTING_NAMES): readonly FlagShape[] {
  const rows = SETTING_NAMES.filter((name) => names.includes(name)).map((name) => SETTINGS[name]);
  const shapes = rows.flatMap(({ flag, placeholder, repeatable, negation, offered }) => [
    { flag, placeholder, repeatable, offered },
    ...(negation === null ? [] : [{ flag: negation.flag, placeholder: null, repeatable: false }]),
  ]);
  return [...shapes, SETTINGS_FLAG];
}

/** Reads a command line that holds nothing but settings, and then the settings themselves. */
export async function settingsFromCommandLine(
  argv: readonly string[],
  sources: Omit<SettingsSources, 'flags'>,
): Promise<SettingsAnswer> {
  const flags = parseFlags(argv, settingFlags());
  const { words } = flags;
  if (words.length === 0) return readSettings({ ...sources, flags });
  const message = `${words.length === 1 ? 'one word belongs' : `${words.length} words belong`} to no flag; expected flags only, the configuration file as --config FILE`;
  const problems = [...flags.problems, { setting: '', place: 'command line', message }];
  return readSettings({ ...sources, flags: { ...flags, problems } });
}

/**
 * Reads settings from flags, environment and settings file, in this order of weight, and reports all problems at once.
 * Settings that are not among `names` are not looked at and have their defaults. An empty variable counts as unset.
 */
export async function readSettings(
  sources: SettingsSources,
  names: readonly SettingName[] = SETTING_NAMES,
): Promise<SettingsAnswer> {
  const problems = [...sources.flags.problems];
  const file = await openSettingsFile(sources, problems);
  const places = new Map<SettingName, string>();
  const take = <Name extends SettingName>(name: Name): Settings[Name] => {
    const setting: Setting<Settings[Name]> = SETTINGS[name];
    const found = names.includes(name) ? findSetting(setting, sources, file, problems) : undefined;
    if (found === undefined) return setting.fallback(sources.folder);
    places.set(name, found.place);
    return found.value;
  };
  const settings = takeAll(take);
  // With a bad revision the mounts are not what was meant, and what names them cannot be judged.
  if (!problems.some(({ setting }) => setting === SETTINGS.revision.flag))
    problems.push(...crossProblems(settings, (name) => places.get(name) ?? 'default', sources.revisionProblem));
  return problems.length === 0 ? { ok: true, settings } : { ok: false, problems };
}

function takeAll(take: <Name extends SettingName>(name: Name) => Settings[Name]): Settings {
  return {
    config: take('config'),
    revision: take('revision'),
    serverHost: take('serverHost'),
    serverPort: take('serverPort'),
    shareScheme: take('shareScheme'),
    shareQuery: take('shareQuery'),
    bind: take('bind'),
    tlsCert: take('tlsCert'),
    tlsKey: take('tlsKey'),
    subscriptionBind: take('subscriptionBind'),
    token: take('token'),
    webpath: take('webpath'),
    username: take('username'),
    passwordHash: take('passwordHash'),
    allowOpen: take('allowOpen'),
    dataDir: take('dataDir'),
    panelDir: take('panelDir'),
    panelServer: take('panelServer'),
    protectAudit: take('protectAudit'),
    trustProxy: take('trustProxy'),
    allowHost: take('allowHost'),
    reportVersion: take('reportVersion'),
    loginGuard: take('loginGuard'),
    maxConnections: take('maxConnections'),
    inPlace: take('inPlace'),
    guardConfig: take('guardConfig'),
    feedBind: take('feedBind'),
    feedToken: take('feedToken'),
    opsBind: take('opsBind'),
    keepGone: take('keepGone'),
    noResolver: take('noResolver'),
    listFolder: take('listFolder'),
    logLevel: take('logLevel'),
  };
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
    const flags = SETTING_NAMES.flatMap((name) => [SETTINGS[name].flag, SETTINGS[name].negation?.flag ?? []].flat());
    problems.push(...unknownMembers(file, flags));
    return file;
  }
  problems.push(file);
  return null;
}
