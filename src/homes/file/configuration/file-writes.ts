import type { ConfigurationObserverPort, ConfigurationWrite } from '../../../core/configuration-observer.js';
import { DomainError } from '../../../core/errors.js';
import { createSpareRoom } from '../../../core/keys/spare-room.js';
import type { ConfigurationChange, DnsConfig } from '../../../core/model.js';
import type { ClockPort, FileStat, FileSystemPort, LogPort } from '../../../core/ports.js';
import { judgeReplacement } from '../../../core/replace-policy.js';
import { changeDocument } from '../../../document/change.js';
import {
  type ConfigurationDocument,
  losesInbounds,
  type ReadConfiguration,
  readDocument,
} from '../../../document/document.js';
import { recordsOf } from '../../../document/key-changes.js';
import type { InPlaceWriting } from '../../../files/in-place.js';
import type { KeptVersions } from '../../../files/kept-versions.js';
import {
  createTarget,
  readTarget,
  replaceTarget,
  TargetChangedError,
  type TargetFile,
} from '../../../files/write-file.js';
import { createFailure, failureWords } from '../../../platform/failure-words.js';
import { unlessMissing } from '../../../platform/presence.js';
import type { RootListBeside } from '../../../wire/traits/file-reading.js';
import type { FileState } from './file-state.js';
import type { InboundsWatch } from './inbounds-watch.js';
import type { FoundFile, KnownFile } from './known-file.js';
import { changeCount, differences, mergeChanges } from './pending-changes.js';
import type { Reloads } from './reloads.js';

export interface FileWritesOptions {
  readonly path: string;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** What its servers read of a root list beside inbounds. */
  readonly rootListBeside: RootListBeside;
  readonly state: FileState;
  readonly file: KnownFile;
  readonly versions: KeptVersions;
  readonly reloads: Reloads;
  readonly inbounds: Pick<InboundsWatch, 'look'>;
  /** Notes, so that a killed Keyway knows it, what a server beside may take back. Never rejects. */
  readonly note: (former: ConfigurationChange, written: ConfigurationChange) => Promise<void>;
  /** Rejects while the file or its data folder is not this process's. */
  readonly renew: () => Promise<void>;
  /** Null where the file is replaced. */
  readonly overwriting: InPlaceWriting | null;
  /** As `ConfigurationFileOptions` says. */
  readonly guard?: boolean;
  readonly observer?: ConfigurationObserverPort;
}

const WRITE_ATTEMPTS = 20;
const HOUR_MS = 3_600_000;

/** Puts changes and whole documents into the file: each of these alone, one after the other. */
export class FileWrites {
  readonly #options: FileWritesOptions;
  readonly #spare = createSpareRoom();
  /** The last failure was a failed read; the next good read clears it. */
  #lastReadFailed = false;
  #lastKept = Number.NEGATIVE_INFINITY;

  constructor(options: FileWritesOptions) {
    this.#options = options;
  }

