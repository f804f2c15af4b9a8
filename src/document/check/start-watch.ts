import type { KeptRecords } from '../../core/kept-records.js';
import type { LogPort } from '../../core/ports.js';
import { finish } from '../../core/steps.js';
import type { FileServer, ServerFile } from '../../wire/traits/server-file.js';
import type { ConfigurationDocument } from '../document.js';
import { keysProblem, sectionsProblemsSteps } from './keeps-starting.js';

interface StartWatchOptions {
  /** Identifies the configuration in the log. */
  readonly of: Readonly<Record<string, string>>;
  readonly log: LogPort;
  /** The servers that may read the file. */
  readonly servers: () => readonly FileServer[];
}

/** The id of the only record of its kind. */
const ENDED = 'ended';

/**
 * Reports writes of Keyway's own, as the protocol asked for them, after which a server that started from the file no
 * longer does. The servers are remembered in a record until they start again.
 */
export class StartWatch {
  readonly #options: StartWatchOptions;
  #records: KeptRecords | null = null;
  /** The files' names of servers that no longer started when Keyway ended; null once these have been looked for. */
  #recalled: readonly string[] | null = null;
  /** The servers in trouble that only their gateway watches, for example during a command. */
  #others: readonly string[] = [];
  /** Why each server would not start from the present file, apart from its keys. */
  #sections: ReadonlyMap<ServerFile, string | null> = new Map();
  /** The number of lists of keys in it, because the first key may create one. */
  #lists = 0;
  #started: readonly FileServer[] = [];
  #trouble: string | null = null;
  #noted: Promise<unknown> = Promise.resolve();

  constructor(options: StartWatchOptions) {
    this.#options = options;
  }

  /** The trouble that was last reported; null while nothing is wrong. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** The servers that start from the file, or did before a write of Keyway's. */
  get started(): readonly FileServer[] {
    return this.#started;
  }

  /** Stores troubles in these records from now on; one that they already contain is taken up by the next `found`. */
  remember(records: KeptRecords): void {
    this.#records = records;
    const body = records.of('starts').get(ENDED);
    const names: unknown = body === undefined ? null : JSON.parse(body);
    if (Array.isArray(names)) this.#recalled = names.map(String);
  }

  /** Accepts another program's content as intended, unless a trouble persists. */
  found(document: ConfigurationDocument): void {
    this.#take(document);
    const recalled = this.#recalled;
    this.#recalled = null;
    if (recalled !== null) this.#recall(recalled);
    const isGoingOn = this.#trouble !== null || recalled !== null;
    this.#becomes(document, isGoingOn ? this.#problemIn(document, this.#sections) : null);
  }

  #recall(names: readonly string[]): void {
    const servers = this.#options.servers();
    this.#started = servers.filter(({ file }) => names.includes(file.name));
    this.#others = names.filter((name) => servers.every(({ file }) => file.name !== name));
  }

  /**
   * Returns what in a document that is to be written makes the start of a server fail that starts at present; null for
   * nothing.
   */
  ended(
    document: ConfigurationDocument,
    { isKeysAlone = false }: { readonly isKeysAlone?: boolean } = {},
  ): string | null {
    const isSame = isKeysAlone && document.lists.length === this.#lists;
    return this.#problemIn(document, isSame ? this.#sections : this.#sectionsOf(document));
  }

  /** Notes a write of Keyway's. */
  wrote(document: ConfigurationDocument, { isKeysAlone = false }: { readonly isKeysAlone?: boolean } = {}): void {
    if (!isKeysAlone || document.lists.length !== this.#lists) this.#take(document);
    this.#becomes(document, this.#problemIn(document, this.#sections));
  }

  /** Resolves once the trouble, or its end, has been made durable; never rejects. */
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

  #take(document: ConfigurationDocument): void {
    this.#sections = this.#sectionsOf(document);
    this.#lists = document.lists.length;
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

  /** Writes the names of servers in trouble to the records, which log their own failures. */
  #note(): void {
    const names = [...(this.#trouble === null ? [] : this.#started.map(({ file }) => file.name)), ...this.#others];
    const body = names.length === 0 ? null : JSON.stringify(names);
    const records = this.#records;
    if (records === null || (records.of('starts').get(ENDED) ?? null) === body) return;
    this.#noted = records.change([{ kind: 'starts', id: ENDED, body }]).catch(() => undefined);
  }
}
