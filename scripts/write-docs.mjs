// Rewrites the generated tables of README.md and of docs/ between their markers. Needs a build.
import { readFile, writeFile } from 'node:fs/promises';
import { DOCUMENTS, withTables } from '../dist/src/commands/document-tables.js';

for (const path of Object.keys(DOCUMENTS)) {
  const url = new URL(`../${path}`, import.meta.url);
  await writeFile(url, withTables(path, await readFile(url, 'utf8')));
}