  /** Writes all that is pending and these changes at once; per change what the write carried, or an error. Never rejects. */
  async commit(changes: readonly ConfigurationChange[]): Promise<readonly (Error | ConfigurationChange)[]> {
    const { state } = this.#options;
    const change = changes.reduce(mergeChanges, state.pending);
    if (changeCount(change) === 0) {
      this.#accounted(changes, change);
      if (this.#lastReadFailed) this.#succeeded();
      return changes.map(() => change);
    }
    const ended = this.#beginning('changes', changeCount(change));
    state.writing = true;
    try {
      const { change: all, refused, former } = await this.#undisturbed(() => this.#write(change));
      this.#accounted(changes, refused);
      const carried = without(all, refused);
      state.live.wrote(carried);
      await this.#options.note(former, carried);
      if (changeCount(refused) === 0) this.#succeeded();
      ended({ failed: changeCount(refused) > 0 });
      return changes.map((one) => (isRefused(one, refused) ? new DomainError('saveFailed') : carried));
    } catch (error) {
      this.#accounted(changes, mergeChanges(state.pending, change));
      this.#failed(error);
      ended({ failed: true });
      return changes.map(() => new DomainError('saveFailed'));
    } finally {
      state.writing = false;
    }
  }

  /**
   * Makes the file this document. With `dropWaiting`, the changes whose write failed are given up with it; resolves to those.
   * Rejects with configRefused/WriteFailed.
   */
  async putWhole(
    whole: ReadConfiguration,
    reason: WholeReason,
    { dropWaiting = false }: { readonly dropWaiting?: boolean } = {},
  ): Promise<ConfigurationChange> {
    const { state, reloads } = this.#options;
    const ended = this.#beginning('whole', 1);
    state.writing = true;
    try {
      const before = state.live.present();
      await this.#undisturbed(() => this.#replaceWith(whole, reason));
      const { former, written } = differences(before, whole.configuration);
      await this.#options.note(former, written);
      const dropped = dropWaiting ? state.pending : {};
      if (dropWaiting) state.pending = {};
      this.#succeeded();
      ended({ failed: false });
      reloads.replaced(whole, reason);
      return dropped;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      this.#failed(error);
      ended({ failed: true });
      throw new DomainError('configWriteFailed', failureWords(error));
    } finally {
      state.writing = false;
    }
  }

  async #put(target: TargetFile, content: Buffer): Promise<FileStat | null> {
    const { fileSystem, file, overwriting } = this.#options;
    if (overwriting !== null) return overwriting.replace(target, content);
    try {
      return await replaceTarget(fileSystem, target, content);
    } catch (error) {
      // The attempt itself leaves the file with another time of change, which is no news.
      if (!(error instanceof TargetChangedError)) await file.look().catch(() => undefined);
      throw error;
    }
  }

