import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { KeptVersion } from '../core/backend.js';
import { messageOf } from '../core/errors.js';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { ClockPort, FileSystemPort } from '../core/ports.js';
import {
  contentDigest,
  lastingVersions,
  retainedVersions,
  sorted,
  versionId,
  versionNamed,
} from '../document/retention.js';
import { failureCode, tooLarge } from '../platform/failure-words.js';
import { isMissing, unlessMissing } from '../platform/presence.js';
import { createWhole } from './write-file.js';

export type KeptVersions = ReturnType<typeof createKeptVersions>;

export interface KeptVersionsOptions {
  readonly fileSystem: FileSystemPort;
  /** The folder of the versions, which exists. */
  readonly folder: string;
  readonly clock: ClockPort;
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([0-9a-f]{32})(-forever)?\.gz$/;
const TEMPORARY = '.tmp';
/** The longest way back of a clock that counts as set back, a time zone's included; ms. */
const MOST_SET_BACK = 86_400_000;
/** Incompressible content grows by 5 bytes for every 16 KiB (RFC 1951, 3.2.4), and by a frame. */
const MOST_PACKED_BYTES = FILE_LIMITS.configuration + FILE_LIMITS.configuration / 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Versions of the configuration file in `<dataFolder>/versions/`, one gzipped file each. */
export function createKeptVersions({ fileSystem, folder, clock }: KeptVersionsOptions) {
  let last: Promise<unknown> = Promise.resolve();
  const beingKept: Buffer[] = [];
  /**
   * The last content that is known to be durable here, while it is in memory, because most callers ask for the same
   * bytes again.
   */
  let latest: { readonly bytes: WeakRef<Buffer>; readonly forever: boolean } | null = null;

  /** Lists the versions, oldest first. */
  async function list(): Promise<readonly KeptVersion[]> {
    const names = await unlessMissing(fileSystem.list(folder));
    return sorted((names ?? []).flatMap((name) => versionOf(name) ?? []));
  }

  /** Returns the version with this id, which may be shortened as long as it is unique. */
  async function find(id: string): Promise<KeptVersion> {
    return versionNamed(await list(), id);
  }

  async function keepNow(bytes: Buffer, forever: boolean): Promise<void> {
    if (bytes.length === 0 || (latest?.bytes.deref() === bytes && (latest.forever || !forever))) return;
    const digest = await contentDigest(bytes);
    const versions = await list();
    const alike = versions.filter(({ id }) => id.endsWith(digest));
    await keepAmong(versions, alike, { bytes, digest, forever: forever && !alike.some((version) => version.forever) });
    await fileSystem.syncFolder(folder);
    latest = { bytes: new WeakRef(bytes), forever };
    await removeOld();
  }

  /** Makes this the newest version: renames an older one with this content unless that must last, else writes one. */
  async function keepAmong(
    versions: readonly KeptVersion[],
    alike: readonly KeptVersion[],
    { bytes, digest, forever }: { readonly bytes: Buffer; readonly digest: string; readonly forever: boolean },
  ): Promise<void> {
    const same = alike.at(-1);
    const isNewest = same !== undefined && same === versions.at(-1);
    const id = isNewest ? same.id : versionId(freeTime(versions), digest);
    if (same === undefined || (!isNewest && lastingVersions(versions, clock.now()).has(same.id)))
      return write(bytes, { id, forever });
    const [from, to] = [nameOf(same), nameOf({ id, forever: same.forever || forever })];
    if (from !== to) await fileSystem.rename(join(folder, from), join(folder, to));
  }

  /** Returns a time for a version; two versions of one millisecond would have no order. */
  function freeTime(versions: readonly KeptVersion[]): number {
    const newest = versions.at(-1)?.keptAt ?? 0;
    const now = clock.now();
    // If the clock was set back, the newest version must not look old, and so be removed; if it was far ahead, new
    // versions must not follow it forever.
    return newest >= now && newest - now < MOST_SET_BACK ? newest + 1 : now;
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

  /**
   * Creates a file, and the folder and data folder if they were removed; if more is missing, everything was moved, and
   * nothing is made.
   */
  async function createInFolder(path: string, content: Buffer): Promise<void> {
    try {
      await fileSystem.create(path, content, FILE_MODE, 'folder');
    } catch (error) {
      if (failureCode(error) !== 'ENOENT' || (await isMissing(fileSystem, dirname(dirname(folder))))) throw error;
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
      // A restore next to a serving Keyway may remove the same one.
      await unlessMissing(fileSystem.remove(join(folder, nameOf(version))));
    }
  }

  return {
    /**
     * Keeps these bytes, and resolves once they are durable. Content that is already kept is not kept twice; empty
     * content is ignored. Then removes what `retainedVersions` does not retain.
     */
    keep: (bytes: Buffer, { forever = false }: { readonly forever?: boolean } = {}): Promise<void> => {
      beingKept.push(bytes);
      const kept = last
        .then(() => keepNow(bytes, forever))
        .finally(() => beingKept.splice(beingKept.indexOf(bytes), 1));
      last = kept.catch(() => undefined);
      return kept;
    },
    /** Marks the newest version with other content as kept forever. */
    keepNewestForever: (present: Buffer): Promise<void> => {
      const kept = last.then(async () => {
        const digest = await contentDigest(present);
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
    /** Returns the content of the version that `find` returns. */
    read: async (id: string): Promise<Buffer> => {
      const path = join(folder, nameOf(await find(id)));
      const packed = await fileSystem.read(path, MOST_PACKED_BYTES);
      return decompress(packed, { maxOutputLength: FILE_LIMITS.configuration }).catch((error: unknown) => {
        if (failureCode(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(path, FILE_LIMITS.configuration);
        throw new Error(`${path} is damaged: ${messageOf(error)}`, { cause: error });
      });
    },
    /** Tells whether these very bytes are being written and must not change. */
    isKeeping: (bytes: Buffer): boolean => beingKept.includes(bytes),
    /** Forgets what is kept, after the folder was recreated, empty. */
    forget: (): void => {
      latest = null;
    },
    /** Resolves when no write is under way. */
    idle: async (): Promise<void> => {
      await last;
    },
  };
}

/** Removes half-written versions of a killed Keyway. */
export async function removeHalfKept(fileSystem: FileSystemPort, folder: string): Promise<void> {
  for (const name of await fileSystem.list(folder)) {
    if (name.endsWith(TEMPORARY) && versionOf(name.slice(0, -TEMPORARY.length))) {
      await fileSystem.remove(join(folder, name));
    }
  }
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
