import { resolve } from 'node:path';
import type { ParsedFlags } from '../../settings/flags.js';
import type { NamedPlace } from '../../settings/kinds.js';
import { SETTING_NAMES, SETTINGS_FLAG, type SettingName } from '../../settings/read.js';
import { SETTINGS, type Setting, type Settings } from '../../settings/table.js';

/** What one setting names of the machine. */
export function placesOf(settings: Settings, name: SettingName): readonly NamedPlace[] {
  const setting: Setting<unknown> = SETTINGS[name];
  return setting.names(settings[name]);
}

/**
 * The flags of a command line, to be given again from another folder: paths are absolute, and the configuration file, or
 * the data folder where there is none, is always named. `settings` is what the flags were read to.
 */
export function flagsElsewhere({ values }: ParsedFlags, settings: Settings, folder: string): readonly string[] {
  const config = settings.config === null ? withoutConfig(settings) : [`--${SETTINGS.config.flag}=${settings.config}`];
  const file = (values.get(SETTINGS_FLAG.flag) ?? []).map((text) => `--${SETTINGS_FLAG.flag}=${resolve(folder, text)}`);
  const others = SETTING_NAMES.filter((name) => name !== 'config').flatMap((name) => {
    const { flag, negation, placeholder } = SETTINGS[name];
    const places = placesOf(settings, name);
    const given = values.get(flag) ?? [];
    const texts = places.length > 0 && given.length > 0 ? places.map(({ text }) => text) : given;
    const negated = negation === null ? [] : (values.get(negation.flag) ?? []);
    return [
      ...texts.map((text) => (placeholder === null ? switchText(flag, text) : `--${flag}=${text}`)),
      ...negated.map((text) => switchText(negation?.flag ?? '', text)),
    ];
  });
  return [...config, ...file, ...others];
}

/** In front of a running server the data folder's place depends on the folder in which Keyway is started. */
function withoutConfig({ upstream, dataDir }: Settings): readonly string[] {
  if (upstream === null) return [`--${NO_CONFIG}`];
  return dataDir === null ? [`--${SETTINGS.dataDir.flag}=${upstream.dataFolder}`] : [];
}

const NO_CONFIG = SETTINGS.config.negation?.flag ?? '';

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
