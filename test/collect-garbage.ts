import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects all that nobody holds any more. */
export async function collectGarbage(): Promise<void> {
  // What a `WeakRef` gave is held to the end of the turn.
  await setImmediate();
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
