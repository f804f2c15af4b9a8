import type { ReloadReason } from '../../../core/backend.js';
import type { ConfigurationObserverPort } from '../../../core/configuration-observer.js';
import { keyDigest } from '../../../core/key-digest.js';
import type { ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import type { LogPort } from '../../../core/ports.js';
import { areMany, reportRemoved } from '../../../core/replace-policy.js';
import { keysInRootList } from '../../../document/beside-inbounds.js';
import type { ReadConfiguration } from '../../../document/document.js';
import type { KeptVersions } from '../../../files/kept-versions.js';
import { failureWords } from '../../../platform/failure-words.js';
import { type FileState, present, unwritten } from './file-state.js';
import type { InboundsWatch } from './inbounds-watch.js';
import { BrokenFileError } from './known-file.js';
import { changeCount, layOver, mergeChanges, removedKeys } from './pending-changes.js';

/** Told of each configuration that became live from outside or as a whole, in that turn of the event loop. */
export type ReloadListener = (configuration: ServerConfiguration, reason: ReloadReason) => void;

/** What the file turned out to hold, and who is told of it. */
export interface Reloads {
  onReload(listener: ReloadListener): void;
  /** The file holds something new, which nobody here has written; `isMeant` where a person said so. */
  found(before: Buffer, reading: ReadConfiguration, edit: { readonly isMeant: boolean }): void;
  /** What the file holds is another program's: what it took back is to be made again. */
  giveAgain(reading: ReadConfiguration, at?: number): void;
  /** The file was replaced by this, through the API or from a backup. */
  replaced(reading: ReadConfiguration, reason: 'replaced' | 'restored'): void;
  /** So many keys went while no Keyway served the file, which holds this now. */
  goneMeanwhile(keys: number, content: Buffer): void;
  /** How many keys are live now and would not be with this configuration. */
  wouldRemove(configuration: ServerConfiguration): number;
  /** The file could be read. */
  readable(): void;
  /** The file could not be read, for this reason, where it held `before` last. */
  unreadable(error: unknown, before: Buffer): void;
}

export interface ReloadsOptions {
  readonly path: string;
  readonly state: FileState;
  readonly inbounds: Pick<InboundsWatch, 'look' | 'tookBack'>;
  readonly versions: KeptVersions;
  readonly log: LogPort;
  readonly observer?: ConfigurationObserverPort;
}

export function createReloads(options: ReloadsOptions): Reloads {
  const { path, state, versions, log, observer } = options;
  const listeners: ReloadListener[] = [];
  /** The unreadable content, or the reason, that was met last; a content seen a single time may be one that is being written. */
  let seen: Buffer | string | null = null;
  let isLogged = false;
  /** Changes that were taken back and made again, since the start. */
  let givenAgain = 0;

  function giveAgain({ document, configuration }: ReadConfiguration, at?: number): void {
    const inInbounds = state.unread.takenBack(configuration, at);
    const revived = keysInRootList(document, state.unread.deleted()).map((key) => [key, null] as const);
    const again = revived.length === 0 ? inInbounds : mergeChanges({ keys: new Map(revived) }, inInbounds);
    const changes = changeCount(again);
    if (changes === 0) return;
    state.pending = mergeChanges(again, state.pending);
    givenAgain += changes;
    options.inbounds.tookBack(document);
    observer?.gaveAgain(changes);
    log.warn({ file: path, changes, total: givenAgain, ...namedIn(again) }, TAKEN_BACK);
  }

  function wouldRemove(configuration: ServerConfiguration): number {
    return isServer(configuration) ? removedKeys(present(state), layOver(configuration, unwritten(state))) : 0;
  }

  function goLive({ configuration }: ReadConfiguration, reason: ReloadReason): number {
    if (!isServer(configuration)) {
      log.warn({ file: path, mode: configuration.mode }, 'the configuration is not applied: its mode is not "server"');
      observer?.reloaded(reason, 'refused');
      return 0;
    }
    const removed = wouldRemove(configuration);
    state.live.becomes(configuration);
    const next = present(state);
    log.info({ file: path, reason, keys: next.keys.length }, 'the configuration file was read again');
    if (reason === 'edited') reportRemoved(removed, log, { file: path });
    for (const listener of listeners) tell(() => listener(next, reason));
    observer?.reloaded(reason, 'applied');
    return removed;
  }

  function tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      log.error({ file: path, reason: failureWords(error) }, 'a reload of the configuration could not be followed');
    }
  }

  function keep(bytes: Buffer, forever: boolean): void {
    versions.keep(bytes, { forever }).catch((error: unknown) => {
      log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
    });
  }

  function readable(): void {
    if (isLogged) log.info({ file: path }, 'the configuration file can be read again');
    state.parseError = null;
    seen = null;
    isLogged = false;
  }

  return {
    onReload: (listener) => {
      listeners.push(listener);
    },
    giveAgain,
    found: (before, reading, { isMeant }) => {
      state.keepsNext = true;
      options.inbounds.look(reading.document);
      if (isMeant) state.unread.letGo();
      else giveAgain(reading);
      const removed = goLive(reading, 'edited');
      if (areMany(removed)) keep(before, true);
      keep(reading.document.bytes, false);
    },
    replaced: (reading, reason) => {
      state.keepsNext = true;
      options.inbounds.look(reading.document);
      readable();
      goLive(reading, reason);
    },
    goneMeanwhile: (removed, content) => {
      if (!areMany(removed)) return;
      const text = `${removed} keys were removed while Keyway was not running; the newest version before is kept for ever`;
      log.warn({ file: path, removed }, text);
      versions.keepNewestForever(content).catch((error: unknown) => {
        log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
      });
    },
    wouldRemove,
    readable,
    /** Says once per distinct content what is wrong. */
    unreadable: (error, before) => {
      const reason = failureWords(error);
      state.parseError = reason;
      const now = error instanceof BrokenFileError ? error.bytes : reason;
      const isSame = Buffer.isBuffer(now) && Buffer.isBuffer(seen) ? now.equals(seen) : now === seen;
      if (isSame && !isLogged) {
        log.warn({ file: path, reason }, 'the configuration file cannot be read; the last good state stays live');
        observer?.reloaded('edited', 'refused');
        keep(before, true);
      }
      isLogged = isSame;
      seen = now;
    },
  };
}

const TAKEN_BACK =
  'another program took back changes that were just made through Keyway, as a server does that writes the file from its memory: they are made again, and what it wrote is kept as a version. Over its API (--upstream) nothing is taken back';

/** So many keys are named in a line. */
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
