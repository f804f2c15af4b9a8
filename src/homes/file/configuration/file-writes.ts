import type { ConfigurationFingerprint, ConfigurationPatch } from '../../../core/backend.js';
import { createBufferReuse } from '../../../core/buffer-reuse.js';
import type { ConfigurationWrite } from '../../../core/configuration-observer.js';
import { DomainError } from '../../../core/errors.js';
import type { ConfigurationChange, DnsConfig } from '../../../core/model.js';
import type { FileStat } from '../../../core/ports.js';
import { judgeReplacement } from '../../../core/replace-policy.js';
import { inTurns } from '../../../core/steps.js';
import { UNDO_GAP } from '../../../core/undo-versions.js';
import { changeDocument } from '../../../document/change.js';
import { refuseEndedStartSteps, refuseLockOutSteps } from '../../../document/check/keeps-starting.js';
import {
  type ConfigurationDocument,
  lossesBetween,
  type ReadConfiguration,
  readDocument,
} from '../../../document/document.js';
import { recordsOf } from '../../../document/key-changes.js';
import { type PatchedDocument, patchDocumentSteps } from '../../../document/patch/patch-document.js';
import {
  createTarget,
  readTarget,
  replaceTarget,
  TargetChangedError,
  type TargetFile,
  undisturbed,
} from '../../../files/write-file.js';
import { failureCode, failureWords } from '../../../platform/failure-words.js';
import { unlessMissing } from '../../../platform/presence.js';
import type { FileChange } from './change-journal.js';
import type { ServedFile } from './file-state.js';
import type { FoundFile, KnownFile } from './known-file.js';
import { changeCount, differences, mergeChanges } from './pending-changes.js';
import type { Reloads } from './reloads.js';
import { ContentChangedError, refuseOtherContent, type WholeContent } from './whole-content.js';

const HOUR_MS = 3_600_000;

/** Puts changes and whole documents into the file: each of these alone, one after the other. */
export class FileWrites {
  readonly #served: ServedFile;
  readonly #file: KnownFile;
  readonly #reloads: Reloads;
  readonly #buffers = createBufferReuse();
  #isWriting = false;
  /** The renewal of the hold for the present write; null until it has begun. */
  #renewal: Promise<void> | null = null;
  #hasWritten = false;
  #lastError: string | null = null;
  /** The error of a read that failed just now; it may hold the whole content. */
  #readFailure: unknown = null;
  /** The last failure was a failed read; the next good read clears it. */
  #lastReadFailed = false;
  #lastKept = Number.NEGATIVE_INFINITY;
  #lastUndo = Number.NEGATIVE_INFINITY;
  /** The file may hold what the newest version does not. */
  #isNewer = true;

