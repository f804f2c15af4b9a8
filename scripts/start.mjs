// `npm start`: builds what is missing or older than its sources (after `npm ci --ignore-scripts`, or `git pull`), and starts Keyway.
import './check-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COMMAND = join(ROOT, 'dist/src/cli.js');

/** Each result with what it is made of. */
const BUILT = {
  'dist/.built': [
    'src',
    'revisions',
    'scripts/finish-build.mjs',
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
  ],
  'dist/panel/index.html': ['panel', 'src/text', 'vite.config.ts'],
};

/** When the newest file or folder at or below a path was changed. */
function newest(path) {
  const found = statSync(path);
  if (!found.isDirectory()) return found.mtimeMs;
  return Math.max(found.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function age() {
  const results = Object.keys(BUILT).map((path) => join(ROOT, path));
  if (![COMMAND, ...results].every(existsSync)) return 'missing';
  const isOlder = ([result, sources]) =>
    sources.some((source) => newest(join(ROOT, source)) > statSync(join(ROOT, result)).mtimeMs);
  return Object.entries(BUILT).some(isOlder) ? 'older than its sources' : null;
}

const found = age();
if (found !== null) {
  console.error(`The build is ${found}: npm run build, which takes some seconds`);
  // Standard output is for the log.
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    console.error('The build failed. Where programs or packages are missing above: npm ci, and then npm start');
    process.exit(1);
  }
}

process.argv.splice(1, process.argv.length, COMMAND, 'start', ...process.argv.slice(2));
await import(new URL('../dist/src/cli.js', import.meta.url).href);
