import { dirname, join, resolve } from 'node:path';
import type { LogPort } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import {
  cleanDataFolder,
  type DataFolder,
  DataFolderError,
  isOpenToOthers,
  noFileIn,
  openDataFolder,
  unusable,
} from './data-folder.js';
import { createFileHold, type FileHold, holderOfFile } from './file-hold.js';
import { holderOf, InUseError, type Lock, type LockPlace, type LockPorts, takeLock } from './lock.js';

/** The exclusive hold of a serving Keyway on its data folder and, if there is one, its configuration file. */
export interface Hold {
  readonly folder: DataFolder;
  /**
   * Recreates and retakes what was removed meanwhile. After a rejection nothing may be written: with `InUseError`
   * another process holds it, otherwise the error says why it cannot be taken.
   */
  renew(): Promise<void>;
  /** Returns the real path of the configuration file as of the last `renew`; null if no lock of it is held. */
  realPath(): string | null;
  /** Calls back after the data folder was recreated, empty. */
  onMadeAgain(listener: () => void): void;
  release(): Promise<void>;
}

export interface HoldOptions extends LockPorts {
  readonly log: LogPort;
  readonly dataFolder: string;
  /** Null for a data folder without a configuration file. */
  readonly configurationPath: string | null;
  /** The owner of the data folder if there is no configuration file: the address of a server. */
  readonly owner?: string;
  /** Milliseconds between checks that everything is still held; 0 for no checks. */
  readonly lookMilliseconds: number;
}

/**
 * Makes the data folder if it is missing, takes it and the file, and removes what a killed Keyway has left unfinished
 * in the folder. Rejects with `InUseError`, `DataFolderError`, or another `Error` for the user.
 */
export async function holdForServing(options: HoldOptions): Promise<Hold> {
  const { fileSystem, configurationPath, log } = options;
  const path = resolve(options.dataFolder);
  if (configurationPath !== null) await refuseBeforeMaking(options, path, configurationPath);
  else await inFolder(path, () => refuseHeld(options, path));
  const folder = await openFolder(options, path);
  const ofFolder = await inFolder(path, () => takeLock(options, folderPlace(path)));
  const ofFile = configurationPath === null ? null : createFileHold(options, configurationPath);
  try {
    await ofFile?.take();
    await cleanDataFolder(fileSystem, folder);
    if (await isOpenToOthers(fileSystem, folder)) log.warn({ folder: path }, OPEN_TO_OTHERS);
    return holdOf(options, folder, ofFolder, ofFile);
  } catch (error) {
    await release(ofFile, ofFolder);
    throw error;
  }
}

function holdOf(options: HoldOptions, folder: DataFolder, ofFolder: Lock, ofFile: FileHold | null): Hold {
  const { log, lookMilliseconds, configurationPath } = options;
  const listeners: (() => void)[] = [];
  let renewing: Promise<void> | null = null;
  let released = false;
  let said: string | null = null;

  async function renewNow(): Promise<void> {
    const [isHeld, isFileHeld] = await Promise.all([ofFolder.isHeld(), ofFile?.isHeld() ?? true]);
    if (!isHeld) {
      await refuseMoved(options, folder.path);
      await openFolder(options, folder.path);
      await inFolder(folder.path, ofFolder.takeAgain);
      log.warn({ folder: folder.path }, 'the data folder was removed while serving: it is made again and held again');
      for (const listener of listeners) listener();
    }
    if (!isFileHeld && (await ofFile?.renew())) {
      log.warn({ file: configurationPath }, 'the lock of the configuration file was removed: it is held again');
    }
  }

  function renew(): Promise<void> {
    if (released) return Promise.resolve();
    renewing ??= renewNow().finally(() => {
      renewing = null;
    });
    return renewing;
  }

  /** Renews the hold, and logs a failure once until the reason changes. */
  async function look(): Promise<void> {
    try {
      await renew();
      said = null;
    } catch (error) {
      const reason = failureWords(error);
      if (reason !== said) log.error({ folder: folder.path, reason }, NOT_HELD);
      said = reason;
    }
  }

  const timer = lookMilliseconds > 0 ? setInterval(() => void look(), lookMilliseconds).unref() : undefined;

  return {
    folder,
    renew,
    realPath: () => ofFile?.realPath() ?? null,
    onMadeAgain: (listener) => {
      listeners.push(listener);
    },
    release: async () => {
      released = true;
      clearInterval(timer);
      await renewing?.catch(() => undefined);
      await release(ofFile, ofFolder);
    },
  };
}

const OPEN_TO_OTHERS =
  'the group or everybody may write into the data folder, and what is in it is trusted: chmod go-w';
const NOT_HELD = 'the data folder and the configuration file are not held: nothing is written until they are';

/** Releases the folder last: if only the file is taken, a process has met a Keyway with another folder. */
async function release(ofFile: FileHold | null, ofFolder: Lock): Promise<void> {
  try {
    await ofFile?.release();
  } finally {
    await ofFolder.release();
  }
}

/** Returns the living process that serves from the folder; null if there is none. */
export async function holderOfFolder(
  ports: Pick<LockPorts, 'fileSystem' | 'processes'>,
  dataFolder: string,
): Promise<InUseError | null> {
  return holderOf(ports, folderPlace(resolve(dataFolder)));
}

function folderPlace(path: string): LockPlace {
  return { path: join(path, 'lock'), of: 'folder', what: `The data folder ${path}`, owner: 'folder' };
}

async function openFolder({ fileSystem, configurationPath, owner }: HoldOptions, path: string): Promise<DataFolder> {
  return openDataFolder(fileSystem, path, configurationPath ?? owner ?? noFileIn(path));
}

async function inFolder<T>(path: string, take: () => Promise<T>): Promise<T> {
  try {
    return await take();
  } catch (error) {
    throw error instanceof InUseError ? error : unusable(path, error);
  }
}

/** Refuses a folder in use, before it is made another server's. */
async function refuseHeld(options: HoldOptions, dataFolder: string): Promise<void> {
  const holder = await holderOfFolder(options, dataFolder);
  if (holder !== null) throw holder;
}

/** Refuses if the parent folder is gone, too: it was moved or unmounted, and nothing must be made in its place. */
async function refuseMoved({ fileSystem }: HoldOptions, dataFolder: string): Promise<void> {
  const above = dirname(dataFolder);
  if ((await unlessMissing(fileSystem.stat(above))) !== null) return;
  throw new DataFolderError(
    `The folder ${above} is gone from here: put it back, or start Keyway where it is now. Changes wait in memory.`,
  );
}

/** Refuses before it makes anything, so that a start that fails because of the file leaves no new folder. */
async function refuseBeforeMaking(options: HoldOptions, dataFolder: string, configurationPath: string): Promise<void> {
  const isMissing = await options.fileSystem.stat(dataFolder).then(
    () => false,
    (error: unknown) => failureCode(error) === 'ENOENT',
  );
  const holder = isMissing ? await holderOfFile(options, configurationPath) : null;
  if (holder !== null) throw holder;
}
