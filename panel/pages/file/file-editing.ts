import { useEffect } from 'preact/hooks';
import { isChangedMeanwhile } from '../../api/failure.js';
import { note } from '../../state/audit-notes.js';
import { watchDraft } from '../../state/drafts.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { say } from '../../state/toasts.js';
import { useWorkspace, type Workspace } from '../../state/workspace.js';
import { createStore, useStore } from '../../store/store.js';
import type { JsonNode } from '../../text/json-tree.js';
import { type Content, readingOf, textOfFile } from './content.js';
import { countAt, placesIn, type Reading } from './document.js';
import { type CredentialChange, type Renewal, renewalBetween } from './renewal.js';
import { changesNothing, type PresentFile, planSave, type SavePlan } from './save-plan.js';
import { createServerFile } from './server-file.js';

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

/** A review that is open: what the server has now, and what saving would do. */
export interface OpenReview {
  readonly present: PresentFile;
  readonly plan: SavePlan;
  readonly keysGone: number;
  readonly credentials: CredentialChange;
}

interface Editing {
  /** Null until the file was read. */
  readonly draft: FileDraft | null;
  /** Null while none is open. */
  readonly review: OpenReview | null;
  /** Why something that asked the server has failed, until the next is tried; else null. */
  readonly error: unknown;
}

const NOTHING: Editing = { draft: null, review: null, error: null };
const NO_PASSWORD: NewPassword = { typed: '', repeated: '' };

/** Edits the server's file: rules, DNS settings and the rest are parts of it. Nothing is saved before its difference was seen. */
export function createFileEditing(workspace: Workspace) {
  const { session } = workspace;
  const serverFile = createServerFile(workspace);
  const state = createStore<Editing>(NOTHING);
  const isDirty = () => {
    const { draft } = state.get();
    return draft !== null && draft.now !== draft.base;
  };
  watchDraft(isDirty);
  session.onSignOut(() => state.set(NOTHING));

  /** Begins an edit anew, with what was changed already. */
  function begin(base: Content, now: Content = base): void {
    const generation = (state.get().draft?.generation ?? 0) + 1;
    state.patch({ draft: { base, now, generation, password: NO_PASSWORD }, review: null });
  }

  function patch(members: Partial<FileDraft>): void {
    const { draft } = state.get();
    if (draft !== null) state.patch({ draft: { ...draft, ...members } });
  }

  const fetchText = async () => (await serverFile.fetch()).content.text;

  /** Runs something that asks the server, and keeps why it failed. */
  async function attempt(act: () => Promise<void>): Promise<void> {
    state.patch({ error: null });
    try {
      await act();
    } catch (problem) {
      state.patch({ error: problem });
    }
  }

  /** Tells what becomes of the session where one content takes the place of another. */
  const renewal = (before: Content, after: Content, { password }: FileDraft): Renewal =>
    renewalBetween(readingOf(before), readingOf(after), session.state.get(), password.typed);

  function openWith(present: PresentFile, draft: FileDraft): void {
    const plan = planSave(draft, present);
    state.patch({
      review: {
        present,
        plan,
        keysGone: keysGone(readingOf(present.content), readingOf(plan.after)),
        credentials: renewal(present.content, plan.after, draft).change,
      },
    });
  }

  /** Sends what the review shows. Resolves to what was saved; null, with another review, where the server's file is another one by now. */
  async function send(draft: FileDraft, { present, plan }: OpenReview): Promise<Saved | null> {
    let seen = plan.fields === null ? await serverFile.present() : present;
    if (seen.content.text === present.content.text) {
      const { change, again } = renewal(present.content, plan.after, draft);
      try {
        if (change === 'none') await serverFile.write(plan);
        else await session.replaceCredentials(() => serverFile.write(plan), again);
        return { after: plan.after, isSignedInAgain: again !== null };
      } catch (problem) {
        if (!isChangedMeanwhile(problem)) throw problem;
        seen = await serverFile.present();
      }
    }
    openWith(seen, draft);
    return null;
  }

  return {
    state,
    isDirty,
    /** Reads the file. An edit that is older than the answer stays, and so does a form that shows the same already. */
    start: () =>
      attempt(async () => {
        if (isDirty()) return;
        const content = { text: await fetchText() };
        const { draft } = state.get();
        if (draft === null || (!isDirty() && textOfFile(draft.base) !== content.text)) begin(content);
      }),
    /** Drops the edit, and begins anew with the file as the server has it. */
    load: () => attempt(async () => begin({ text: await fetchText() })),
    change: (tree: JsonNode) => patch({ now: { tree } }),
    type(text: string): void {
      const base = state.get().draft?.base;
      patch({ now: base !== undefined && 'text' in base && base.text === text ? base : { text } });
    },
    patch,
    restore: (name: string, text: string) =>
      attempt(async () => {
        begin((await serverFile.present()).content, { text });
        say('plain', (words) => words('config.restored', { file: name.slice(0, 80) }));
      }),
    /** The file as the server has it. */
    fetchText,
    attempt,
    /** Tells what becomes of the session once the edit is saved. */
    credentials(): CredentialChange {
      const { draft } = state.get();
      return draft !== null && isDirty() && 'tree' in draft.now ? renewal(draft.base, draft.now, draft).change : 'none';
    },
    /** Shows what a save would change. */
    openReview: () =>
      attempt(async () => {
        const { draft } = state.get();
        if (draft === null) return;
        const present = await serverFile.present();
        if (changesNothing(planSave(draft, present), present)) {
          begin(present.content);
          say('plain', (words) => words('config.noChanges'));
        } else openWith(present, draft);
      }),
    closeReview: () => state.patch({ review: null }),
    /** Drops the edit for what the review shows of the server. */
    useTheirs(): void {
      const { review } = state.get();
      if (review !== null) begin(review.present.content);
    },
    /** Rejects when it could not be saved. */
    async save(): Promise<void> {
      const { draft, review } = state.get();
      if (draft === null || review === null) return;
      try {
        const saved = await send(draft, review);
        if (saved === null) return;
        const { draft: edited } = state.get();
        // An edit that was made meanwhile stays one.
        if (isDirty() && edited?.now !== draft.now) patch({ base: draft.now });
        else if (edited !== null) begin(saved.after);
        state.patch({ review: null });
        say('good', (words) => words(saved.isSignedInAgain ? 'config.savedSignedIn' : 'config.saved'));
      } catch (problem) {
        note(workspace, 'saveConfig', false);
        throw problem;
      }
      note(workspace, 'saveConfig', true);
      void workspace.contact.now();
    },
  };
}

export const fileEditingOf = perWorkspace(createFileEditing);

/** The server's file as a page edits it. */
export function useFile() {
  const file = fileEditingOf(useWorkspace());
  useEffect(() => void file.start(), [file]);
  return { ...file, ...useStore(file.state) };
}

export type FileEditing = ReturnType<typeof useFile>;

interface Saved {
  readonly after: Content;
  readonly isSignedInAgain: boolean;
}

/** Counts the keys that the new file has fewer. */
function keysGone(before: Reading, after: Reading): number {
  const count = (reading: Reading) => (reading.ok ? countAt(reading.tree, placesIn(reading.tree).keys) : 0);
  return Math.max(0, count(before) - count(after));
}
