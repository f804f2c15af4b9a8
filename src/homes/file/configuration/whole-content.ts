import { createHash } from 'node:crypto';
import type { TargetFile } from '../../../files/write-file.js';

/** The options of a replacement of the whole file. */
export interface WholeContent {
  /** The digest (`contentDigest`) of the content that it is made from; absent for any. */
  readonly replaces?: string;
  /** The version before is always kept; default as what is lost says. */
  readonly forever?: boolean;
  /** Gives up the changes whose write failed; by default they come over it. */
  readonly dropWaiting?: boolean;
}

/** The file does not hold what a content was made from. Nothing was written. */
export class ContentChangedError extends Error {}

/** The SHA-256 of a file's content, in hexadecimal. */
export function contentDigest(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Throws `ContentChangedError` unless the file holds what is to be replaced. */
export function refuseOtherContent(path: string, present: TargetFile | null, replaces: string | undefined): void {
  if (replaces === undefined || (present !== null && contentDigest(present.bytes) === replaces)) return;
  throw new ContentChangedError(`${path} was changed by another program while it was being written`);
}
