// Rewrites the generated tables of README.md between their markers. Needs a build.
import { readFile, writeFile } from 'node:fs/promises';
import { withTables } from '../dist/src/commands/readme-tables.js';

const path = new URL('../README.md', import.meta.url);
await writeFile(path, withTables(await readFile(path, 'utf8')));
