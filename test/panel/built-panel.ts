import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildAlone, newestOf, ROOT } from '../build.js';

export { ROOT };
export const PANEL = join(ROOT, 'dist/panel');

const SOURCES = ['panel', 'vite.config.ts'];

/** Builds the panel when it is missing or older than its sources. */
export function buildPanelIfOlder(): Promise<void> {
  return buildAlone(async () => {
    const index = join(PANEL, 'index.html');
    if (existsSync(index) && statSync(index).mtimeMs > (await newestOf(SOURCES))) return;
    await promisify(execFile)('npx', ['vite', 'build'], { cwd: ROOT });
  });
}
