/** `keyway` as it is built, in a process whose garbage is collected while nothing else happens, as it is in each sooner or later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds; and collections, after some of which V8 forgets what nothing has used since. */
const PAUSE = 1000;
const COLLECTIONS = 8;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

await import('../src/cli.js');
await sleep(PAUSE);
for (let done = 0; done < COLLECTIONS; done += 1) collectGarbage();
