import type { KeyFieldValues } from './key-fields.js';

/** The ways in which a key changes, besides its counters. */
export const KEY_CHANGES = ['created', 'changed', 'noted', 'owned', 'removed', 'reset', 'over_limit'] as const;

export type KeyChange = (typeof KEY_CHANGES)[number];

/** A key that changed, how, and its record before that, where the change was one of the record and that is known. */
export type LoggedChange = readonly [accessKey: string, change: KeyChange, before?: KeyFieldValues | undefined];

/** Keys that changed, oldest first. A reader asks what has changed since a version and looks each key up. */
export interface ChangeReader {
  /** Counts every change; starts over with each process. */
  readonly version: number;
  /** Returns the keys that changed after that version, each once; null if that is too long ago. */
  since(version: number): readonly string[] | null;
  /** Each change after that version; null as of `since`. */
  changesSince(version: number): readonly LoggedChange[] | null;
  /** Calls back after changes, at most once per turn of the event loop. Returns the function that ends this. */
  onChange(listener: () => void): () => void;
}

export interface ChangeLog extends ChangeReader {
  note(...change: LoggedChange): void;
}

/** The number of changes that are remembered; a reader that is further behind reads everything. */
export const REMEMBERED_CHANGES = 65_536;

export function createChangeLog(): ChangeLog {
  const changed: string[] = [];
  const kinds = new Uint8Array(REMEMBERED_CHANGES);
  const records: (KeyFieldValues | undefined)[] = [];
  const listeners = new Set<() => void>();
  let version = 0;
  let isTelling = false;

  function tell(): void {
    isTelling = false;
    for (const listener of [...listeners]) listener();
  }

  const isKnown = (from: number): boolean => from <= version && version - from <= REMEMBERED_CHANGES;

  return {
    get version() {
      return version;
    },
    note(accessKey, change, before) {
      changed[version % REMEMBERED_CHANGES] = accessKey;
      kinds[version % REMEMBERED_CHANGES] = KEY_CHANGES.indexOf(change);
      records[version % REMEMBERED_CHANGES] = before;
      version += 1;
      if (isTelling || listeners.size === 0) return;
      isTelling = true;
      setImmediate(tell);
    },
    since(from) {
      if (!isKnown(from)) return null;
      const keys = new Set<string>();
      for (let at = from; at < version; at += 1) keys.add(changed[at % REMEMBERED_CHANGES] ?? '');
      return [...keys];
    },
    changesSince(from) {
      if (!isKnown(from)) return null;
      return Array.from({ length: version - from }, (_, index): LoggedChange => {
        const at = (from + index) % REMEMBERED_CHANGES;
        return [changed[at] ?? '', KEY_CHANGES[kinds[at] ?? 0] ?? 'changed', records[at]];
      });
    },
    onChange(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
