import { webcrypto } from 'node:crypto';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { ClockPort, FileSystemPort } from '../core/ports.js';
import { type KeptVersion, lastingVersions, retainedVersions, sorted, versionNamed } from '../document/retention.js';
import { failureCode, tooLarge } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import { createWhole } from './write-file.js';

export type KeptVersions = ReturnType<typeof createKeptVersions>;

export interface KeptVersionsOptions {
  readonly fileSystem: FileSystemPort;
  /** The folder of the versions; it exists. */
  readonly folder: string;
  readonly clock: ClockPort;
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([0-9a-f]{32})(-forever)?\.gz$/;
const TEMPORARY = '.tmp';
/** Content that cannot be packed gets 5 bytes longer for every 16 KiB (RFC 1951, 3.2.4), and has a frame. */
const MOST_PACKED_BYTES = FILE_LIMITS.configuration + FILE_LIMITS.configuration / 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Versions of the configuration file in `<dataFolder>/versions/`, one gzipped file each. */
export function createKeptVersions({ fileSystem, folder, clock }: KeptVersionsOptions) {
  let last: Promise<unknown> = Promise.resolve();
  const onTheirWay: Buffer[] = [];
  /** The latest content that is known to be durable here, as long as anybody has it: the usual caller asks for the same bytes again. */
  let latest: { readonly bytes: WeakRef<Buffer>; readonly forever: boolean } | null = null;

  /** Oldest first. */
  async function list(): Promise<readonly KeptVersion[]> {
    const names = await unlessMissing(fileSystem.list(folder));
    return sorted((names ?? []).flatMap((name) => versionOf(name) ?? []));
  }

  /** The version of this id, which may be shortened as long as one version alone begins so. */
  async function find(id: string): Promise<KeptVersion> {
    return versionNamed(await list(), id);
  }

  async function keepNow(bytes: Buffer, forever: boolean): Promise<void> {
    if (bytes.length === 0 || (latest?.bytes.deref() === bytes && (latest.forever || !forever))) return;
    const digest = await digestOf(bytes);
    const versions = await list();
    const alike = versions.filter(({ id }) => id.endsWith(digest));
    await keepAmong(versions, alike, { bytes, digest, forever: forever && !alike.some((version) => version.forever) });
    await fileSystem.syncFolder(folder);
    latest = { bytes: new WeakRef(bytes), forever };
    await removeOld();
  }

  /** The newest version is to be this content. One that lasts stays where it is, and another is kept of the same. */
  async function keepAmong(
    versions: readonly KeptVersion[],
    alike: readonly KeptVersion[],
    { bytes, digest, forever }: { readonly bytes: Buffer; readonly digest: string; readonly forever: boolean },
  ): Promise<void> {
    const same = alike.at(-1);
    const isNewest = same !== undefined && same === versions.at(-1);
    const id = isNewest ? same.id : `${stamp(freeTime(versions))}-${digest}`;
    if (same === undefined || (!isNewest && lastingVersions(versions, clock.now()).has(same.id)))
      return write(bytes, { id, forever });
    const [from, to] = [nameOf(same), nameOf({ id, forever: same.forever || forever })];
    if (from !== to) await fileSystem.rename(join(folder, from), join(folder, to));
  }

  /** Two versions of one millisecond would have no order. */
  function freeTime(versions: readonly KeptVersion[]): number {
    const newest = versions.at(-1)?.keptAt ?? 0;
    const now = clock.now();
    // A clock that was set back must not make the newest version look old, nor one far ahead push it on for ever.
    return newest >= now && newest - now < 1000 ? newest + 1 : now;
  }

  async function write(bytes: Buffer, version: Pick<KeptVersion, 'id' | 'forever'>): Promise<void> {
    const path = join(folder, nameOf(version));
    const temporary = `${path}${TEMPORARY}`;
    const content = await compress(bytes);
    await createWhole(fileSystem, { path, temporary }, async () => {
      await createInFolder(temporary, content);
      await fileSystem.sync(temporary);
    });
  }

  /** Somebody may have removed the folder. */
  async function createInFolder(path: string, content: Buffer): Promise<void> {
    try {
      await fileSystem.create(path, content, FILE_MODE, 'folder');
    } catch (error) {
      if (failureCode(error) !== 'ENOENT') throw error;
      await fileSystem.makeFolder(folder, FOLDER_MODE, 'folder');
      await fileSystem.syncFolder(dirname(folder));
      await fileSystem.create(path, content, FILE_MODE, 'folder');
    }
  }

  async function removeOld(): Promise<void> {
    const versions = await list();
    const retained = retainedVersions(versions, clock.now());
    for (const version of versions) {
      if (retained.has(version.id)) continue;
      // A restore beside a Keyway that serves may remove the same one.
      await unlessMissing(fileSystem.remove(join(folder, nameOf(version))));
    }
  }

  return {
    /**
     * Keeps these bytes durably; resolves once they are. Content that is kept already is not kept twice. Then removes what
     * `retainedVersions` lets go. An empty content is nothing to keep.
     */
    keep: (bytes: Buffer, { forever = false }: { readonly forever?: boolean } = {}): Promise<void> => {
      onTheirWay.push(bytes);
      const kept = last
        .then(() => keepNow(bytes, forever))
        .finally(() => onTheirWay.splice(onTheirWay.indexOf(bytes), 1));
      last = kept.catch(() => undefined);
      return kept;
    },
    /** Marks the newest version for ever that is not this content. */
    keepNewestForever: (present: Buffer): Promise<void> => {
      const kept = last.then(async () => {
        const digest = await digestOf(present);
        const version = (await list()).findLast(({ id }) => !id.endsWith(digest));
        if (version === undefined || version.forever) return;
        await fileSystem.rename(join(folder, nameOf(version)), join(folder, nameOf({ ...version, forever: true })));
        await fileSystem.syncFolder(folder);
      });
      last = kept.catch(() => undefined);
      return kept;
    },
    list,
    find,
    /** The content of the version that `find` gives. */
    read: async (id: string): Promise<Buffer> => {
      const path = join(folder, nameOf(await find(id)));
      const packed = await fileSystem.read(path, MOST_PACKED_BYTES);
      return decompress(packed, { maxOutputLength: FILE_LIMITS.configuration }).catch((error: unknown) => {
        throw failureCode(error) === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(path, FILE_LIMITS.configuration) : error;
      });
    },
    /** True when these very bytes are on their way and must stay as they are. */
    isKeeping: (bytes: Buffer): boolean => onTheirWay.includes(bytes),
    /** The folder was made again, empty: nothing counts as kept any more. */
    forget: (): void => {
      latest = null;
    },
    /** Resolves when nothing is on its way any more. */
    idle: async (): Promise<void> => {
      await last;
    },
  };
}

/** Removes what a Keyway that was killed has left half-written. */
export async function removeHalfKept(fileSystem: FileSystemPort, folder: string): Promise<void> {
  for (const name of await fileSystem.list(folder)) {
    if (name.endsWith(TEMPORARY) && versionOf(name.slice(0, -TEMPORARY.length))) {
      await fileSystem.remove(join(folder, name));
    }
  }
}

/** Half of the SHA-256 of a content in hexadecimal, with which the ids of its versions end; a worker thread of Node's computes it. */
export async function digestOf(bytes: Buffer): Promise<string> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  return Buffer.from(digest, 0, 16).toString('hex');
}

/** `20251121T032400123Z`. */
function stamp(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '');
}

function nameOf({ id, forever }: Pick<KeptVersion, 'id' | 'forever'>): string {
  return `${id}${forever ? '-forever' : ''}.gz`;
}

function versionOf(name: string): KeptVersion | null {
  const match = NAME.exec(name);
  if (!match) return null;
  const [, year, month, day, hour, minute, second, milliseconds, digest, forever] = match;
  const keptAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  if (Number.isNaN(keptAt) || digest === undefined) return null;
  return { id: name.slice(0, name.indexOf(digest) + digest.length), keptAt, forever: forever !== undefined };
}
