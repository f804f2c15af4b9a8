import { resolve } from 'node:path';
import { openDataFolder } from './data-folder.js';
import { withFileInHand } from './file-hold.js';
import { createInPlaceWriting } from './in-place.js';
import { createKeptVersions } from './kept-versions.js';
import { lockPorts } from './lock.js';
import type { VersionsOptions } from './restore-version.js';
import { replaceTarget, type Target } from './write-file.js';

/**
 * Makes a file that was read before something else, durably and at one stroke; what it was is kept as a version first, for
 * ever when `forever` says so. A Keyway that is serving notices it as an edit by hand. Rejects, the file then being as it
 * was, with `TargetChangedError` when somebody has changed it meanwhile, `DataFolderError`, or the file system's error.
 */
export async function rewriteFile(
  options: VersionsOptions,
  target: Target,
  content: Buffer,
  { forever }: { readonly forever: boolean },
): Promise<void> {
  const { fileSystem, clock, log } = options;
  const folder = await openDataFolder(fileSystem, options.dataFolder, resolve(options.path));
  const versions = createKeptVersions({ fileSystem, clock, folder: folder.versions });
  await withFileInHand(lockPorts(fileSystem), options.path, async () => {
    await versions.keep(target.bytes, { forever });
    if (options.inPlace) {
      const overwriting = createInPlaceWriting({ fileSystem, copyPath: folder.inPlaceCopy, log, keep: versions.keep });
      await overwriting.recover(target.path);
      await overwriting.replace(target, content);
    } else {
      await replaceTarget(fileSystem, target, content);
    }
  });
}
