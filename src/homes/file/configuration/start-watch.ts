import type { LogPort } from '../../../core/ports.js';
import { keysProblem, sectionsProblem } from '../../../document/check/keeps-starting.js';
import type { ConfigurationDocument } from '../../../document/document.js';
import type { FileServer } from '../../../wire/traits/server-file.js';

interface StartWatchOptions {
  readonly path: string;
  readonly log: LogPort;
  /** The servers that may read the file. */
  readonly servers: readonly FileServer[];
}

/** Says of Keyway's own writes, which the protocol asked for, that a server which started from the file does not any more. */
export class StartWatch {
  readonly #options: StartWatchOptions;
  /** The reason, other than its keys, why each server would not start from the file as it is now. */
  #sections: ReadonlyMap<FileServer, string | null> = new Map();
  /** The servers that start from the file, or did before a write of Keyway's. */
  #started: readonly FileServer[] = [];
  #trouble: string | null = null;

  constructor(options: StartWatchOptions) {
    this.#options = options;
  }

  /** The last trouble that was said; null while nothing is wrong. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** Takes what somebody else has put into the file for how it is to be, unless a trouble goes on. */
  found(document: ConfigurationDocument): void {
    this.#sections = this.#sectionsOf(document);
    const trouble = this.#trouble === null ? null : this.ended(document, { isKeysAlone: true });
    this.#say(trouble);
    if (trouble === null) this.#started = this.#starting(document);
  }

  /** Returns what ends, in a document that is to be written, the start of a server that starts until then; null for nothing. */
  ended(
    document: ConfigurationDocument,
    { isKeysAlone = false }: { readonly isKeysAlone?: boolean } = {},
  ): string | null {
    const sections = isKeysAlone ? this.#sections : this.#sectionsOf(document);
    for (const server of this.#started) {
      const problem = sections.get(server) ?? keysProblem(document, server.file);
      if (problem !== null) return `a server of ${server.version} does not start from the file any more: ${problem}`;
    }
    return null;
  }

  /** Notes what Keyway has written. */
  wrote(document: ConfigurationDocument, { isKeysAlone = false }: { readonly isKeysAlone?: boolean } = {}): void {
    if (!isKeysAlone) this.#sections = this.#sectionsOf(document);
    this.#say(this.ended(document, { isKeysAlone: true }));
    if (this.#trouble === null) this.#started = this.#starting(document);
  }

  #sectionsOf(document: ConfigurationDocument): ReadonlyMap<FileServer, string | null> {
    return new Map(this.#options.servers.map((server) => [server, sectionsProblem(document, server.file)]));
  }

  #starting(document: ConfigurationDocument): readonly FileServer[] {
    return this.#options.servers.filter(
      (server) => this.#sections.get(server) === null && keysProblem(document, server.file) === null,
    );
  }

  #say(trouble: string | null): void {
    const { path, log } = this.#options;
    if (trouble !== null && trouble !== this.#trouble) log.error({ file: path }, trouble);
    if (trouble === null && this.#trouble !== null) log.info({ file: path }, 'servers start from the file again');
    this.#trouble = trouble;
  }
}
