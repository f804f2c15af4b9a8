import { useEffect } from 'preact/hooks';
import { ApiFailure, isChangedMeanwhile } from '../../api/failure.js';
import { note } from '../../state/audit-notes.js';
import { watchDraft } from '../../state/drafts.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { say } from '../../state/toasts.js';
import { useWorkspace, type Workspace } from '../../state/workspace.js';
import { createStore, useStore } from '../../store/store.js';
import type { JsonNode } from '../../text/json-tree.js';
import { type Content, contentOf, readingOf, textOfFile } from './content.js';
import { countKeys } from './document.js';
import { type CredentialChange, type Renewal, renewalBetween } from './renewal.js';
import { changesNothing, type Edit, type PresentFile, planSave, type SavePlan } from './save-plan.js';
import { createServerFile } from './server-file.js';

/** The server's file under edit, by whichever page. */
export interface FileDraft extends Edit {
  /** The number of keys that the file has besides. */
  readonly keyCount: number;
  /** Counts the loads, so that forms start over. */
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
  readonly credentials: CredentialChange;
}

interface Editing {
  /** Null until the file was read. */
  readonly draft: FileDraft | null;
  /** Null while none is open. */
  readonly review: OpenReview | null;
  /** Why something that asked the server has failed, until the next is tried; else null. */
  readonly error: unknown;
  /** The member for which a save was refused, as `dns.local_port`, until the edit changes; else null. */
  readonly refused: string | null;
}

const NOTHING: Editing = { draft: null, review: null, error: null, refused: null };
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

  /** Begins an edit again, with what was changed already. */
  function begin({ content: base, whole }: PresentFile, now: Content = base, keysFrom: JsonNode | null = null): void {
    const generation = (state.get().draft?.generation ?? 0) + 1;
    const keys = keysFrom ?? whole;
    const keyCount = keys === null ? 0 : countKeys(keys);
    state.patch({
      draft: { base, now, keysFrom, keyCount, generation, password: NO_PASSWORD },
      review: null,
      refused: null,
    });
  }

  function patch(members: Partial<FileDraft>): void {
    const { draft } = state.get();
    if (draft !== null) state.patch({ draft: { ...draft, ...members }, refused: null });
  }

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
    const credentials = renewal(present.content, plan.after, draft).change;
    state.patch({ review: { present, plan, credentials }, refused: null });
  }

  /** Sends what the review shows. Resolves to what was saved; null, with another review, where the server's file is another one by now. */
  async function send(draft: FileDraft, { present, plan }: OpenReview): Promise<Saved | null> {
    let seen = plan.fields === null ? await serverFile.present() : present;
    // Keys that were made since the review stay.
    const latest = plan.fields === null ? planSave(draft, seen) : plan;
    if (seen.content.text === present.content.text && latest.keysGone === plan.keysGone) {
      const { change, again } = renewal(present.content, plan.after, draft);
      try {
        if (change === 'none') await serverFile.write(latest);
        else await session.replaceCredentials(() => serverFile.write(latest), again);
        return { present: savedAs(latest, seen), isSignedInAgain: again !== null };
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
        const present = await serverFile.fetch();
        const { draft } = state.get();
        if (draft === null || (!isDirty() && textOfFile(draft.base) !== present.content.text)) begin(present);
      }),
    /** Drops the edit, and starts over with the file as the server has it. */
    load: () => attempt(async () => begin(await serverFile.fetch())),
    change: (tree: JsonNode) => patch({ now: { tree } }),
    type(text: string): void {
      const { draft } = state.get();
      const isBase = draft !== null && draft.keysFrom === null && textOfFile(draft.base) === text;
      patch({ now: isBase ? draft.base : { text } });
    },
    patch,
    restore: (name: string, text: string) =>
      attempt(async () => {
        const reading = readingOf({ text });
        const present = await serverFile.present();
        if (reading.ok) begin(present, contentOf(reading.tree), reading.tree);
        else begin(present, { text });
        say('plain', (words) => words('config.restored', { file: name.slice(0, 80) }));
      }),
    /** The file as the server has it, keys included. */
    fetchText: async () => {
      const { whole } = await serverFile.fetch();
      return whole === null ? '' : textOfFile({ tree: whole });
    },
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
          begin(present);
          say('plain', (words) => words('config.noChanges'));
        } else openWith(present, draft);
      }),
    closeReview: () => state.patch({ review: null }),
    /** Drops the edit for what the review shows of the server. */
    useTheirs(): void {
      const { review } = state.get();
      if (review !== null) begin(review.present);
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
        if (isDirty() && edited?.now !== draft.now) patch({ base: draft.now, keysFrom: null });
        else if (edited !== null) begin(saved.present);
        state.patch({ review: null });
        say('good', (words) => words(saved.isSignedInAgain ? 'config.savedSignedIn' : 'config.saved'));
      } catch (problem) {
        note(workspace, 'saveConfig', false);
        const place = refusedPlace(problem);
        if (place === null) throw problem;
        state.patch({ review: null, error: problem, refused: place });
        return;
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
  readonly present: PresentFile;
  readonly isSignedInAgain: boolean;
}

/** The server's file after a save, as far as it is known: without another look there is no tag. */
function savedAs({ after, fields, whole }: SavePlan, before: PresentFile): PresentFile {
  const keys = fields === null && 'tree' in whole ? whole.tree : before.whole;
  return { content: { text: textOfFile(after) }, whole: keys, tag: null };
}

/** The member for which no server would start from a file that was to be saved; null for another failure. */
function refusedPlace(problem: unknown): string | null {
  const isRefused = problem instanceof ApiFailure && problem.envelope.code === 'unreadable_by_server';
  return isRefused ? (/([^\s:]+): expected/.exec(problem.detail)?.[1] ?? '') : null;
}
