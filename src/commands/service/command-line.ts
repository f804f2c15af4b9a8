import { resolve } from 'node:path';
import type { ParsedFlags } from '../../settings/flags.js';
import { SETTING_NAMES, SETTINGS_FLAG, type SettingsRead } from '../../settings/read.js';
import { SETTINGS } from '../../settings/table.js';

/**
 * The flags of a command line, to be given again from another folder: paths are absolute, and the home of the state is always
 * named. `read` is what the flags were read to.
 */
export function flagsElsewhere(
  { values }: ParsedFlags,
  { settings, places: placesOf }: SettingsRead,
  folder: string,
): readonly string[] {
  const home = settings.home.flags;
  const isNamed = (flag: string) => home.some((text) => text.startsWith(`--${flag}=`));
  const file = (values.get(SETTINGS_FLAG.flag) ?? []).map((text) => `--${SETTINGS_FLAG.flag}=${resolve(folder, text)}`);
  const others = SETTING_NAMES.filter((name) => name !== 'config' && !isNamed(SETTINGS[name].flag)).flatMap((name) => {
    const { flag, negation, placeholder } = SETTINGS[name];
    const places = placesOf(name);
    const given = values.get(flag) ?? [];
    const texts = places.length > 0 && given.length > 0 ? places.map(({ text }) => text) : given;
    const negated = negation === null ? [] : (values.get(negation.flag) ?? []);
    return [
      ...texts.map((text) => (placeholder === null ? switchText(flag, text) : `--${flag}=${text}`)),
      ...negated.map((text) => switchText(negation?.flag ?? '', text)),
    ];
  });
  return [...home, ...file, ...others];
}

function switchText(flag: string, text: string): string {
  return text === 'true' ? `--${flag}` : `--${flag}=${text}`;
}

/** Settings whose value a unit file would show to every user of the machine, as problems. */
export function secretProblems({ values }: ParsedFlags): readonly string[] {
  const secret = SETTING_NAMES.map((name) => SETTINGS[name]).filter(
    (setting) => setting.secret && values.has(setting.flag),
  );
  return secret.map(
    ({ flag }) =>
      `${flag} (flag --${flag}): expected in a settings file (--${SETTINGS_FLAG.flag} FILE): every user of the machine can read a unit`,
  );
}
