import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');

/** What a file of tests starts processes, browsers, databases or sockets with, or asks a run's global set-up for one. */
const STARTS = [
  /(?:from|import\()\s*'node:(?:child_process|cluster|dgram|http|http2|https|net|tls|worker_threads)'/,
  /(?:from|import\()\s*'(?:pg|playwright-core|vite)'/,
  /import \{[^}]*\binject\b[^}]*\} from 'vitest'/,
  /\bfetch\(|\.listen\(/,
  // Scenarios are played over a socket.
  /from '[./]+src\/embedded\/(?:play|stage)\.js'/,
];

/** The test files that would be quick by what they import, but take seconds of a processor or start something all the same. */
export const SLOW: readonly string[] = [
  'test/acceptance/server-starts.test.ts',
  'test/client/snapshots.test.ts',
  'test/commands/config-file.test.ts',
  'test/commands/mistakes.test.ts',
  'test/core/dns-settings.test.ts',
  'test/docs/first-day.test.ts',
  'test/document/convert/convert.test.ts',
  'test/document/patch/patch.test.ts',
  'test/document/properties.test.ts',
  'test/feed/report-body.test.ts',
  'test/homes/database/kept-document.test.ts',
  'test/homes/file/configuration/file-operations.test.ts',
  'test/homes/file/configuration/plain-keys.test.ts',
  'test/homes/file/configuration/starts.test.ts',
  'test/homes/file/counters/created-again.test.ts',
  'test/homes/file/counters/lines.test.ts',
  'test/homes/file/counters/sources.test.ts',
  'test/homes/file/crash.test.ts',
  'test/homes/file/kept-sessions.test.ts',
  'test/homes/file/offline-replacements.test.ts',
  'test/homes/upstream/away.test.ts',
  'test/homes/upstream/stores-nothing.test.ts',
  'test/lab/evidence.test.ts',
  'test/lab/memory-files.test.ts',
  'test/package/compose.test.ts',
  'test/panel/batches.test.ts',
  'test/panel/contact.test.ts',
  'test/panel/dns-server.test.ts',
  'test/panel/drafts.test.ts',
  'test/panel/file-editing.test.ts',
  'test/panel/keys.test.ts',
  'test/panel/large-lists.test.ts',
  'test/panel/users.test.ts',
  'test/platform/system-user.test.ts',
];

/** The files of `test/`, `bench/` and `scripts/` that a file imports, types too, and they in turn, itself first. */
function reachable(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, target = ''] of textOf(file).matchAll(/(?:from|import\(|import)\s*'(\.[^']+)\.js'/g)) {
    const path = `${relative(ROOT, resolve(ROOT, dirname(file), target))}.ts`;
    if (/^(?:test|bench|scripts)\//.test(path)) reachable(path, found);
  }
  return found;
}

const texts = new Map<string, string>();

function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  texts.set(file, text);
  return text;
}

/** Every test file, as a path from the root of the clone. */
export function allTests(): readonly string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .sort();
}

/** The line by which a test file needs more than its own process, with the file that it stands in; null where none does. */
export function startsSomething(file: string): string | null {
  for (const path of reachable(file)) {
    const [line] = STARTS.flatMap((starts) => starts.exec(textOf(path))?.[0] ?? []);
    if (line !== undefined) return `${path}: ${line}`;
  }
  return null;
}

/** The test files of `npm run test:quick`: a new one is among them by what it imports. */
export function quickTests(): readonly string[] {
  return allTests().filter(
    (file) => !SLOW.includes(file) && !file.endsWith('.long.test.ts') && startsSomething(file) === null,
  );
}
