import { createWhole, removeStaleTemporaries, temporaryPath } from '../../files/write-file.js';
import { failureWords } from '../../platform/failure-words.js';
import { type ShadowReport, Tally } from '../../shadow/tally.js';
import type { CommandContext } from '../command.js';
import { readNamed } from './named-file.js';

const PRIVATE = 0o600;

/** Keeps the last report where SIGKILL leaves it: a whole one, at most a second old. */
export class ReportFile {
  readonly #path: string;
  readonly #context: CommandContext;
  #next: ShadowReport | null = null;
  #work: Promise<void> | null = null;
  #hasFailed = false;

  constructor(path: string, context: CommandContext) {
    this.#path = path;
    this.#context = context;
  }

  /** Removes what one that was killed has left beside it. */
  async begin(): Promise<void> {
    await removeStaleTemporaries(this.#context.fileSystem, this.#path).catch(() => undefined);
  }

  /** Resolves when this report is written, or a later one. */
  write(report: ShadowReport): Promise<void> {
    this.#next = report;
    this.#work ??= this.#writeAll();
    return this.#work;
  }

  async #writeAll(): Promise<void> {
    for (let report = this.#next; report !== null; report = this.#next) {
      this.#next = null;
      await this.#replace(report);
    }
    this.#work = null;
  }

  async #replace(report: ShadowReport): Promise<void> {
    const { fileSystem, complain } = this.#context;
    const [path, content] = [this.#path, Buffer.from(`${JSON.stringify(report, null, 1)}\n`)];
    const temporary = temporaryPath(path);
    try {
      await createWhole(fileSystem, { path, temporary }, () => fileSystem.create(temporary, content, PRIVATE));
    } catch (error) {
      if (!this.#hasFailed)
        complain(`keyway shadow: --report: ${this.#path} cannot be written: ${failureWords(error)}`);
      this.#hasFailed = true;
    }
  }
}

/** Reads what a `ReportFile` has written. Rejects with an `Error` for people, also where it is something else. */
export async function readReport(path: string, context: CommandContext): Promise<ShadowReport> {
  const text = await readNamed(path, context);
  try {
    const report: unknown = JSON.parse(text);
    if (isReport(report)) return report;
  } catch {
    // Not even JSON.
  }
  throw new Error(`${path} is no report of this version of keyway shadow`);
}

/** Tells whether a value has the version and the members of an empty report, each of its type. */
function isReport(value: unknown): value is ShadowReport {
  const empty = new Tally(() => 0).report();
  return isOfForm(value, empty) && Object(value).version === empty.version;
}

/** Tells whether a value has the type of another, and its members where that is an object; where that is null it may be anything. */
function isOfForm(value: unknown, form: unknown): boolean {
  if (form === null) return value !== undefined;
  if (Array.isArray(form)) return Array.isArray(value);
  if (typeof form !== 'object') return typeof value === typeof form;
  if (typeof value !== 'object' || value === null) return false;
  const members = new Map<string, unknown>(Object.entries(value));
  return Object.entries(Object(form)).every(([name, member]) => isOfForm(members.get(name), member));
}
