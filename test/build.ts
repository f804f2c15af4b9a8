import { askShared } from './shared.js';

export { CLI, PANEL, ROOT } from './building.js';

/** Has the run build the command when it is missing or older than its sources. Rejects with the compiler's words. */
export async function buildIfOlder(): Promise<void> {
  await askShared('build');
}
