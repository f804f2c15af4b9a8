import { hash } from 'node:crypto';
import { join } from 'node:path';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { KeptRecords, RecordChange } from '../../core/kept-records.js';
import type { FileSystemPort, LogPort } from '../../core/ports.js';
import { equalSecrets, type Session } from '../../core/session.js';
import { parseMembers } from '../../files/data-folder.js';
import { failureWords } from '../../platform/failure-words.js';
import { unlessMissing } from '../../platform/presence.js';

export type KeptSessions = Awaited<ReturnType<typeof openKeptSessions>>;

interface KeptSessionsOptions {
  readonly records: KeptRecords;
  readonly dataFolder: string;
  readonly fileSystem: FileSystemPort;
  readonly log: LogPort;
}

/** The record of the credentials; all others have the API root of a mount as their id, which begins with a slash. */
const CREDENTIALS = 'credentials';

/**
 * Sessions that outlive the process: a digest of each mount's token stands in Keyway's own records, never the token. What
 * cannot be read is as if nothing were kept: everybody signs in again.
 */
export async function openKeptSessions({ records, dataFolder, fileSystem, log }: KeptSessionsOptions) {
  await takeOverFile(records, fileSystem, dataFolder);
  const digests = new Map([...records.of('sessions')].flatMap(([id, body]) => digestIn(id, body)));
  let credentials = digests.get(CREDENTIALS) ?? '';
  digests.delete(CREDENTIALS);
  /** The API roots of all sessions that may stand in the records. */
  const roots = new Set([...records.of('sessions').keys()].filter((id) => id !== CREDENTIALS));

  /** Writes all of them, because a write before may have failed. */
  async function save(): Promise<void> {
    try {
      const sessions = [...roots].map((api) => recordOf(api, digests.get(api) ?? null));
      await records.change([recordOf(CREDENTIALS, credentials), ...sessions]);
    } catch (error) {
      log.warn({ reason: failureWords(error) }, 'the sessions are not kept over a restart: the next login tries again');
    }
  }

  return {
    /** The session of one mount, by its API root. */
    session(api: string): Session {
      /** The token itself, once it was shown: to digest each takes longer than to compare. */
      let known: string | null = null;
      return {
        begin(token) {
          known = token;
          roots.add(api);
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
  };
}

function recordOf(id: string, digest: string | null): RecordChange {
  return { kind: 'sessions', id, body: digest === null ? null : JSON.stringify(digest) };
}

function digestIn(id: string, body: string): readonly (readonly [id: string, digest: string])[] {
  const [, digest] = /^"([0-9a-f]{64})"$/.exec(body) ?? [];
  return digest === undefined ? [] : [[id, digest]];
}

function digestOf(secret: string): string {
  return hash('sha256', secret);
}

/** Takes over the file in which Keyways up to 0.9 kept sessions. It goes first, so that no session that ends comes back by it. */
async function takeOverFile(records: KeptRecords, fileSystem: FileSystemPort, dataFolder: string): Promise<void> {
  const path = join(dataFolder, 'sessions.json');
  const bytes = await unlessMissing(fileSystem.read(path, FILE_LIMITS.note)).catch(() => null);
  if (bytes === null) return;
  const removing = fileSystem.remove(path).then(() => fileSystem.syncFolder(dataFolder));
  const isGone = await removing.then(
    () => true,
    () => false,
  );
  if (!isGone) return;
  const { credentials, sessions } = parseMembers(bytes);
  // What stands in the records is older: an earlier Keyway has served since.
  const before = Object.fromEntries([...records.of('sessions').keys()].map((id) => [id, null]));
  const kept = Object.entries({ ...before, ...Object(sessions), [CREDENTIALS]: credentials });
  const changes = kept.map(([id, digest]) => recordOf(id, typeof digest === 'string' ? digest : null));
  await records.change(changes).catch(() => undefined);
}
