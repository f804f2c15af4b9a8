import { SETTING_NAMES, SETTINGS_FLAG, type SettingName } from './read.js';
import { SETTINGS, variableOf } from './table.js';
import { helpList } from './text.js';

/** Returns the settings as the list of a help text. */
export function settingsHelp(names: readonly SettingName[] = SETTING_NAMES): string {
  const rows = SETTING_NAMES.filter((name) => names.includes(name)).map((name) => SETTINGS[name]);
  const entries = rows.map(({ flag, placeholder, negation, defaultText, description }) => ({
    term: [usage(flag, placeholder), ...(negation === null ? [] : [`--${negation.flag}`])].join(', '),
    meaning: `${description} (default: ${defaultText}; ${variableOf(flag)})`,
  }));
  const { flag, placeholder, description } = SETTINGS_FLAG;
  return helpList([...entries, { term: usage(flag, placeholder), meaning: `${description} (${variableOf(flag)})` }]);
}

/** Returns a flag as it is typed, with the name of its value. */
export function usage(flag: string, placeholder: string | null): string {
  return placeholder === null ? `--${flag}` : `--${flag} ${placeholder}`;
}