  constructor(served: ServedFile, file: KnownFile, reloads: Reloads) {
    this.#served = served;
    this.#file = file;
    this.#reloads = reloads;
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Changes were written since the start, so that the file may hold what no version has. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** The reason why the last write failed; null after one that did not. */
  get lastError(): string | null {
    return this.#lastError;
  }

  /** Writes these changes with all that is pending; resolves, per change, to what the write carried or an error. Never rejects. */
  async commit(changes: readonly ConfigurationChange[]): Promise<readonly (Error | ConfigurationChange)[]> {
    const { state } = this.#served;
    const change = changes.reduce(mergeChanges, state.pending);
    if (changeCount(change) === 0) {
      this.#accounted(changes, change);
      if (this.#lastReadFailed) this.#succeeded();
      return changes.map(() => change);
    }
    const ended = this.#beginning('changes', changeCount(change));
    this.#isWriting = true;
    try {
      const { refused, made } = await this.#attempts(() => this.#write(change));
      this.#accounted(changes, this.#waiting(refused));
      const carried = made.written;
      state.wrote(carried);
      await this.#note(made);
      if (changeCount(refused) === 0) this.#succeeded();
      ended({ failed: changeCount(refused) > 0 });
      return changes.map((one) => (isRefused(one, refused) ? this.#unsaved() : carried));
    } catch (error) {
      this.#accounted(changes, this.#waiting(mergeChanges(state.pending, change)));
      this.#failed(error);
      ended({ failed: true });
      return changes.map(() => this.#unsaved());
    } finally {
      this.#isWriting = false;
    }
  }

  /** Makes the file this document; resolves to the changes whose write had failed. Rejects with configRefused/WriteFailed, or `ContentChangedError`. */
  async putWhole(whole: ReadConfiguration, reason: WholeReason, how: WholeContent = {}): Promise<ConfigurationChange> {
    const { state } = this.#served;
    return this.#asWhole(async () => {
      const change = differences(state.inFile(), whole.configuration);
      await this.#undisturbed(() => this.#replaceWith(whole, reason, change, how));
      await this.#note(change);
      const waiting = state.pending;
      if (how.dropWaiting) state.pending = {};
      return { result: waiting, follow: () => this.#reloads.replaced(whole, reason) };
    });
  }

  /** Makes a patch over what the file holds now, with the changes that wait. Rejects as `patchDocumentSteps` throws, and with configWriteFailed. */
  async patch(patch: ConfigurationPatch): Promise<ConfigurationFingerprint> {
    return this.#asWhole(async () => {
      const { patched, change } = await this.#undisturbed(() => this.#writePatched(patch));
      const { document, configuration, fingerprint } = patched;
      await this.#note(change);
      return { result: fingerprint, follow: () => this.#reloads.patched(configuration, document) };
    });
  }

  /** Keeps a version where something was added since the newest one, at most one in ten seconds. Never rejects. */
  async keepVersion(): Promise<void> {
    const { path, log } = this.#served;
    if (!this.#isUndoDue()) return;
    try {
      await this.#undisturbed(async () => this.#keepForUndo((await this.#file.settled()).document.bytes));
    } catch (error) {
      log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
    }
  }

  /** Makes one write of the whole file, followed where it succeeds. Rejects with a refusal of its own, else with configWriteFailed. */
  async #asWhole<T>(write: () => Promise<{ readonly result: T; readonly follow: () => void }>): Promise<T> {
    const ended = this.#beginning('whole', 1);
    this.#isWriting = true;
    try {
      const { result, follow } = await write();
      this.#succeeded();
      ended({ failed: false });
      follow();
      await this.#served.starts.noted();
      return result;
    } catch (error) {
      if (error instanceof DomainError || error instanceof ContentChangedError) throw error;
      this.#failed(error);
      ended({ failed: true });
      throw new DomainError('configWriteFailed', failureWords(error));
    } finally {
      this.#isWriting = false;
    }
  }

  async #writePatched(
    patch: ConfigurationPatch,
  ): Promise<{ readonly patched: PatchedDocument; readonly change: FileChange }> {
    const { state, versions, servers } = this.#served;
    const file = this.#file;
    const found = await this.#reading(() => file.settled());
    const waiting = state.pending;
    const { document, refused } = this.#applyParts(found.document, waiting);
    const patched = await inTurns(patchDocumentSteps(document, patch));
    await inTurns(refuseEndedStartSteps(document, patched.document, servers));
    if (patch.mayLockOut !== true) await inTurns(refuseLockOutSteps(document, patched.configuration.listener));
    const change = differences({ ...state.inFile(), keys: [] }, { ...patched.configuration, keys: [] });
    if (patched.document === found.document) await file.makeDurable(found);
    else {
      await versions.keep(found.document.bytes);
      file.attempts(patched.document);
      file.holds(patched.document, await this.#put(found.target, patched.document.bytes, change));
      this.#hasWritten = true;
    }
    state.pending = refused;
    state.wrote(without(waiting, refused));
    return { patched, change };
  }

  /** Records what a server of the same file may revert, so that it is known even after a kill. Never rejects. */
  async #note(change: FileChange): Promise<void> {
    const { state, journal } = this.#served;
    state.unconfirmed.record(change.former, change.written);
    await journal.add(change);
  }

  /** Notes a change that is about to take the place of the file. */
  async #intend(
    change: FileChange,
    { path, realPath, isAssumed = false }: TargetFile,
    keepsNext: boolean,
  ): Promise<void> {
    const { hold, journal, state } = this.#served;
    await this.#renewHold();
    // A data folder that was made again has no version of what is replaced.
    const isMadeAgain = state.keepsNext && !keepsNext;
    if (isAssumed && (isMadeAgain || hold.realPath() !== realPath)) throw new TargetChangedError(path);
    await journal.intend(change);
  }

  /** Renews the hold, once per write. Before that, nothing goes into the data folder or takes the place of the file. */
  #renewHold(): Promise<void> {
    this.#renewal ??= this.#served.hold.renew();
    return this.#renewal;
  }

