import { dirname } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import { failureWords } from '../platform/failure-words.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import { didYouMean } from '../wire/suggest.js';
import type { SettingProblem } from './flags.js';
import { parseJsonc } from './jsonc.js';
import { memberOf, type Setting } from './table.js';

/** The content of Keyway's own settings file. */
export interface SettingsFile {
  readonly path: string;
  /** The file's own folder, where relative paths in it start. */
  readonly folder: string;
  readonly members: JsonObject;
}

/** Reads the settings file: JSON with comments, an object at its root. A file that cannot be read is one problem. */
export async function readSettingsFile(
  path: string,
  place: string,
  read: (path: string, limit: number) => Promise<Uint8Array>,
): Promise<SettingsFile | SettingProblem> {
  try {
    const members = parseJsonc(await read(path, FILE_LIMITS.settings));
    if (isJsonObject(members)) return { path, folder: dirname(path), members };
    return { setting: 'settings', place, message: `${path}: expected a JSON object` };
  } catch (error) {
    return { setting: 'settings', place, message: `${path}: ${failureWords(error)}` };
  }
}

/** Returns the texts of one member; undefined if it is absent or null. */
export function memberTexts(
  file: SettingsFile,
  name: string,
  setting: Pick<Setting<unknown>, 'flag' | 'member' | 'repeatable'>,
): readonly string[] | SettingProblem | undefined {
  const value = Object.hasOwn(file.members, name) ? file.members[name] : undefined;
  if (value === undefined || value === null) return undefined;
  const elements = setting.repeatable && Array.isArray(value) ? value : [value];
  const texts = elements.map((element) => textOf(element, setting.member));
  if (texts.every((text) => text !== undefined)) return texts;
  const list = setting.repeatable ? ', or an array of them' : '';
  return { setting: setting.flag, place: memberPlace(file, name), message: `expected a JSON ${setting.member}${list}` };
}

function textOf(value: JsonValue, type: Setting<unknown>['member']): string | undefined {
  if (type === 'string') return typeof value === 'string' ? value : undefined;
  if (type === 'integer') return typeof value === 'bigint' ? String(value) : undefined;
  if (type === 'string or boolean' && typeof value === 'string') return value;
  return typeof value === 'boolean' ? String(value) : undefined;
}

export function memberPlace(file: SettingsFile, name: string): string {
  return `member "${name}" of ${file.path}`;
}

export function unknownMembers(file: SettingsFile, flags: readonly string[]): readonly SettingProblem[] {
  const known = flags.map(memberOf);
  return Object.keys(file.members)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const message = `there is no such setting${didYouMean(name, known)}`;
      return { setting: '', place: memberPlace(file, name.slice(0, 64)), message };
    });
}
