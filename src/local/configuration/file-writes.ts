import type { ConfigurationObserverPort, ConfigurationWrite } from '../../core/configuration-observer.js';
import { DomainError } from '../../core/errors.js';
import { createSpareRoom } from '../../core/keys/spare-room.js';
import type { ConfigurationChange, DnsConfig } from '../../core/model.js';
import type { ClockPort, FileStat, FileSystemPort, LogPort } from '../../core/ports.js';
import { judgeReplacement } from '../../core/replace-policy.js';
import { createFailure, failureWords } from '../../platform/failure-words.js';
import { unlessMissing } from '../../platform/presence.js';
import type { RootListBeside } from '../../wire/traits/file-reading.js';
import { changeDocument } from '../document/change.js';
import {
  type ConfigurationDocument,
  losesInbounds,
  type ReadConfiguration,
  readDocument,
} from '../document/document.js';
import { recordsOf } from '../document/key-changes.js';
import type { InPlaceWriting } from '../file/in-place.js';
import type { KeptVersions } from '../file/kept-versions.js';
import { createTarget, readTarget, replaceTarget, TargetChangedError, type TargetFile } from '../file/write-file.js';
import type { FileState } from './file-state.js';
import type { InboundsWatch } from './inbounds-watch.js';
import type { FoundFile, KnownFile } from './known-file.js';
import { changeCount, differences, mergeChanges } from './pending-changes.js';
import type { Reloads } from './reloads.js';

/** What goes into the file: each of these alone, one after the other. */
export interface FileWrites {
  /** Writes all that is pending and these changes at once; per change what the write carried, or an error. Never rejects. */
  commit(changes: readonly ConfigurationChange[]): Promise<readonly (Error | ConfigurationChange)[]>;
  /**
   * Makes the file this document. With `dropWaiting`, the changes whose write failed are given up with it; resolves to those.
   * Rejects with configRefused/WriteFailed.
   */
  putWhole(
    whole: ReadConfiguration,
    reason: WholeReason,
    options?: { readonly dropWaiting?: boolean },
  ): Promise<ConfigurationChange>;
}

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

