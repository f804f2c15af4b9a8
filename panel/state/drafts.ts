import { isChangedMeanwhile } from '../api/failure.js';
import type { Tagged } from '../api/server.js';
import type { EventName } from '../i18n/events.js';
import { createStore, useStore } from '../store/store.js';
import { areEqual } from '../text/exact-json.js';
import { note } from './audit-notes.js';
import { perWorkspace } from './per-workspace.js';
import { useRefreshed } from './tasks.js';
import { say, type Toast } from './toasts.js';
import { useWorkspace, type Workspace } from './workspace.js';

/** Something under edit: what the server had when it began, and what it is to become. */
interface Draft<T> {
  readonly base: T;
  readonly now: T;
}

const unsaved = new Set<() => boolean>();

/** Has the browser ask before the tab is closed while this says that something is not saved. */
export function watchDraft(isUnsaved: () => boolean): void {
  unsaved.add(isUnsaved);
}

/** Tells whether something is edited and not saved, or would not be done without the page. */
export function wouldLose(): boolean {
  return [...unsaved].some((isUnsaved) => isUnsaved());
}

/** Settings that a server has operations for. */
interface ServerSettings<T> {
  readonly read: (workspace: Workspace) => Promise<Tagged<T>>;
  /** Rejects where the tag is that of other settings by now (`isChangedMeanwhile`); null replaces any. */
  readonly write: (workspace: Workspace, settings: Draft<T>, tag: string | null) => Promise<void>;
  /** Returns true where nothing is to be saved. */
  readonly isSame: (base: T, now: T) => boolean;
  /** The event that is noted with their count, saved or not. */
  readonly event: EventName;
  readonly count?: (now: T) => number;
  /** Said once they are saved. */
  readonly saved: Toast['text'];
}

/** The state of an edit of settings. */
export interface Editing<T> {
  /** Null until the settings were read. */
  readonly draft: Draft<T> | null;
  /** The server's settings where they have become others since the edit began, else null. */
  readonly theirs: T | null;
  readonly busy: boolean;
  /** Why they could not be saved, until it is tried again; null where they could. */
  readonly saveError: unknown;
}

/** Makes the settings of each server under edit: refreshed while nothing is typed, compared with the draft from then on. */
export function createServerDrafts<T>({ read, write, isSame, event, count = () => 0, saved }: ServerSettings<T>) {
  return perWorkspace((workspace) => {
    const nothing: Editing<T> = { draft: null, theirs: null, busy: false, saveError: null };
    const state = createStore(nothing);
    const isDirty = () => {
      const { draft } = state.get();
      return draft !== null && !isSame(draft.base, draft.now);
    };
    watchDraft(isDirty);
    workspace.session.onSignOut(() => state.set(nothing));

    function begin(base: T, now: T): void {
      state.patch({ draft: { base, now }, theirs: null });
      void workspace.contact.now();
    }

    /** Saves an edit. Resolves to false, with what has become different, where somebody else has changed the settings. */
    async function send(draft: Draft<T>): Promise<boolean> {
      let { settings: present, tag } = await read(workspace);
      if (areEqual(present, draft.base)) {
        try {
          await write(workspace, draft, tag);
          return true;
        } catch (problem) {
          if (!isChangedMeanwhile(problem)) throw problem;
          present = (await read(workspace)).settings;
          if (areEqual(present, draft.base)) throw problem;
        }
      }
      state.patch({ theirs: present });
      return false;
    }

    async function save(): Promise<void> {
      const { draft, busy } = state.get();
      if (draft === null || busy) return;
      const { now } = draft;
      state.patch({ busy: true, saveError: null });
      try {
        if (!(await send(draft))) return;
        note(workspace, event, true, { n: count(now) });
        const { draft: known } = state.get();
        say('good', saved);
        // An edit that was made meanwhile stays one.
        if (known !== null) begin(now, known.now === known.base ? now : known.now);
      } catch (problem) {
        note(workspace, event, false, { n: count(now) });
        state.patch({ saveError: problem });
      } finally {
        state.patch({ busy: false });
      }
    }

    return {
      state,
      isDirty,
      /** Reads the settings again. Rejects as the call does. */
      async load(): Promise<void> {
        const before = state.get().draft;
        const { settings: fresh } = await read(workspace);
        const known = state.get().draft;
        // Saved or begun again since it was asked: the answer may be older than that.
        if (known?.base !== before?.base) return;
        const isOther = known === null || !areEqual(known.base, fresh);
        if (isDirty()) state.patch({ theirs: isOther ? fresh : null });
        else if (isOther) state.patch({ draft: { base: fresh, now: fresh }, theirs: null });
      },
      change(now: T): void {
        state.patch({ draft: { base: state.get().draft?.base ?? now, now } });
      },
      /** Drops the edit. The settings begin with a copy, other than before though equal, so that fields forget what was typed. */
      discard(): void {
        const { draft, theirs } = state.get();
        const base = structuredClone(theirs ?? draft?.base);
        state.patch({ saveError: null });
        if (base !== undefined) begin(base, base);
      },
      save,
      /** Saves the edit in the place of what somebody else has made of the settings. */
      async saveOver(): Promise<void> {
        const { draft, theirs } = state.get();
        if (draft !== null && theirs !== null) state.patch({ draft: { base: theirs, now: draft.now }, theirs: null });
        await save();
      },
    };
  });
}

/** An edit of settings on the page: refreshed as long as the component is there. */
export function useServerDraft<T>(draftsOf: ReturnType<typeof createServerDrafts<T>>) {
  const edit = draftsOf(useWorkspace());
  const loadError = useRefreshed(edit.load);
  return { ...edit, ...useStore(edit.state), loadError };
}
