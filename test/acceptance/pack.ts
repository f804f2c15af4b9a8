import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readScenario, type Scenario } from '../../src/lab/format/scenario.js';

const FIXTURES = join(import.meta.dirname, '../../fixtures');

/** One scenario file of the pack. */
export interface PackedScenario {
  /** File name without `.json`. */
  readonly name: string;
  /** Path below `fixtures/`. */
  readonly file: string;
  readonly content: string;
  readonly scenario: Scenario;
}

/** The scenarios of one folder below `fixtures/`, by name. */
export function scenariosOf(folder: string): readonly PackedScenario[] {
  return readdirSync(join(FIXTURES, folder))
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const file = `${folder}/${name}`;
      const content = readFixture(file);
      return { name: basename(name, '.json'), file, content, scenario: readScenario(content, file) };
    });
}

/** The text of one file below `fixtures/`. */
export function readFixture(file: string): string {
  return readFileSync(join(FIXTURES, file), 'utf8');
}

/** Folders below one of `fixtures/`, by name. */
export function foldersOf(folder: string): readonly string[] {
  const path = join(FIXTURES, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map(({ name }) => name)
    .sort();
}
