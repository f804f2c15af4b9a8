// Rewrites the generated tables of docs/ between their markers; with --check it writes nothing, names the
// documents whose tables are others, and ends with exit code 1 where there are any. Needs a build.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  coverageTables,
  DOCUMENTS,
  scenarioSchemaFile,
  toldApartTable,
  withTable,
  withTables,
} from '../dist/scripts/document-tables.js';
import { messageTables } from '../dist/scripts/message-tables.js';
import { tellAllApart } from '../dist/scripts/told-apart.js';
import { packEvidence } from '../dist/src/commands/evidence.js';
import { createFileSystem } from '../dist/src/platform/file-system.js';
import { dependencyTables } from './dependency-tables.mjs';

/** Tables that take more than the code to make, by the document that has them. */
const MEASURED = {
  'docs/errors.md': async () => messageTables(fileURLToPath(new URL('..', import.meta.url))),
  'docs/revisions.md': async () => coverageTables(await packEvidence({ folder: '/', fileSystem: createFileSystem() })),
  'docs/security.md': async () => dependencyTables(),
  'docs/replay-ci.md': async () => ({ 'told apart': toldApartTable(await tellAllApart()) }),
};

async function generated(path, text) {
  const measured = Object.entries((await MEASURED[path]?.()) ?? {});
  return measured.reduce((whole, [name, table]) => withTable(path, whole, name, table), withTables(path, text));
}

/** Whole files that are made from the code, by their path. */
const FILES = { 'fixtures/scenario.schema.json': scenarioSchemaFile };

for (const [path, make] of Object.entries(FILES)) {
  const url = new URL(`../${path}`, import.meta.url);
  const before = await readFile(url, 'utf8').catch(() => '');
  if (before === make()) continue;
  if (!process.argv.includes('--check')) await writeFile(url, make());
  else {
    console.error(`${path}: it is not what is generated: npm run docs`);
    process.exitCode = 1;
  }
}

for (const path of new Set([...Object.keys(DOCUMENTS), ...Object.keys(MEASURED)])) {
  const url = new URL(`../${path}`, import.meta.url);
  const before = await readFile(url, 'utf8');
  const after = await generated(path, before);
  if (after === before) continue;
  if (!process.argv.includes('--check')) await writeFile(url, after);
  else {
    console.error(`${path}: its tables are not what is generated: npm run docs`);
    process.exitCode = 1;
  }
}
