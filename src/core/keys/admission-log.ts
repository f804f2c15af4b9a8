/**
 * What changed about who is admitted: keys that came or went, limits, and keys that passed their limit or are under it
 * again. Usage alone is no change. A reader asks what has changed since a version and looks each key up.
 */
export interface AdmissionReader {
  /** Counts every change; starts anew with each process. */
  readonly version: number;
  /** The keys that changed after that version, each once; null when that is too long ago to be known. */
  since(version: number): readonly string[] | null;
  /** Called after changes, at most once per turn of the event loop. Returns what ends it. */
  onChange(listener: () => void): () => void;
}

export interface AdmissionLog extends AdmissionReader {
  note(accessKey: string): void;
}

/** The number of changes that are remembered; a reader that is further behind reads everything. */
export const REMEMBERED_CHANGES = 65_536;

export function createAdmissionLog(): AdmissionLog {
  const changed: string[] = [];
  const listeners = new Set<() => void>();
  let version = 0;
  let isTelling = false;

  function tell(): void {
    isTelling = false;
    for (const listener of [...listeners]) listener();
  }

  return {
    get version() {
      return version;
    },
    note(accessKey) {
      changed[version % REMEMBERED_CHANGES] = accessKey;
      version += 1;
      if (isTelling || listeners.size === 0) return;
      isTelling = true;
      setImmediate(tell);
    },
    since(from) {
      if (from > version || version - from > REMEMBERED_CHANGES) return null;
      const keys = new Set<string>();
      for (let at = from; at < version; at += 1) keys.add(changed[at % REMEMBERED_CHANGES] ?? '');
      return [...keys];
    },
    onChange(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
