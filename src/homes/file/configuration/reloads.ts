import type { ReloadReason } from '../../../core/backend.js';
import { keyDigest } from '../../../core/key-digest.js';
import type { ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import { areMany, reportRemoved } from '../../../core/replace-policy.js';
import type { ConfigurationDocument, ReadConfiguration } from '../../../document/document.js';
import { keysInLegacyList } from '../../../document/sync-legacy-list.js';
import { failureWords } from '../../../platform/failure-words.js';
import type { ServedFile } from './file-state.js';
import { BrokenFileError } from './known-file.js';
import { changeCount, layOver, mergeChanges, removedKeys } from './pending-changes.js';

/**
 * Told of each configuration that became live from outside or as a whole, in that turn of the event loop; with `hasSameKeys`
 * its keys are those of before.
 */
export type ReloadListener = (configuration: ServerConfiguration, reason: ReloadReason, hasSameKeys: boolean) => void;

/** Makes live what others have put into the file, tells listeners, and keeps versions of it. */
export class Reloads {
  readonly #served: ServedFile;
  readonly #listeners: ReloadListener[] = [];
  /** The unreadable content, or the reason, that was met last; a content seen a single time may be one that is being written. */
  #seen: Buffer | string | null = null;
  #isLogged = false;
  #parseError: string | null = null;
  /** The count of changes that were made again, since the start. */
  #reapplied = 0;

  constructor(served: ServedFile) {
    this.#served = served;
  }

  /** The reason why the file cannot be read as a configuration at present; null when it can. */
  get parseError(): string | null {
    return this.#parseError;
  }

  onReload(listener: ReloadListener): void {
    this.#listeners.push(listener);
  }

  /** Has the changes made again that another program's write at `at` has reverted; the file holds `reading`. */
  reapply({ document, configuration }: ReadConfiguration, at?: number): void {
    const { path, state, inbounds, log, observer } = this.#served;
    const reverted = state.unconfirmed.findReverted(configuration, at);
    const revived = keysInLegacyList(document, state.unconfirmed.deleted()).map((key) => [key, null] as const);
    const again = revived.length === 0 ? reverted : mergeChanges({ keys: new Map(revived) }, reverted);
    const changes = changeCount(again);
    if (changes === 0) return;
    state.pending = mergeChanges(again, state.pending);
    this.#reapplied += changes;
    inbounds.reverted(document);
    observer?.gaveAgain(changes);
    log.warn({ file: path, changes, total: this.#reapplied, ...namedIn(again) }, TAKEN_BACK);
  }

  /** Makes live what the file holds now and nobody here has written. */
  found(before: Buffer, reading: ReadConfiguration): void {
    const { state, inbounds, starts } = this.#served;
    state.keepsNext = true;
    inbounds.look(reading.document);
    starts.found(reading.document);
    this.reapply(reading);
    const removed = this.#goLive(reading, 'edited');
    if (removed > 0) this.keep(before, areMany(removed));
    this.keep(reading.document.bytes);
  }

  /** Makes live what was put into the file as a whole, through the API or from a backup. */
  replaced(reading: ReadConfiguration, reason: 'replaced' | 'restored'): void {
    this.#served.state.keepsNext = true;
    this.#served.inbounds.look(reading.document);
    this.#served.starts.wrote(reading.document);
    this.readable();
    this.#goLive(reading, reason);
  }

  /** Makes live what a patch has put into the file. */
  patched(configuration: Omit<ServerConfiguration, 'keys'>, document: ConfigurationDocument): void {
    const { state, inbounds, starts } = this.#served;
    state.keepsNext = true;
    inbounds.look(document);
    starts.wrote(document);
    this.readable();
    const whole = { ...configuration, keys: state.inFile().keys };
    if (this.#isApplied(whole, 'replaced')) this.#tell(whole, 'replaced', true);
  }

  /** Says how many keys went while no Keyway served the file, which holds `content` now. */
  goneMeanwhile(removed: number, content: Buffer): void {
    const { path, versions, log } = this.#served;
    if (!areMany(removed)) return;
    const text = `${removed} keys were removed while Keyway was not running; the newest version before is kept for good`;
    log.warn({ file: path, removed }, text);
    versions.keepNewestForever(content).catch((error: unknown) => this.#notKept(error));
  }

  /** The number of keys that are live now and would not be with this configuration. */
  wouldRemove(configuration: ServerConfiguration): number {
    const { state } = this.#served;
    return isServer(configuration) ? removedKeys(state.live(), layOver(configuration, state.unwritten())) : 0;
  }

  /** Notes that the file could be read. */
  readable(): void {
    const { path, log } = this.#served;
    if (this.#isLogged) log.info({ file: path }, 'the configuration file can be read again');
    this.#parseError = null;
    this.#seen = null;
    this.#isLogged = false;
  }

  /** Says once per distinct content why the file cannot be read; it held `before` last. */
  unreadable(error: unknown, before: Buffer): void {
    const { path, log, observer } = this.#served;
    const reason = failureWords(error);
    this.#parseError = reason;
    const now = error instanceof BrokenFileError ? error.bytes : reason;
    const seen = this.#seen;
    const isSame = Buffer.isBuffer(now) && Buffer.isBuffer(seen) ? now.equals(seen) : now === seen;
    if (isSame && !this.#isLogged) {
      log.warn({ file: path, reason }, 'the configuration file cannot be read; the last good state stays live');
      observer?.reloaded('edited', 'refused');
      this.keep(before, true);
    }
    this.#isLogged = isSame;
    this.#seen = now;
  }

  #goLive({ configuration }: ReadConfiguration, reason: ReloadReason): number {
    const { path, log } = this.#served;
    if (!this.#isApplied(configuration, reason)) return 0;
    const removed = this.wouldRemove(configuration);
    this.#tell(configuration, reason, false);
    if (reason === 'edited') reportRemoved(removed, log, { file: path });
    return removed;
  }

  #isApplied({ mode }: ServerConfiguration, reason: ReloadReason): boolean {
    const { path, log, observer } = this.#served;
    if (mode === 'server') return true;
    log.warn({ file: path, mode }, 'the configuration is not applied: its mode is not "server"');
    observer?.reloaded(reason, 'refused');
    return false;
  }

  #tell(configuration: ServerConfiguration, reason: ReloadReason, hasSameKeys: boolean): void {
    const { path, state, log, observer } = this.#served;
    state.becomes(configuration);
    const next = state.live();
    log.info({ file: path, reason, keys: next.keys.length }, 'the configuration file was read again');
    for (const listener of this.#listeners) {
      try {
        listener(next, reason, hasSameKeys);
      } catch (error) {
        log.error({ file: path, reason: failureWords(error) }, 'a reload of the configuration could not be followed');
      }
    }
    observer?.reloaded(reason, 'applied');
  }

  /** Keeps a version beside whatever else is done. */
  keep(bytes: Buffer, forever = false): void {
    this.#served.versions.keep(bytes, { forever }).catch((error: unknown) => this.#notKept(error));
  }

  #notKept(error: unknown): void {
    const { path, log } = this.#served;
    log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
  }
}

const TAKEN_BACK =
  'another program took back changes that were just made through Keyway, as a server does that writes the file from its memory: they are made again, and what it wrote is kept as a version. Over its API (--upstream) nothing is taken back';

/** The most keys that one line names. */
const NAMED = 20;

function namedIn({ keys, rules, dns }: ConfigurationChange) {
  return {
    ...(keys && { keys: [...keys.keys()].slice(0, NAMED).map(keyDigest) }),
    ...(rules && { rules: true }),
    ...(dns && { dns: Object.keys(dns) }),
  };
}

function isServer({ mode }: ServerConfiguration): boolean {
  return mode === 'server';
}
