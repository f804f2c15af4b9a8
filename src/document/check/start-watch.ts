import type { KeptRecords } from '../../core/kept-records.js';
import type { LogPort } from '../../core/ports.js';
import { finish } from '../../core/steps.js';
import type { FileServer, ServerFile } from '../../wire/traits/server-file.js';
import type { ConfigurationDocument } from '../document.js';
import { keysProblem, sectionsProblemsSteps } from './keeps-starting.js';

interface StartWatchOptions {
  /** Whose configuration it is, in the log. */
  readonly of: Readonly<Record<string, string>>;
  readonly log: LogPort;
  /** The servers that may read the file. */
  readonly servers: () => readonly FileServer[];
}

/** The one record of its kind. */
const ENDED = 'ended';

/**
 * Says of Keyway's own writes, which the protocol asked for, that a server which started from the file does not any more. The servers
 * are remembered in a record until they start again.
 */
export class StartWatch {
  readonly #options: StartWatchOptions;
  #records: KeptRecords | null = null;
  /** The names of the files of servers that did not start any more when Keyway ended; null once these were looked for. */
  #recalled: readonly string[] | null = null;
  /** The reason, other than its keys, why each server would not start from the file as it is now. */
  #sections: ReadonlyMap<ServerFile, string | null> = new Map();
  #started: readonly FileServer[] = [];
  #trouble: string | null = null;
  #noted: Promise<unknown> = Promise.resolve();

  constructor(options: StartWatchOptions) {
    this.#options = options;
  }

  /** The last trouble that was said; null while nothing is wrong. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** The servers that start from the file, or did before a write of Keyway's. */
  get started(): readonly FileServer[] {
    return this.#started;
  }

  /** Remembers troubles in these records from now on; what they have of one counts with the next `found`. */
  remember(records: KeptRecords): void {
    this.#records = records;
    const body = records.of('starts').get(ENDED);
    const names: unknown = body === undefined ? null : JSON.parse(body);
    if (Array.isArray(names)) this.#recalled = names.map(String);
  }

  /** Takes what somebody else has put into the file for how it is to be, unless a trouble goes on. */
  found(document: ConfigurationDocument): void {
    this.#sections = this.#sectionsOf(document);
    const recalled = this.#recalled;
    this.#recalled = null;
    if (recalled !== null) this.#started = this.#options.servers().filter(({ file }) => recalled.includes(file.name));
    const isGoingOn = this.#trouble !== null || recalled !== null;
    this.#becomes(document, isGoingOn ? this.#problemIn(document, this.#sections) : null);
  }

  /** Returns what ends, in a document that is to be written, the start of a server that starts until then; null for nothing. */
  ended(
    document: ConfigurationDocument,
    { isKeysAlone = false }: { readonly isKeysAlone?: boolean } = {},
  ): string | null {
    return this.#problemIn(document, isKeysAlone ? this.#sections : this.#sectionsOf(document));
  }

  /** Notes what Keyway has written. */
  wrote(document: ConfigurationDocument, { isKeysAlone = false }: { readonly isKeysAlone?: boolean } = {}): void {
    if (!isKeysAlone) this.#sections = this.#sectionsOf(document);
    this.#becomes(document, this.#problemIn(document, this.#sections));
  }

  /** Resolves once the trouble, or its end, would be known after a crash; never rejects. */
  async noted(): Promise<void> {
    await this.#noted;
  }

  #problemIn(document: ConfigurationDocument, sections: ReadonlyMap<ServerFile, string | null>): string | null {
    for (const server of this.#started) {
      const problem = sections.get(server.file) ?? keysProblem(document, server.file);
      if (problem !== null) return `a server of ${server.version} does not start from the file any more: ${problem}`;
    }
    return null;
  }

  #sectionsOf(document: ConfigurationDocument): ReadonlyMap<ServerFile, string | null> {
    const files = this.#options.servers().map(({ file }) => file);
    return finish(sectionsProblemsSteps(document, files));
  }

  #becomes(document: ConfigurationDocument, trouble: string | null): void {
    const { of, log } = this.#options;
    if (trouble !== null && trouble !== this.#trouble) log.error(of, trouble);
    if (trouble === null && this.#trouble !== null) log.info(of, 'servers start from the file again');
    this.#trouble = trouble;
    const isStarting = (file: ServerFile) => this.#sections.get(file) === null && keysProblem(document, file) === null;
    const before = trouble === null ? [] : this.#started.map(({ file }) => file);
    this.#started = this.#options.servers().filter(({ file }) => isStarting(file) || before.includes(file));
    this.#note();
  }

  /** The records say by themselves where they cannot be written. */
  #note(): void {
    const names = this.#started.map(({ file }) => file.name);
    const body = this.#trouble === null ? null : JSON.stringify(names);
    const records = this.#records;
    if (records === null || (records.of('starts').get(ENDED) ?? null) === body) return;
    this.#noted = records.change([{ kind: 'starts', id: ENDED, body }]).catch(() => undefined);
  }
}
