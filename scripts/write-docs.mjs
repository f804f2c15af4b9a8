// Rewrites the generated tables of README.md and of docs/ between their markers; with --check it writes nothing, names the
// documents whose tables are others, and ends with exit code 1 where there are any. Needs a build.
import { readFile, writeFile } from 'node:fs/promises';
import { DOCUMENTS, withTable, withTables } from '../dist/src/commands/document-tables.js';
import { dependencyTables } from './dependency-tables.mjs';

const SECURITY = 'docs/security.md';

function generated(path, text) {
  if (path !== SECURITY) return withTables(path, text);
  return Object.entries(dependencyTables()).reduce((whole, [name, table]) => withTable(path, whole, name, table), text);
}

for (const path of [...Object.keys(DOCUMENTS), SECURITY]) {
  const url = new URL(`../${path}`, import.meta.url);
  const before = await readFile(url, 'utf8');
  const after = generated(path, before);
  if (after === before) continue;
  if (!process.argv.includes('--check')) await writeFile(url, after);
  else {
    console.error(`${path}: its tables are not what is generated: npm run docs`);
    process.exitCode = 1;
  }
}
