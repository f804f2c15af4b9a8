import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileStat, FileSystemPort, LogPort } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import { mountedFrom } from './mounts.js';
import {
  checkReadable,
  checkUnchanged,
  readTarget,
  sameFile,
  TargetChangedError,
  type TargetFile,
} from './write-file.js';

export type InPlaceWriting = ReturnType<typeof createInPlaceWriting>;

export interface InPlaceOptions {
  readonly fileSystem: FileSystemPort;
  /** The path of the durable copy while the file is being overwritten. */
  readonly copyPath: string;
  readonly log: LogPort;
  /** Keeps a content that must not be lost; resolves once it is durable. */
  readonly keep: (bytes: Buffer) => Promise<void>;
}

/** The file is no longer the one at its path in the place that it is mounted from. */
export class TakenFileError extends Error {}

interface Copy {
  readonly before: Buffer;
  readonly after: Buffer;
}

const COPY_MODE = 0o600;
/** Bytes that a disk writes at once; a torn file consists of whole sectors of either content. */
const SECTOR = 512;
/** Lengths of both contents (64 bits each), then the SHA-256 of both together, then both. */
const HEADER = 16 + 32;
const MOST_COPY_BYTES = HEADER + 2 * FILE_LIMITS.configuration;

/** Overwrites a file that cannot be replaced, in such a way that the next start completes an interrupted overwrite. */
export function createInPlaceWriting({ fileSystem, copyPath, log, keep }: InPlaceOptions) {
  const folder = dirname(copyPath);
  /**
   * The file's stat after an overwrite whose copy still exists: if it has changed since, the file was edited and is not
   * torn.
   */
  let left: FileStat | null = null;
  /** The path that the file was mounted from when it was first seen with a name. */
  let source: string | null = null;
  let taken: string | null = null;

  /** Returns why a write to this path would be lost; null if it would not be. */
  async function lossAt(path: string): Promise<string | null> {
    const realPath = await fileSystem.realPath(path);
    const [{ links }, from] = await Promise.all([fileSystem.stat(realPath), mountedFrom(fileSystem, realPath)]);
    if (links > 0) source ??= from;
    if (links > 0 && from === source) return null;
    const how = links === 0 ? 'replaced or removed' : `renamed from ${source} or unmounted`;
    return `${path} was ${how} where it is mounted from, and what is written into it is lost: have it mounted again, best by its folder`;
  }

  /**
   * Rejects while the file is no longer at its path on the host, for example because an editor there renamed another
   * one over it.
   */
  async function checkThere(path: string): Promise<void> {
    const loss = await lossAt(path);
    if (loss !== null && taken === null) log.error({ file: path }, loss);
    if (loss === null && taken !== null) log.info({ file: path }, 'the configuration file is mounted as it was again');
    taken = loss;
    if (loss !== null) throw new TakenFileError(loss);
  }

  /** Removes the copy, or else empties it, because after a crash an edited file could look like a torn one. */
  async function removeCopy(): Promise<void> {
    try {
      await unlessMissing(fileSystem.remove(copyPath));
    } catch (error) {
      await fileSystem.overwrite(copyPath, Buffer.alloc(0));
      await fileSystem.sync(copyPath);
      throw error;
    }
    left = null;
    // Even if it was already gone, because that removal may not be durable yet.
    await fileSystem.syncFolder(folder);
  }

  async function makeCopy(copy: Copy): Promise<void> {
    try {
      await fileSystem.create(copyPath, encodeCopy(copy), COPY_MODE, 'folder');
      await fileSystem.sync(copyPath);
      await fileSystem.syncFolder(folder);
    } catch (error) {
      // An existing copy belongs to an unfinished overwrite.
      if (failureCode(error) !== 'EEXIST') await fileSystem.remove(copyPath).catch(() => undefined);
      throw error;
    }
  }

  async function overwrite(realPath: string, content: Buffer): Promise<FileStat> {
    try {
      const written = await fileSystem.overwrite(realPath, content);
      await fileSystem.sync(realPath);
      return written;
    } finally {
      left = await fileSystem.stat(realPath).catch(() => null);
    }
  }

  /**
   * Like `replaceTarget`, but keeps the inode: old and new content are first made durable in the data folder. Rejects
   * with EEXIST while an overwrite waits for `recover`, and as `checkThere` does.
   */
  async function replace(target: TargetFile, content: Buffer): Promise<FileStat | null> {
    checkReadable(target.path, content);
    await checkThere(target.path);
    await makeCopy({ before: target.bytes, after: content });
    try {
      // Any time stamp may hide another change, so the bytes are compared.
      await checkUnchanged(fileSystem, target, target.stat.mtimeNs);
    } catch (error) {
      await removeCopy();
      throw error;
    }
    const written = await overwrite(target.realPath, content).catch(async (error: unknown) => {
      await putBack(target);
      throw error;
    });
    await removeCopy();
    await checkThere(target.path);
    const present = await fileSystem.stat(target.realPath);
    // Another file was put at the path while this one was open.
    if (present.dev !== written.dev || present.ino !== written.ino) throw new TargetChangedError(target.path);
    return present.size === BigInt(content.length) ? present : null;
  }

  async function putBack(target: TargetFile): Promise<void> {
    try {
      await overwrite(target.realPath, target.bytes);
      await removeCopy();
    } catch (error) {
      log.error(
        { file: target.path, copy: copyPath, reason: failureWords(error) },
        'an overwriting of the configuration file failed half-way; the next write or start ends it from the copy',
      );
    }
  }

  /**
   * Completes an unfinished overwrite, if there is one. A file that is neither the old nor the new content nor a torn
   * mix of both was edited by hand and stays; both contents then go to `keep`.
   */
  async function recover(path: string): Promise<void> {
    const bytes = await unlessMissing(fileSystem.read(copyPath, MOST_COPY_BYTES));
    if (bytes === null) return;
    const copy = decodeCopy(bytes);
    // With an incomplete copy the overwrite had not begun.
    if (copy !== null) await end(path, copy);
    await removeCopy();
  }

  function isEdited({ stat }: TargetFile): boolean {
    return left !== null && !sameFile(stat, left);
  }

  async function end(path: string, { before, after }: Copy): Promise<void> {
    const target = await unlessMissing(readTarget(fileSystem, path));
    if (target?.bytes.equals(after) || target?.bytes.equals(before)) {
      await fileSystem.sync(target.realPath);
    } else if (target && !isEdited(target) && isTornMix(target.bytes, before, after)) {
      await overwrite(target.realPath, after);
      log.warn({ file: path }, 'an interrupted overwriting of the configuration file was ended from its copy');
    } else {
      await keep(before);
      await keep(after);
      log.warn({ file: path }, 'the configuration file was edited after an interrupted overwriting; the edit stays');
    }
  }

  return {
    replace,
    recover,
    checkThere,
    /** Returns why the last `checkThere` rejected; null if it did not. */
    taken: () => taken,
  };
}

