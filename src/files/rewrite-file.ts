import { resolve } from 'node:path';
import type { ClockPort, FileSystemPort, LogPort } from '../core/ports.js';
import { openDataFolder } from './data-folder.js';
import { withFileInHand } from './file-hold.js';
import { inDataFolder } from './foreign.js';
import { createInPlaceWriting } from './in-place.js';
import { createKeptVersions } from './kept-versions.js';
import { lockPorts } from './lock.js';
import { noteMeantContent } from './meant-content.js';
import { createTarget, replaceTarget, type TargetFile } from './write-file.js';

/** A configuration file and where its kept versions are; for the command line, beside a Keyway that may be serving. */
export interface VersionsOptions {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly path: string;
  readonly dataFolder: string;
  /** Overwrites the file instead of replacing it: for one that is a mount point. Default false. */
  readonly inPlace?: boolean;
}

/** A configuration file in hand, to become something else. */
export interface Rewriting {
  /** Ends an overwriting that was interrupted. */
  recover(): Promise<void>;
  /**
   * Makes the file this content, durably and at one stroke, where it still is what was read, or still missing (null); what
   * it was is kept as a version first, for ever when `forever` says so. A Keyway that is serving notices it as an edit by
   * hand. Rejects, the file then being as it was, with `TargetChangedError` when somebody has changed it meanwhile, or with
   * the file system's error.
   */
  rewrite(present: TargetFile | null, content: Buffer, options?: { readonly forever?: boolean }): Promise<void>;
}

/** Opens the data folder and takes the file in hand for the work. Rejects as those two and the work do. */
export async function withRewriting<T>(options: VersionsOptions, work: (hand: Rewriting) => Promise<T>): Promise<T> {
  const { fileSystem, dataFolder, path } = options;
  return inDataFolder(fileSystem, { dataFolder, configPath: path }, () => rewriting(options, work));
}

async function rewriting<T>(options: VersionsOptions, work: (hand: Rewriting) => Promise<T>): Promise<T> {
  const { fileSystem, clock, log, inPlace = false } = options;
  const path = resolve(options.path);
  const folder = await openDataFolder(fileSystem, options.dataFolder, path);
  const { keep } = createKeptVersions({ fileSystem, clock, folder: folder.versions });
  const overwriting = inPlace ? createInPlaceWriting({ fileSystem, copyPath: folder.inPlaceCopy, log, keep }) : null;
  return withFileInHand(lockPorts(fileSystem), path, () =>
    work({
      recover: async () => overwriting?.recover(path),
      async rewrite(present, content, { forever = false } = {}) {
        if (present === null) {
          await createTarget(fileSystem, path, content);
          return;
        }
        await keep(present.bytes, { forever });
        await noteMeantContent(fileSystem, folder, content);
        if (overwriting === null) await replaceTarget(fileSystem, present, content);
        else await overwriting.replace(present, content);
      },
    }),
  );
}

/** Makes a file that was read before something else, as `rewrite` does. */
export async function rewriteFile(
  options: VersionsOptions,
  target: TargetFile,
  content: Buffer,
  { forever }: { readonly forever: boolean },
): Promise<void> {
  await withRewriting(options, async ({ recover, rewrite }) => {
    await recover();
    await rewrite(target, content, { forever });
  });
}
