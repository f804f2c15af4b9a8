import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of this clone. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The built command. */
export const CLI = join(ROOT, 'dist/src/cli.js');

/** The built panel. */
export const PANEL = join(ROOT, 'dist/panel');