/**
 * Tells whether an interrupted write of `after` over `before` can have left these bytes: every sector is the beginning
 * of that sector of one of the two, followed by zeros.
 */
function isTornMix(found: Buffer, before: Buffer, after: Buffer): boolean {
  if (found.length > Math.max(before.length, after.length)) return false;
  for (let start = 0; start < found.length; start += SECTOR) {
    const sector = found.subarray(start, start + SECTOR);
    const isOf = (content: Buffer) => isBeginningThenZeros(sector, content.subarray(start, start + SECTOR));
    if (!isOf(after) && !isOf(before)) return false;
  }
  return true;
}

function isBeginningThenZeros(sector: Buffer, whole: Buffer): boolean {
  let same = 0;
  while (same < sector.length && sector[same] === whole[same]) same++;
  return sector.subarray(same).every((byte) => byte === 0);
}

function encodeCopy({ before, after }: Copy): Buffer {
  const lengths = Buffer.alloc(16);
  lengths.writeBigUInt64BE(BigInt(before.length), 0);
  lengths.writeBigUInt64BE(BigInt(after.length), 8);
  return Buffer.concat([lengths, digestOf(before, after), before, after]);
}

/** Returns the copy, or null if it is incomplete. */
function decodeCopy(bytes: Buffer): Copy | null {
  if (bytes.length < HEADER) return null;
  const length = Number(bytes.readBigUInt64BE(0));
  const before = bytes.subarray(HEADER, HEADER + length);
  const after = bytes.subarray(HEADER + length);
  if (before.length !== length || BigInt(after.length) !== bytes.readBigUInt64BE(8)) return null;
  return digestOf(before, after).equals(bytes.subarray(16, HEADER)) ? { before, after } : null;
}

function digestOf(before: Buffer, after: Buffer): Buffer {
  return createHash('sha256').update(before).update(after).digest();
}
