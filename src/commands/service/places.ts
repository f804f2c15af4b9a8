import { dirname } from 'node:path';
import { SETTING_NAMES, type SettingsRead } from '../../settings/read.js';
import { isWithin, runtimeName, STATE_FOLDER } from './unit.js';

/** The needs that a service has of the machine. */
export interface ServicePlaces {
  /** Folders in which something is written, none within another. */
  readonly writable: readonly string[];
  readonly readable: readonly string[];
  /** Ports that the settings name. */
  readonly ports: readonly number[];
}

/** `configFolders` are the folders in which configuration files stand once links are followed. */
export function servicePlaces({ settings, places }: SettingsRead, configFolders: readonly string[]): ServicePlaces {
  const named = SETTING_NAMES.filter((name) => name !== 'config' && name !== 'dataDir').flatMap(places);
  const { dataFolder } = settings.home;
  const written = [
    ...configFolders,
    ...(dataFolder === null ? [] : [dataFolder]),
    ...named.flatMap((place) => (place.kind === 'socket' ? [dirname(place.path)] : [])),
  ];
  return {
    writable: outermost(written),
    readable: named.flatMap((place) => (place.kind === 'path' ? [place.path] : [])),
    ports: named.flatMap((place) => (place.kind === 'port' ? [place.port] : [])),
  };
}

function outermost(folders: readonly string[]): readonly string[] {
  const distinct = [...new Set(folders)];
  return distinct.filter((folder) => !distinct.some((other) => other !== folder && isWithin(folder, other)));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

const RUN = '/run';
const ROOT = new Set(['root', '0']);

/** Problems that no unit can express, or that would keep the service from starting. */
export function placeProblems({ writable }: ServicePlaces, words: readonly string[], user: string | null): string[] {
  const unsayable = words.filter((word) => CONTROL_CHARACTER.test(word));
  const made = (folder: string) => isWithin(folder, STATE_FOLDER) || runtimeName(folder) !== null;
  const foreign = user === null ? writable.filter((folder) => !made(folder) && folder !== RUN) : [];
  const rootsOwn = ROOT.has(user ?? '') ? [] : writable.filter((folder) => folder === RUN);
  return [
    ...rootsOwn.map(
      () => `expected sockets in a folder of their own, such as ${RUN}/keyway: in ${RUN} itself root alone makes any`,
    ),
    ...unsayable.map((word) => `expected no control characters in what a unit names, got ${JSON.stringify(word)}`),
    ...foreign.map(
      (folder) =>
        `user (flag --user): expected the owner of ${folder}: without --user the service gets a user of its own, which can write only in ${STATE_FOLDER}`,
    ),
  ];
}