  async #put(target: TargetFile, content: Buffer, change: FileChange): Promise<FileStat | null> {
    const { fileSystem, overwriting, hold, journal, state } = this.#served;
    // As it was when a version was kept of what is replaced, or none.
    const { keepsNext } = state;
    const before = () => this.#intend(change, target, keepsNext);
    if (overwriting !== null) {
      await before();
      return overwriting.replace(target, content);
    }
    try {
      return await replaceTarget(fileSystem, target, content, { before, after: () => journal.add(change) });
    } catch (error) {
      await this.#renewHold();
      // The folder went since the file was looked at last, or the path leads elsewhere.
      const isGone = failureCode(error) === 'ENOENT' || hold.realPath() !== target.realPath;
      if (target.isAssumed && isGone) throw new TargetChangedError(target.path);
      // The attempt itself leaves the file with another time of change, which is no news.
      if (!(error instanceof TargetChangedError)) await this.#file.look().catch(() => undefined);
      throw error;
    }
  }

  /** Makes an attempt while the file and its data folder are held. */
  #undisturbed<T>(attempt: () => Promise<T>): Promise<T> {
    return this.#attempts(async () => {
      await this.#renewHold();
      return attempt();
    });
  }

  /** Makes an attempt that renews the hold by itself. */
  async #attempts<T>(attempt: () => Promise<T>): Promise<T> {
    const { path, overwriting } = this.#served;
    this.#renewal = null;
    if (overwriting !== null) await this.#renewHold();
    return undisturbed(path, async () => {
      // Also where nothing is to be written: a change that such a file has already would be lost as well.
      await this.#reading(async () => overwriting?.checkThere(path));
      await overwriting?.recover(path);
      return attempt();
    });
  }

  /** Reads the file for a write. After a failure, what waits goes as soon as the file can be read. */
  async #reading<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      this.#readFailure = error;
      this.#served.state.reading = 'unavailable';
      throw error;
    }
  }

  /** Writes a change over what the file is known to hold, or over what it is read to hold. */
  async #write(asked: ConfigurationChange, mayAssume = this.#served.overwriting === null): Promise<Attempt> {
    const { state, versions, inbounds, starts } = this.#served;
    const file = this.#file;
    const assumed = mayAssume ? file.assumed() : null;
    if (assumed === null) await this.#renewHold();
    const found = assumed ?? (await this.#reading(() => file.settled()));
    // Changes that this reading has shown to be taken back go with it.
    const change = mergeChanges(state.pending, asked);
    const { document, refused } = this.#applyParts(found.document, change);
    // What was assumed is compared before a replacement alone.
    const isReplaced = document !== found.document && changeCount(refused) === 0;
    if (assumed !== null && !isReplaced) return this.#write(asked, false);
    const made = { former: this.#formerOf(found.document, change), written: without(change, refused) };
    if (document === found.document) {
      await file.makeDurable(found);
    } else {
      const isKeysAlone = change.rules === undefined && change.dns === undefined;
      if (starts.trouble === null && starts.ended(document, { isKeysAlone }) !== null) {
        await this.#renewHold();
        await versions.keep(found.document.bytes, { forever: true });
      } else await this.#keepBeforeChange(found, made.former);
      file.attempts(document);
      file.holds(document, await this.#put(found.target, document.bytes, made));
      this.#hasWritten = true;
      this.#isNewer ||= adds(change);
      if (!versions.isKeeping(found.document.bytes)) this.#buffers.retire(found.document.bytes);
      inbounds.look(document);
      starts.wrote(document, { isKeysAlone });
      await starts.noted();
    }
    return { refused, made };
  }

  /** Returns what the file says of the things that a change changes. */
  #formerOf(document: ConfigurationDocument, { keys, rules, dns }: ConfigurationChange): ConfigurationChange {
    const { state } = this.#served;
    const { outbound, dns: present } = rules || dns ? state.inFile() : NOTHING;
    const members = Object.keys(dns ?? {}).map((member) => [member, present?.[member as keyof DnsConfig]]);
    return {
      ...(keys && { keys: recordsOf(document, keys.keys()) }),
      ...(outbound && { rules: outbound.rules }),
      ...(dns && { dns: Object.fromEntries(members) }),
    };
  }

  /** A part that has no place in this file (rules where there is no outbound) must not hold up the others. */
  #applyParts(document: ConfigurationDocument, { keys, rules, dns }: ConfigurationChange) {
    const { servers } = this.#served;
    const parts: ConfigurationChange[] = [
      ...(keys ? [{ keys }] : []),
      ...(dns ? [{ dns }] : []),
      ...(rules ? [{ rules }] : []),
    ];
    let changed = document;
    let refused: ConfigurationChange = {};
    for (const part of parts) {
      try {
        changed = changeDocument(changed, part, this.#buffers.allocate, servers);
      } catch (error) {
        refused = mergeChanges(refused, part);
        this.#failed(error);
      }
    }
    return { document: changed, refused };
  }

  /**
   * Keeps the present version: before the write if nobody else has it or the change takes something away; the hourly one
   * may be kept during the write.
   */
  async #keepBeforeChange({ document: { bytes } }: FoundFile, former: ConfigurationChange): Promise<void> {
    const { clock, state, versions } = this.#served;
    const isUndone = adds(former) && this.#isUndoDue();
    if (!isUndone && !state.keepsNext && clock.monotonic() - this.#lastKept < HOUR_MS) return;
    await this.#renewHold();
    if (isUndone) await this.#keepForUndo(bytes);
    else if (state.keepsNext) await versions.keep(bytes);
    else return this.#keepBeside(bytes);
    state.keepsNext = false;
    this.#isNewer = false;
    this.#lastKept = clock.monotonic();
  }

  #keepBeside(bytes: Buffer): void {
    this.#reloads.keep(bytes);
    this.#lastKept = this.#served.clock.monotonic();
  }

  #isUndoDue(): boolean {
    return this.#isNewer && this.#served.clock.monotonic() - this.#lastUndo >= UNDO_GAP;
  }

  async #keepForUndo(bytes: Buffer): Promise<void> {
    await this.#served.versions.keep(bytes);
    this.#lastUndo = this.#served.clock.monotonic();
    this.#isNewer = false;
  }

  /** Returns the part of an unwritten change that the next write carries. */
  #waiting(unwritten: ConfigurationChange): ConfigurationChange {
    return this.#served.givesUpUnsaved ? {} : unwritten;
  }

  /** Takes these changes off those on their way; `waiting` are the ones that are not written. */
  #accounted(changes: readonly ConfigurationChange[], waiting: ConfigurationChange): void {
    const { state } = this.#served;
    for (const change of changes) state.accepted.delete(change);
    state.pending = waiting;
  }

  /** Starts the time of a write; the function that it returns tells the observer how the write ended. */
  #beginning(kind: ConfigurationWrite['kind'], changes: number) {
    const { clock } = this.#served;
    const began = clock.monotonic();
    return (end: Pick<ConfigurationWrite, 'failed'>): void => {
      this.#served.observer?.wrote({ kind, changes, milliseconds: clock.monotonic() - began, ...end });
    };
  }

  async #replaceWith(
    { document, configuration }: ReadConfiguration,
    reason: WholeReason,
    change: FileChange,
    how: WholeContent,
  ): Promise<void> {
    const { path, fileSystem, log, versions, starts } = this.#served;
    const file = this.#file;
    const present = await this.#reading(() => unlessMissing(readTarget(fileSystem, path)));
    refuseOtherContent(path, present, how.replaces);
    const before = this.#documentIn(present);
    const removed = this.#reloads.wouldRemove(configuration);
    const verdict = judgeReplacement({ reason, ...lossesBetween(before, document), removed });
    const forever = how.forever || verdict.forever || (starts.trouble === null && starts.ended(document) !== null);
    // The last good content goes first where the file holds something else by now.
    if (forever) await versions.keep(file.document.bytes, { forever });
    if (present !== null) await versions.keep(present.bytes, { forever });
    file.attempts(document);
    const stat =
      present === null
        ? await createTarget(fileSystem, path, document.bytes)
        : await this.#put(present, document.bytes, change);
    file.holds(document, stat);
    verdict.report(log, { file: path });
  }

  /** Returns the found file as a document, or the last good one if it cannot be read as one. */
  #documentIn(present: TargetFile | null): ConfigurationDocument {
    const known = this.#file.document;
    if (present === null || present.bytes.equals(known.bytes)) return known;
    try {
      return readDocument(present.bytes).document;
    } catch {
      return known; // What cannot be read holds no keys that could be lost.
    }
  }

  /** Says it once, until the reason is another one. */
  #failed(error: unknown): void {
    const { path, log } = this.#served;
    const reason = failureWords(error);
    if (reason !== this.#lastError) log.error({ file: path, reason }, 'the configuration file could not be written');
    this.#lastError = reason;
    this.#lastReadFailed = error === this.#readFailure;
    this.#readFailure = null;
  }

  #unsaved(): DomainError {
    const { path, process, givesUpUnsaved } = this.#served;
    const why = `${path}: ${this.#lastError ?? ''}`;
    if (givesUpUnsaved) return new DomainError('saveFailed', why);
    const words = `in memory of ${process} until it ends; not in ${why}; it goes in once that is mended`;
    return new DomainError('savedInMemory', words);
  }

  #succeeded(): void {
    const { path, log } = this.#served;
    this.#lastReadFailed = false;
    if (this.#lastError !== null) log.info({ file: path }, 'the configuration file can be written again');
    this.#lastError = null;
  }
}

/** The outcome of one attempt to write: what was written, and what has no place. */
interface Attempt {
  readonly made: FileChange;
  readonly refused: ConfigurationChange;
}

const NOTHING = { outbound: null, dns: null };

/** Tells whether a change brings something that another content may not have. */
function adds({ keys, rules, dns }: ConfigurationChange): boolean {
  return rules !== undefined || dns !== undefined || [...(keys?.values() ?? [])].some((record) => record !== null);
}

type WholeReason = 'replaced' | 'restored';

/** The parts of the change that the other one does not have. */
function without(change: ConfigurationChange, refused: ConfigurationChange): ConfigurationChange {
  const { keys, rules, dns } = change;
  return {
    ...(keys && !refused.keys && { keys }),
    ...(rules && !refused.rules && { rules }),
    ...(dns && !refused.dns && { dns }),
  };
}

function isRefused(change: ConfigurationChange, refused: ConfigurationChange): boolean {
  return changeCount(without(change, refused)) < changeCount(change);
}
