import { watchDraft } from '../../state/drafts.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { createStore } from '../../store/store.js';
import type { Content } from './content.js';

/** The server's file under edit, by whichever page. */
export interface FileDraft {
  /** The server's file at the beginning of the edit. */
  readonly base: Content;
  readonly now: Content;
  /** Counts the loads, so that forms begin anew. */
  readonly generation: number;
  /** A new password as it is typed, and typed again; empty where the present one stays. */
  readonly password: NewPassword;
}

export interface NewPassword {
  readonly typed: string;
  readonly repeated: string;
}

const NO_PASSWORD: NewPassword = { typed: '', repeated: '' };

/** One draft for each server: rules, DNS settings and the rest are parts of the same file. */
export const fileDraftOf = perWorkspace(({ session }) => {
  const state = createStore<FileDraft | null>(null);
  watchDraft(() => isDirty(state.get()));
  session.onSignOut(() => state.set(null));
  return {
    /** Null until the file was read. */
    state,
    /** Begins an edit anew, with what was changed already. */
    begin: (base: Content, now: Content = base) =>
      state.set({ base, now, generation: (state.get()?.generation ?? 0) + 1, password: NO_PASSWORD }),
    patch: (members: Partial<FileDraft>) => {
      const known = state.get();
      if (known !== null) state.set({ ...known, ...members });
    },
  };
});

export function isDirty(draft: FileDraft | null): boolean {
  return draft !== null && draft.now !== draft.base;
}
