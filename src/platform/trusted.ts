import { X509Certificate } from 'node:crypto';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort } from '../core/ports.js';
import { failureWords } from './failure-words.js';
import { StartError } from './start-error.js';

/** Reads certificates to trust, in PEM. Rejects with a `StartError` that names the flag of the unusable file. */
export async function readTrusted(flag: string, path: string, fileSystem: FileSystemPort): Promise<Buffer> {
  const problem = (text: string) => new StartError([`--${flag}: ${text}`]);
  const bytes = await fileSystem.read(path, FILE_LIMITS.certificate).catch((error: unknown) => {
    throw problem(`cannot read ${path}: ${failureWords(error)}`);
  });
  try {
    parseCertificate(bytes);
  } catch {
    throw problem(`expected certificates in PEM in ${path}`);
  }
  return bytes;
}

/** Throws for anything but a PEM certificate, also for DER, because servers accept PEM only. */
export function parseCertificate(bytes: Buffer): X509Certificate {
  if (!bytes.includes('-----BEGIN')) throw new Error('no PEM');
  return new X509Certificate(bytes);
}
