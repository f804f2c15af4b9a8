import { messageOf } from '../core/errors.js';
import { limitWords } from '../core/file-limits.js';

/** The operating system's words for the failures that a person can do something about; others keep Node's message. */
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

/** The `code` of a file system's error (`ENOENT`, …), or null when it has none. */
export function failureCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Writes a failure in the operating system's words: `Is a directory (EISDIR)`; without paths where those are known words. */
export function failureWords(error: unknown): string {
  if (error instanceof UnfitFileError) return `it is ${error.fault}`;
  const code = failureCode(error);
  const words = code === null ? undefined : WORDS[code];
  if (words !== undefined) return `${words} (${code})`;
  return messageOf(error);
}

/** A path whose content cannot be read whole; the words are for people. */
class UnfitFileError extends Error {
  readonly code: string;
  /** The kind of thing there: `no regular file`. */
  readonly fault: string;

  constructor(code: 'EFBIG' | 'EINVAL', path: string, fault: string) {
    super(`${path} is ${fault}`);
    this.name = 'UnfitFileError';
    this.code = code;
    this.fault = fault;
  }
}

/** The error of a file that has more bytes than its reader takes. */
export function tooLarge(path: string, limit: number): UnfitFileError {
  return new UnfitFileError('EFBIG', path, `larger than ${limitWords(limit)}`);
}

/** The error of a pipe, a device or a socket where a file is expected. */
export function noRegularFile(path: string): UnfitFileError {
  return new UnfitFileError('EINVAL', path, 'no regular file');
}

/** An error with a `code`, as the file system's own have one. */
export function createFailure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
