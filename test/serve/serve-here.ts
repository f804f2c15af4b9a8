import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { type RanHere, runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';

type Options = NonNullable<Parameters<typeof runHere>[1]>;

type LogRecord = Readonly<Record<string, unknown>>;

/** A command that serves, or that would not, within the test's own process. */
export interface ServedHere {
  /** What it has logged so far. */
  log(): Promise<readonly LogRecord[]>;
  /** The same as it was written: on a terminal it is for people. */
  text(): Promise<string>;
  /** Where the API listens; rejects with the log when the command ends before it does. */
  readonly url: Promise<string>;
  /** Asks it to read its files again, as SIGHUP does. */
  hangUp(): void;
  /** Asks it to end, as SIGTERM does. */
  stop(): Promise<RanHere>;
  readonly ended: Promise<RanHere>;
}

/** Runs a command line that serves; it ends with the test at the latest. */
export async function serveHere(argv: readonly string[], options: Partial<Options> = {}): Promise<ServedHere> {
  const logPath = join(await folderForTest(), 'log');
  const file = await open(logPath, 'a');
  let stop: (signal: string) => void = () => undefined;
  const untilStopped = new Promise<string>((resolve) => {
    stop = resolve;
  });
  const hangUps: (() => void)[] = [];
  let isOver = false;
  const ended = runHere(argv, {
    ...options,
    descriptor: file.fd,
    untilStopped: () => untilStopped,
    onHangUp: (listener) => void hangUps.push(listener),
  }).finally(() => {
    isOver = true;
    return file.close();
  });
  const text = async () => stripVTControlCharacters(await readFile(logPath, 'utf8'));
  const log = async (): Promise<readonly LogRecord[]> => {
    const lines = (await text()).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  };
  const listening = async (): Promise<string> => {
    for (;;) {
      const wasOver = isOver;
      const written = await text();
      const [, url] = /listening on ([^\s",]+)["\s]/.exec(written) ?? [];
      if (url !== undefined) return url;
      if (wasOver) throw new Error(`ended before it listened: ${written}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const url = listening();
  url.catch(() => undefined);
  const end = () => {
    stop('SIGTERM');
    return ended;
  };
  onTestFinished(async () => void (await end()));
  return {
    log,
    text,
    url,
    hangUp: () => {
      for (const listener of hangUps) listener();
    },
    stop: end,
    ended,
  };
}
