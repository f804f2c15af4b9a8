import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../core/errors.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { FileSystemPort } from '../../core/ports.js';
import { readScenario, type Scenario } from '../format/scenario.js';
import { ShapeError } from '../format/shape.js';
import { type DivergenceRegister, readDivergences } from './divergences.js';

/** A scenario with its file. */
export interface ScenarioFile {
  readonly kind: 'scenario';
  /** Its shown name, relative to the folder that was given. */
  readonly name: string;
  readonly path: string;
  readonly scenario: Scenario;
  /** The known differences of Keyway from servers' answers; null without a register. */
  readonly register: DivergenceRegister | null;
}

export interface BrokenFile {
  readonly kind: 'broken';
  readonly name: string;
  readonly path: string;
  /** Names the file, the JSON path and what was expected there. */
  readonly problem: string;
}

/** Folders of a pack that contain no scenarios. */
const OTHER_FOLDERS = new Set(['divergences', 'samples']);

/**
 * Reads the scenarios in files and folders (including all below them), in the order given and by name within a folder.
 * An invalid scenario file is listed as broken. `isWanted` is called with the name of each folder, including the given
 * ones. Rejects with an `Error` for the user if a path cannot be read at all.
 */
export async function readScenarioFiles(
  paths: readonly string[],
  fileSystem: FileSystemPort,
  isWanted: (folder: string) => boolean = () => true,
): Promise<readonly (ScenarioFile | BrokenFile)[]> {
  const search = { fileSystem, isWanted };
  const found = (await Promise.all(paths.map((path) => filesIn(path, basename(path), search)))).flat();
  const registers = new Map<string, Promise<DivergenceRegister | null>>();
  const registerOf = (path: string) => {
    const folder = dirname(path);
    const known = registers.get(folder) ?? readRegister(folder, fileSystem);
    registers.set(folder, known);
    return known;
  };
  return Promise.all(found.map((each) => readOne(each, registerOf, fileSystem)));
}

interface FoundFile {
  readonly path: string;
  readonly name: string;
}

interface Search {
  readonly fileSystem: FileSystemPort;
  readonly isWanted: (folder: string) => boolean;
}

async function filesIn(path: string, name: string, search: Search): Promise<readonly FoundFile[]> {
  const { fileSystem, isWanted } = search;
  const { kind } = await fileSystem.stat(path).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
  });
  if (kind !== 'folder') return [{ path, name }];
  if (!isWanted(basename(path))) return [];
  const names = [...(await fileSystem.list(path))].sort();
  const wanted = names.filter((each) => !each.startsWith('.') && !OTHER_FOLDERS.has(each));
  const below = await Promise.all(
    wanted.map(async (each) => {
      const inner = join(path, each);
      const isFolder = (await fileSystem.stat(inner)).kind === 'folder';
      if (isFolder) return filesIn(inner, `${name}/${each}`, search);
      return each.endsWith('.json') && !each.endsWith('.schema.json') ? [{ path: inner, name: `${name}/${each}` }] : [];
    }),
  );
  return below.flat();
}

async function readOne(
  { path, name }: FoundFile,
  registerOf: (path: string) => Promise<DivergenceRegister | null>,
  fileSystem: FileSystemPort,
): Promise<ScenarioFile | BrokenFile> {
  try {
    const scenario = readScenario((await fileSystem.read(path, FILE_LIMITS.scenario)).toString('utf8'), path);
    return { kind: 'scenario', path, name: name.replace(/\.json$/, ''), scenario, register: await registerOf(path) };
  } catch (error) {
    const problem = error instanceof ShapeError ? error.message : `${path}: ${messageOf(error)}`;
    return { kind: 'broken', path, name, problem };
  }
}

/**
 * Reads the register of a folder, which is next to it: `recorded/divergences/0.2.48.json` for `recorded/0.2.48`,
 * `divergences/lines.json` for `lines`.
 */
async function readRegister(folder: string, fileSystem: FileSystemPort): Promise<DivergenceRegister | null> {
  const path = join(dirname(folder), 'divergences', `${basename(folder)}.json`);
  const content = await fileSystem.read(path, FILE_LIMITS.scenario).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw new Error(`its register ${path} cannot be read: ${messageOf(error)}`, { cause: error });
  });
  return content === null ? null : readDivergences(content.toString('utf8'), path);
}

/** Tells whether the file, or its folder, does not exist. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
