import { messageOf } from '../core/errors.js';
import { limitWords } from '../core/file-limits.js';

/** The operating system's words for failures that a user can act on; others keep Node's message. */
const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'Permission denied',
  EBUSY: 'Device or resource busy',
  EDQUOT: 'Disk quota exceeded',
  EIO: 'Input/output error',
  EISDIR: 'Is a directory',
  ELOOP: 'Too many levels of symbolic links',
  ENOENT: 'No such file or directory',
  ENOSPC: 'No space left on device',
  ENOTDIR: 'Not a directory',
  EPERM: 'Operation not permitted',
  EPIPE: 'Broken pipe',
  EROFS: 'Read-only file system',
};

/** Returns the `code` of a file system's error (`ENOENT`, …), or null if it has none. */
export function failureCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/**
 * Writes a failure in the operating system's words, `Is a directory (EISDIR)`, without paths if those words are known.
 * A failure at a place in a text begins with the place: `line 18, column 7: …`.
 */
export function failureWords(error: unknown): string {
  if (error instanceof UnfitFileError) return `it is ${error.fault}`;
  if (error instanceof Error && 'placed' in error && typeof error.placed === 'string') return error.placed;
  const code = failureCode(error);
  const words = code === null ? undefined : WORDS[code];
  if (words !== undefined) return `${words} (${code})`;
  return messageOf(error);
}

/** An error about a path whose content cannot be read whole, in words for the user. */
class UnfitFileError extends Error {
  readonly code: string;
  /** The kind of file: `no regular file`. */
  readonly fault: string;

  constructor(code: 'EFBIG' | 'EINVAL', path: string, fault: string) {
    super(`${path} is ${fault}`);
    this.name = 'UnfitFileError';
    this.code = code;
    this.fault = fault;
  }
}

/** Returns the error for a file that has more bytes than its reader accepts. */
export function tooLarge(path: string, limit: number): UnfitFileError {
  return new UnfitFileError('EFBIG', path, `larger than ${limitWords(limit)}`);
}

/** Returns the error for a pipe, a device or a socket in place of a file. */
export function noRegularFile(path: string): UnfitFileError {
  return new UnfitFileError('EINVAL', path, 'no regular file');
}

/** Creates an error with a `code`, like the file system's own. */
export function createFailure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
