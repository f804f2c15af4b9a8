import { join } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import { createWhole, temporaryPath } from '../files/write-file.js';
import { failureWords } from '../platform/failure-words.js';
import { exists } from '../platform/presence.js';
import { formatScenario } from '../replay/format/format.js';
import { Recorder } from '../replay/record/recorder.js';
import type { FoundServer } from './asked-server.js';
import type { Passed } from './traffic.js';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

export interface SavedDifferencesOptions {
  readonly folder: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly fileSystem: FileSystemPort;
  /** Told, in a sentence, of what cannot be written. */
  readonly onFailure: (sentence: string) => void;
}

/** Writes the target's answer to a request that was answered otherwise as a scenario, without anything secret. */
export class SavedDifferences {
  readonly #options: SavedDifferencesOptions;
  #number = 0;
  #work: Promise<void> = Promise.resolve();

  constructor(options: SavedDifferencesOptions) {
    this.#options = options;
  }

  save(passed: Passed, title: string, { target, revision, version }: FoundServer): void {
    const { folder, date, onFailure } = this.#options;
    const { apiRoot, base } = target;
    const recorder = new Recorder({ revision: version, date, keepValues: false, apiRoot, base, traits: revision });
    const session = recorder.add(passed);
    if (session === null) return;
    const content = Buffer.from(formatScenario({ ...recorder.scenario(session), title }));
    this.#work = this.#work
      .then(() => this.#write(content))
      .catch((error: unknown) => onFailure(`--save: ${folder} cannot be written: ${failureWords(error)}`));
  }

  /** Resolves when all is written. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** Takes the next free number: a file that stands there already is never touched. */
  async #write(content: Buffer): Promise<void> {
    const { folder, fileSystem } = this.#options;
    await fileSystem.makeFolder(folder, PRIVATE_FOLDER);
    for (;;) {
      this.#number += 1;
      const path = join(folder, `difference-${String(this.#number).padStart(3, '0')}.json`);
      if (await exists(fileSystem, path)) continue;
      const temporary = temporaryPath(path);
      return createWhole(fileSystem, { path, temporary }, () => fileSystem.create(temporary, content, PRIVATE_FILE));
    }
  }
}
