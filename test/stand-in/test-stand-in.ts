import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { fileOf } from './files.js';
import { type StandIn, type StandInOptions, startStandIn } from './stand-in.js';

/** A stand-in that loses no write between two steps of a reload, as fast servers with few keys do. */
export const LOSES_NOTHING: Partial<StandInOptions> = { pauseMilliseconds: 0 };

/** A stand-in of a line over a file of its own; both go with the test. */
export async function standInOf(
  line: string,
  options: Partial<StandInOptions> = {},
  text = fileOf(line),
): Promise<StandIn> {
  const file = join(await folderForTest(), 'server.jsonc');
  await writeFile(file, text);
  const standIn = await startStandIn({
    line,
    file,
    port: await freePort(),
    reloadFactor: 20,
    pauseMilliseconds: 3,
    ...options,
  });
  onTestFinished(() => standIn.close());
  return standIn;
}

/** The keys that it holds, by name. */
export const keysOf = (standIn: Pick<StandIn, 'keys'>): readonly string[] =>
  standIn
    .keys()
    .map(({ accessKey }) => accessKey)
    .sort();