export function createFileWrites(options: FileWritesOptions): FileWrites {
  const { path, fileSystem, clock, log, rootListBeside, state, file, versions, reloads, inbounds, overwriting } =
    options;
  /** What failed last was the reading of the file: with that, the reason is gone. */
  let unread = false;
  let lastKept = Number.NEGATIVE_INFINITY;
  const spare = createSpareRoom();

  async function put(target: TargetFile, content: Buffer): Promise<FileStat | null> {
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
  async function undisturbed<T>(attempt: () => Promise<T>): Promise<T> {
    unread = false;
    await options.renew();
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
  async function reading<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      unread = true;
      // What waits goes as soon as the file can be read.
      state.isUnreadable = true;
      state.looksAgain = true;
      throw error;
    }
  }

  async function write(asked: ConfigurationChange, mayAssume = overwriting === null): Promise<Attempt> {
    const assumed = mayAssume ? await file.assumed() : null;
    const found = assumed ?? (await reading(file.settled));
    // What this reading has shown to be taken back goes with it.
    const change = mergeChanges(state.pending, asked);
    const { document, refused } = applyParts(found.document, change);
    // Only before a replacement is compared what was assumed.
    if (document === found.document && assumed !== null) return write(asked, false);
    const former = formerOf(found.document, change);
    if (document === found.document) {
      await file.makeDurable(found);
    } else {
      await keepBeforeChange(found);
      file.attempts(document);
      file.holds(document, await put(found.target, document.bytes));
      state.isNewest = true;
      if (!versions.isKeeping(found.document.bytes)) spare.retire(found.document.bytes);
      inbounds.look(document);
    }
    return { change, refused, former };
  }

  /** What the file says of what is to be changed. */
  function formerOf(document: ConfigurationDocument, { keys, rules, dns }: ConfigurationChange): ConfigurationChange {
    const { outbound, dns: present } = rules || dns ? state.live.present() : NOTHING;
    const members = Object.keys(dns ?? {}).map((member) => [member, present?.[member as keyof DnsConfig]]);
    return {
      ...(keys && { keys: recordsOf(document, keys.keys()) }),
      ...(outbound && { rules: outbound.rules }),
      ...(dns && { dns: Object.fromEntries(members) }),
    };
  }

  /** A part that has no place in this file (rules where there is no outbound) must not hold up the others. */
  function applyParts(document: ConfigurationDocument, { keys, rules, dns }: ConfigurationChange) {
    const parts: ConfigurationChange[] = [
      ...(keys ? [{ keys }] : []),
      ...(dns ? [{ dns }] : []),
      ...(rules ? [{ rules }] : []),
    ];
    let changed = document;
    let refused: ConfigurationChange = {};
    for (const part of parts) {
      try {
        changed = changeDocument(changed, part, spare.room, rootListBeside);
      } catch (error) {
        refused = mergeChanges(refused, part);
        failed(error);
      }
    }
    return { document: changed, refused };
  }

  /** A version that nobody else has must be safe before it goes; the hourly one may come about beside the write. */
  async function keepBeforeChange({ document: { bytes } }: FoundFile): Promise<void> {
    if (state.keepsNext) {
      await versions.keep(bytes);
      state.keepsNext = false;
    } else if (Math.abs(clock.now() - lastKept) >= HOUR_MS) {
      versions.keep(bytes).catch((error: unknown) => {
        log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
      });
    } else return;
    lastKept = clock.now();
  }

  async function commit(changes: readonly ConfigurationChange[]): Promise<readonly (Error | ConfigurationChange)[]> {
    const change = changes.reduce(mergeChanges, state.pending);
    if (changeCount(change) === 0) {
      accounted(changes, change);
      if (unread) succeeded();
      return changes.map(() => change);
    }
    const ended = beginning('changes', changeCount(change));
    state.writing = true;
    try {
      const { change: all, refused, former } = await undisturbed(() => write(change));
      accounted(changes, refused);
      const carried = without(all, refused);
      state.live.wrote(carried);
      await options.note(former, carried);
      if (changeCount(refused) === 0) succeeded();
      ended({ failed: changeCount(refused) > 0 });
      return changes.map((one) => (isRefused(one, refused) ? new DomainError('saveFailed') : carried));
    } catch (error) {
      accounted(changes, mergeChanges(state.pending, change));
      failed(error);
      ended({ failed: true });
      return changes.map(() => new DomainError('saveFailed'));
    } finally {
      state.writing = false;
    }
  }

  /** These changes are no longer on their way: those that are not written wait. */
  function accounted(changes: readonly ConfigurationChange[], waiting: ConfigurationChange): void {
    for (const change of changes) state.accepted.delete(change);
    state.pending = waiting;
  }

  /** To be called before a write; what it gives tells the observer how it ended. */
  function beginning(kind: ConfigurationWrite['kind'], changes: number) {
    const began = clock.monotonic();
    return (end: Pick<ConfigurationWrite, 'failed'>): void => {
      options.observer?.wrote({ kind, changes, milliseconds: clock.monotonic() - began, ...end });
    };
  }

  async function replaceWith({ document, configuration }: ReadConfiguration, reason: WholeReason): Promise<void> {
    const present = await reading(() => unlessMissing(readTarget(fileSystem, path)));
    const losing = losesInbounds(documentOf(present), document);
    const removed = reloads.wouldRemove(configuration);
    const verdict = judgeReplacement({ reason, losesInbounds: losing, removed }, options.guard ?? false);
    const { forever } = verdict;
    // The last good content goes first where the file holds something else by now.
    if (forever) await versions.keep(file.document().bytes, { forever });
    if (present !== null) await versions.keep(present.bytes, { forever });
    file.attempts(document);
    const stat =
      present === null ? await createTarget(fileSystem, path, document.bytes) : await put(present, document.bytes);
    file.holds(document, stat);
    verdict.report(log, { file: path });
  }

  /** What is there now as a document; where it is none, the last that was. */
  function documentOf(present: TargetFile | null): ConfigurationDocument {
    const known = file.document();
    if (present === null || present.bytes.equals(known.bytes)) return known;
    try {
      return readDocument(present.bytes).document;
    } catch {
      return known; // What cannot be read holds no keys that could be lost.
    }
  }

  async function putWhole(
    whole: ReadConfiguration,
    reason: WholeReason,
    { dropWaiting = false }: { readonly dropWaiting?: boolean } = {},
  ): Promise<ConfigurationChange> {
    const ended = beginning('whole', 1);
    state.writing = true;
    try {
      const before = state.live.present();
      await undisturbed(() => replaceWith(whole, reason));
      const { former, written } = differences(before, whole.configuration);
      await options.note(former, written);
      const dropped = dropWaiting ? state.pending : {};
      if (dropWaiting) state.pending = {};
      succeeded();
      ended({ failed: false });
      reloads.replaced(whole, reason);
      return dropped;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      failed(error);
      ended({ failed: true });
      throw new DomainError('configWriteFailed', failureWords(error));
    } finally {
      state.writing = false;
    }
  }

  /** Says it once, until the reason is another one. */
  function failed(error: unknown): void {
    const reason = failureWords(error);
    if (reason !== state.writeError) log.error({ file: path, reason }, 'the configuration file could not be written');
    state.writeError = reason;
  }

  function succeeded(): void {
    unread = false;
    if (state.writeError !== null) log.info({ file: path }, 'the configuration file can be written again');
    state.writeError = null;
  }

  return { commit, putWhole };
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
