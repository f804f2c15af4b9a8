/** Browser storage that may be missing, full or forbidden: the page then forgets, and goes on. */
export interface Kept {
  read(name: string): string | null;
  /** Null removes. Returns false where it is not kept. */
  write(name: string, value: string | null): boolean;
}

function keptIn(find: () => Storage): Kept {
  return {
    read(name) {
      try {
        return find().getItem(name);
      } catch {
        return null;
      }
    },
    write(name, value) {
      try {
        // What there is no room for leaves nothing behind that is older.
        find().removeItem(name);
        if (value !== null) find().setItem(name, value);
        return true;
      } catch {
        // Private windows and full disks: nothing is kept.
        return false;
      }
    },
  };
}

/** Until the browser forgets, for all tabs. */
export const keptForGood: Kept = keptIn(() => window.localStorage);
/** Until this tab is closed. */
export const keptInTab: Kept = keptIn(() => window.sessionStorage);
