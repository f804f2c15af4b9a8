import { join } from 'node:path';
import type { FileSystemPort } from '../../core/ports.js';
import { formatScenario } from '../format/format.js';
import type { Recorder } from './recorder.js';

/** Writes what a recorder has, one file per session. */
export interface RecordingFiles {
  /** A session has something new; null for none. */
  changed(session: number | null): void;
  /** Writes every session that has something new. */
  flush(): Promise<void>;
  /** The files so far, by session. */
  readonly paths: ReadonlyMap<number, string>;
}

const PRIVATE = 0o600;

/**
 * Keeps the files of one recording in a folder. A file that stands there already is never touched: the next free number is
 * taken. Files of this recording grow with their session.
 */
export function createRecordingFiles(
  folder: string,
  recorder: Pick<Recorder, 'scenario'>,
  fileSystem: FileSystemPort,
): RecordingFiles {
  const paths = new Map<number, string>();
  const waiting = new Set<number>();
  let work: Promise<void> = Promise.resolve();
  let number = 0;

  async function create(content: Buffer): Promise<string> {
    for (;;) {
      number += 1;
      const path = join(folder, `session-${String(number).padStart(3, '0')}.json`);
      const isNew = await fileSystem.create(path, content, PRIVATE).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
          throw error;
        },
      );
      if (isNew) return path;
    }
  }

  async function write(session: number): Promise<void> {
    const content = Buffer.from(formatScenario(recorder.scenario(session)));
    const path = paths.get(session);
    if (path === undefined) paths.set(session, await create(content));
    else await fileSystem.overwrite(path, content);
  }

  async function writeWaiting(): Promise<void> {
    for (const session of [...waiting]) {
      waiting.delete(session);
      await write(session).catch((error: unknown) => {
        waiting.add(session);
        throw error;
      });
    }
  }

  return {
    changed(session) {
      if (session !== null) waiting.add(session);
    },
    flush() {
      work = work.catch(() => undefined).then(writeWaiting);
      return work;
    },
    paths,
  };
}
