import { join } from 'node:path';
import type { FileSystemPort } from '../../core/ports.js';
import { formatScenario } from '../format/format.js';
import type { Recorder } from './recorder.js';

const PRIVATE = 0o600;

/**
 * The files of one recording in a folder, one for each session, rewritten as the session grows. An existing file is
 * never touched: the next free number is used.
 */
export class RecordingFiles {
  /** The files so far, by session. */
  readonly paths = new Map<number, string>();
  readonly #folder: string;
  readonly #recorder: Pick<Recorder, 'scenario'>;
  readonly #fileSystem: FileSystemPort;
  readonly #waiting = new Set<number>();
  #work: Promise<void> = Promise.resolve();
  /** That of the next file. */
  #number = 1;

  constructor(folder: string, recorder: Pick<Recorder, 'scenario'>, fileSystem: FileSystemPort) {
    this.#folder = folder;
    this.#recorder = recorder;
    this.#fileSystem = fileSystem;
  }

  /** Notes that a session has something new; null for no session. */
  changed(session: number | null): void {
    if (session !== null) this.#waiting.add(session);
  }

  /** Writes every session that has something new. */
  flush(): Promise<void> {
    this.#work = this.#work.catch(() => undefined).then(() => this.#writeWaiting());
    return this.#work;
  }

  async #writeWaiting(): Promise<void> {
    for (const session of [...this.#waiting]) {
      this.#waiting.delete(session);
      await this.#write(session).catch((error: unknown) => {
        this.#waiting.add(session);
        throw error;
      });
    }
  }

  async #write(session: number): Promise<void> {
    const content = Buffer.from(formatScenario(this.#recorder.scenario(session)));
    const path = this.paths.get(session);
    if (path === undefined) this.paths.set(session, await this.#create(content));
    else await this.#replace(path, content);
  }

  /** Puts a content in place of one that stays whole until then. */
  async #replace(path: string, content: Buffer): Promise<void> {
    const temporary = `${path}.tmp`;
    await this.#fileSystem.create(temporary, Buffer.alloc(0), PRIVATE);
    try {
      await this.#fileSystem.append(temporary, content);
      await this.#fileSystem.rename(temporary, path);
    } catch (error) {
      await this.#fileSystem.remove(temporary).catch(() => undefined);
      throw error;
    }
  }

  async #create(content: Buffer): Promise<string> {
    for (;;) {
      const path = join(this.#folder, `session-${String(this.#number).padStart(3, '0')}.json`);
      try {
        await this.#fileSystem.create(path, Buffer.alloc(0), PRIVATE);
        await this.#replace(path, content).catch(async (error: unknown) => {
          // It would be no scenario, and each further attempt would leave another.
          await this.#fileSystem.remove(path).catch(() => undefined);
          throw error;
        });
        this.#number += 1;
        return path;
      } catch (error) {
        if (!isInTheWay(error)) throw error;
        this.#number += 1;
      }
    }
  }
}

/** Tells whether the file that was to be made exists already, and is somebody else's. */
function isInTheWay(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
