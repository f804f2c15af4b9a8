import type { ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import type { LiveConfiguration } from './live-configuration.js';
import { layOver, mergeChanges } from './pending-changes.js';
import type { UnreadChanges } from './reapplied-changes.js';

/**
 * What a Keyway that serves knows of its configuration file, besides the content itself (`KnownFile`): what edits, writes and
 * everybody who asks look at and change, all of it here.
 */
export interface FileState {
  readonly live: LiveConfiguration;
  /** The changes that a server beside need not have read. */
  readonly unread: UnreadChanges;
  /** Changes that are asked for and not written yet, in their order, those on their way first. */
  readonly accepted: Set<ConfigurationChange>;
  /** The changes that wait for a write: those whose write failed, and those that another program took back. */
  pending: ConfigurationChange;
  /** Whether a version must be kept before the next write: the first after a start, and after every change from outside. */
  keepsNext: boolean;
  /** Keyway has written the file since a version of it was kept. */
  isNewest: boolean;
  /** The last reading failed, by a check or for a write. */
  isUnreadable: boolean;
  /** What cannot be read may be readable the next time, although it looks the same from outside. */
  looksAgain: boolean;
  /** What of a file with inbounds is not live because a server writes it, too; null while nothing is wrong. */
  inboundsError: string | null;
  writing: boolean;
  /** Why the last write failed; null after one that did not. */
  writeError: string | null;
  /** Why the file cannot be read as a configuration at present; null when it can. */
  parseError: string | null;
}

export function createFileState(live: LiveConfiguration, unread: UnreadChanges): FileState {
  return {
    live,
    unread,
    accepted: new Set(),
    pending: {},
    keepsNext: true,
    isNewest: false,
    isUnreadable: false,
    looksAgain: false,
    inboundsError: null,
    writing: false,
    writeError: null,
    parseError: null,
  };
}

/** What is asked for and stands in memory alone: what failed, and what is still to be written. */
export function unwritten({ accepted, pending }: FileState): ConfigurationChange {
  return [...accepted].reduce(mergeChanges, pending);
}

/** The live configuration with all that is not written yet laid over it. */
export function present(state: FileState): ServerConfiguration {
  return layOver(state.live.present(), unwritten(state));
}
