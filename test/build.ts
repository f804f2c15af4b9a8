import { askShared } from './shared.js';

/** Has the run build the command when it is missing or older than its sources. Rejects with the compiler's words. */
export async function buildIfOlder(): Promise<void> {
  await askShared('build');
}