  /** Tries until the file is not changed by others meanwhile. */
  async #undisturbed<T>(attempt: () => Promise<T>): Promise<T> {
    const { path, overwriting } = this.#options;
    this.#lastReadFailed = false;
    await this.#options.renew();
    for (let attempts = 0; attempts < WRITE_ATTEMPTS; attempts++) {
      await overwriting?.recover(path);
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof TargetChangedError)) throw error;
      }
    }
    throw createFailure('EAGAIN', `${path} is being written by another program all the time`);
  }

  /** Reads the file for a write; when that fails, the next reading that does not is no edit alone. */
  async #reading<T>(read: () => Promise<T>): Promise<T> {
    const { state } = this.#options;
    try {
      return await read();
    } catch (error) {
      this.#lastReadFailed = true;
      // What waits goes as soon as the file can be read.
      state.isUnreadable = true;
      state.looksAgain = true;
      throw error;
    }
  }

  async #write(asked: ConfigurationChange, mayAssume = this.#options.overwriting === null): Promise<Attempt> {
    const { state, file, versions, inbounds } = this.#options;
    const assumed = mayAssume ? await file.assumed() : null;
    const found = assumed ?? (await this.#reading(file.settled));
    // What this reading has shown to be taken back goes with it.
    const change = mergeChanges(state.pending, asked);
    const { document, refused } = this.#applyParts(found.document, change);
    // Only before a replacement is compared what was assumed.
    if (document === found.document && assumed !== null) return this.#write(asked, false);
    const former = this.#formerOf(found.document, change);
    if (document === found.document) {
      await file.makeDurable(found);
    } else {
      await this.#keepBeforeChange(found);
      file.attempts(document);
      file.holds(document, await this.#put(found.target, document.bytes));
      state.isNewest = true;
      if (!versions.isKeeping(found.document.bytes)) this.#spare.retire(found.document.bytes);
      inbounds.look(document);
    }
    return { change, refused, former };
  }

  /** What the file says of what is to be changed. */
  #formerOf(document: ConfigurationDocument, { keys, rules, dns }: ConfigurationChange): ConfigurationChange {
    const { state } = this.#options;
    const { outbound, dns: present } = rules || dns ? state.live.present() : NOTHING;
    const members = Object.keys(dns ?? {}).map((member) => [member, present?.[member as keyof DnsConfig]]);
    return {
      ...(keys && { keys: recordsOf(document, keys.keys()) }),
      ...(outbound && { rules: outbound.rules }),
      ...(dns && { dns: Object.fromEntries(members) }),
    };
  }

  /** A part that has no place in this file (rules where there is no outbound) must not hold up the others. */
  #applyParts(document: ConfigurationDocument, { keys, rules, dns }: ConfigurationChange) {
    const { rootListBeside } = this.#options;
    const parts: ConfigurationChange[] = [
      ...(keys ? [{ keys }] : []),
      ...(dns ? [{ dns }] : []),
      ...(rules ? [{ rules }] : []),
    ];
    let changed = document;
    let refused: ConfigurationChange = {};
    for (const part of parts) {
      try {
        changed = changeDocument(changed, part, this.#spare.room, rootListBeside);
      } catch (error) {
        refused = mergeChanges(refused, part);
        this.#failed(error);
      }
    }
    return { document: changed, refused };
  }

  /** A version that nobody else has must be safe before it goes; the hourly one may come about beside the write. */
  async #keepBeforeChange({ document: { bytes } }: FoundFile): Promise<void> {
    const { path, clock, log, state, versions } = this.#options;
    if (state.keepsNext) {
      await versions.keep(bytes);
      state.keepsNext = false;
    } else if (Math.abs(clock.now() - this.#lastKept) >= HOUR_MS) {
      versions.keep(bytes).catch((error: unknown) => {
        log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
      });
    } else return;
    this.#lastKept = clock.now();
  }

  /** These changes are no longer on their way: those that are not written wait. */
  #accounted(changes: readonly ConfigurationChange[], waiting: ConfigurationChange): void {
    const { state } = this.#options;
    for (const change of changes) state.accepted.delete(change);
    state.pending = waiting;
  }

  /** To be called before a write; what it gives tells the observer how it ended. */
  #beginning(kind: ConfigurationWrite['kind'], changes: number) {
    const { clock } = this.#options;
    const began = clock.monotonic();
    return (end: Pick<ConfigurationWrite, 'failed'>): void => {
      this.#options.observer?.wrote({ kind, changes, milliseconds: clock.monotonic() - began, ...end });
    };
  }

  async #replaceWith({ document, configuration }: ReadConfiguration, reason: WholeReason): Promise<void> {
    const { path, fileSystem, log, file, versions, reloads } = this.#options;
    const present = await this.#reading(() => unlessMissing(readTarget(fileSystem, path)));
    const losing = losesInbounds(this.#documentOf(present), document);
    const removed = reloads.wouldRemove(configuration);
    const verdict = judgeReplacement({ reason, losesInbounds: losing, removed }, this.#options.guard ?? false);
    const { forever } = verdict;
    // The last good content goes first where the file holds something else by now.
    if (forever) await versions.keep(file.document().bytes, { forever });
    if (present !== null) await versions.keep(present.bytes, { forever });
    file.attempts(document);
    const stat =
      present === null
        ? await createTarget(fileSystem, path, document.bytes)
        : await this.#put(present, document.bytes);
    file.holds(document, stat);
    verdict.report(log, { file: path });
  }

  /** What is there now as a document; where it is none, the last that was. */
  #documentOf(present: TargetFile | null): ConfigurationDocument {
    const { file } = this.#options;
    const known = file.document();
    if (present === null || present.bytes.equals(known.bytes)) return known;
    try {
      return readDocument(present.bytes).document;
    } catch {
      return known; // What cannot be read holds no keys that could be lost.
    }
  }

  /** Says it once, until the reason is another one. */
  #failed(error: unknown): void {
    const { path, log, state } = this.#options;
    const reason = failureWords(error);
    if (reason !== state.writeError) log.error({ file: path, reason }, 'the configuration file could not be written');
    state.writeError = reason;
  }

  #succeeded(): void {
    const { path, log, state } = this.#options;
    this.#lastReadFailed = false;
    if (state.writeError !== null) log.info({ file: path }, 'the configuration file can be written again');
    state.writeError = null;
  }
}

/** What an attempt to write has put into the file. */
interface Attempt {
  readonly change: ConfigurationChange;
  readonly refused: ConfigurationChange;
  readonly former: ConfigurationChange;
}

const NOTHING = { outbound: null, dns: null };

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
