import { SETTING_NAMES, SETTINGS_FLAG, type SettingName } from './read.js';
import { memberOf, SETTINGS, variableOf } from './table.js';
import { helpList, markdownTable } from './text.js';

/** The settings as a help text's list. */
export function settingsHelp(names: readonly SettingName[] = SETTING_NAMES): string {
  const rows = SETTING_NAMES.filter((name) => names.includes(name)).map((name) => SETTINGS[name]);
  const entries = rows.map(({ flag, placeholder, negation, defaultText, description }) => ({
    term: [usage(flag, placeholder), ...(negation === null ? [] : [`--${negation.flag}`])].join(', '),
    meaning: `${description} (default: ${defaultText}; ${variableOf(flag)})`,
  }));
  const { flag, placeholder, description } = SETTINGS_FLAG;
  return helpList([...entries, { term: usage(flag, placeholder), meaning: `${description} (${variableOf(flag)})` }]);
}

/** The table of docs/settings.md. */
export function settingsTable(): string {
  const rows = SETTING_NAMES.map((name) => SETTINGS[name]).map((setting) => {
    const { flag, placeholder, negation, defaultText, description } = setting;
    const flags = [usage(flag, placeholder), ...(negation === null ? [] : [`--${negation.flag}`])];
    return [flags.map(code).join('<br>'), code(variableOf(flag)), code(memberOf(flag)), defaultText, description];
  });
  const { flag, placeholder, description } = SETTINGS_FLAG;
  const own = [code(usage(flag, placeholder)), code(variableOf(flag)), '', 'none', description];
  return markdownTable(['flag', 'environment', 'member', 'default', 'meaning'], [...rows, own]);
}

function code(text: string): string {
  return `\`${text}\``;
}

function usage(flag: string, placeholder: string | null): string {
  return placeholder === null ? `--${flag}` : `--${flag} ${placeholder}`;
}
