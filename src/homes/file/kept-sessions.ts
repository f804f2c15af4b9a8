import { hash, randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { FileSystemPort, LogPort } from '../../core/ports.js';
import { equalSecrets, type Session } from '../../core/session.js';
import { parseMembers } from '../../files/data-folder.js';
import { createWhole } from '../../files/write-file.js';
import { failureWords } from '../../platform/failure-words.js';
import { unlessMissing } from '../../platform/presence.js';

export type KeptSessions = Awaited<ReturnType<typeof openKeptSessions>>;

interface KeptSessionsOptions {
  readonly dataFolder: string;
  readonly fileSystem: FileSystemPort;
  readonly log: LogPort;
}

const FILE = 'sessions.json';
const FILE_MODE = 0o600;

/**
 * Sessions that outlive the process: a digest of each mount's token stands in the data folder, never the token. Reads what
 * was kept. What cannot be read is as if nothing were: everybody signs in again.
 */
export async function openKeptSessions({ dataFolder, fileSystem, log }: KeptSessionsOptions) {
  const path = join(dataFolder, FILE);
  const kept = await readKept(fileSystem, path).catch((error: unknown) => {
    log.warn({ reason: failureWords(error) }, 'the kept sessions cannot be read: everybody signs in again');
    return NOTHING;
  });
  const digests = new Map(kept.sessions);
  let { credentials } = kept;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    const content = Buffer.from(`${JSON.stringify({ credentials, sessions: Object.fromEntries(digests) }, null, 2)}\n`);
    const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      await createWhole(fileSystem, { path, temporary }, async () => {
        await fileSystem.create(temporary, content, FILE_MODE, 'folder');
        await fileSystem.sync(temporary);
      });
      await fileSystem.syncFolder(dirname(path));
    } catch (error) {
      log.warn({ reason: failureWords(error) }, 'the sessions are not kept over a restart: the next login tries again');
    }
  }

  function save(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  return {
    /** The session of one mount, by its API root. */
    session(api: string): Session {
      /** The token itself, once it was shown: to digest each takes longer than to compare. */
      let known: string | null = null;
      return {
        begin(token) {
          known = token;
          digests.set(api, digestOf(token));
          return save();
        },
        end() {
          known = null;
          return digests.delete(api) ? save() : undefined;
        },
        matches(token) {
          const digest = digests.get(api);
          if (digest === undefined) return false;
          if (known !== null) return equalSecrets(token, known);
          if (!equalSecrets(digestOf(token), digest)) return false;
          known = token;
          return true;
        },
        isHeld: () => digests.has(api),
      };
    },
    /** Ends every session that began under other credentials than these, also those that were begun before a restart. */
    holdTo(next: string): void {
      const digest = digestOf(next);
      if (digest === credentials) return;
      credentials = digest;
      digests.clear();
      void save();
    },
    /** Resolves when everything is written that could be. */
    close: (): Promise<void> => writing,
  };
}

function digestOf(secret: string): string {
  return hash('sha256', secret);
}

interface Kept {
  /** The digest of the credentials that stood when the sessions began. */
  readonly credentials: string;
  readonly sessions: readonly (readonly [api: string, digest: string])[];
}

const NOTHING: Kept = { credentials: '', sessions: [] };

async function readKept(fileSystem: FileSystemPort, path: string): Promise<Kept> {
  const bytes = await unlessMissing(fileSystem.read(path, FILE_LIMITS.note));
  if (bytes === null) return NOTHING;
  const { credentials, sessions } = parseMembers(bytes);
  if (typeof credentials !== 'string' || typeof sessions !== 'object' || sessions === null) return NOTHING;
  const digests = Object.entries(sessions).flatMap(([api, digest]: [string, unknown]) =>
    typeof digest === 'string' ? [[api, digest] as const] : [],
  );
  return { credentials, sessions: digests };
}
