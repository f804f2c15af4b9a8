import { useEffect, useMemo, useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { watchDraft } from '../../state/drafts.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { createStore, type Store, useStore } from '../../store/store.js';
import type { Choices, Side } from '../../text/field-changes.js';
import type { JsonNode } from '../../text/json-tree.js';
import { type Content, readingOf, textOfFile } from './content.js';
import { countAt, placesIn, type Reading } from './document.js';
import { type CredentialChange, type Renewal, renewalBetween } from './renewal.js';
import { changesNothing, type PresentFile, planSave, type SavePlan, waitsForChoice } from './save-plan.js';
import { createServerFile, isChangedMeanwhile } from './server-file.js';

/** A review that is open: what the server has now, and what that means. */
export interface OpenReview {
  readonly present: PresentFile;
  readonly plan: SavePlan;
  readonly choices: Choices;
  readonly changedMeanwhile: boolean;
  readonly keysGone: number;
  readonly credentials: CredentialChange;
}

const NO_CHOICES: Choices = new Map();
/** Times that a save begins anew because the file has changed in between. */
const MOST_TRIES = 5;

/** The server's file as a page edits it. Nothing is saved before its difference was seen. */
export function useFile() {
  const words = useWords();
  const workspace = useWorkspace();
  const { session } = workspace;
  const serverFile = useMemo(() => createServerFile(workspace), [workspace]);
  const store = fileDraftOf(workspace);
  const draft = useStore(store);
  const [error, setError] = useState<unknown>(null);
  const [review, setReview] = useState<OpenReview | null>(null);

  const fetchText = async () => (await serverFile.fetch()).content.text;
  /** Runs something that asks the server, and shows why it failed. */
  const attempt = async (act: () => Promise<void>) => {
    setError(null);
    try {
      await act();
    } catch (problem) {
      setError(problem);
    }
  };
  const begin = (base: Content, now: Content) =>
    store.set({ base, now, generation: (store.get()?.generation ?? 0) + 1, password: NO_PASSWORD });
  const load = () =>
    attempt(async () => {
      const content = { text: await fetchText() };
      begin(content, content);
    });
  const patch = (members: Partial<FileDraft>) => {
    const known = store.get();
    if (known !== null) store.set({ ...known, ...members });
  };
  useEffect(() => {
    // An edit that is older than the answer stays, and so does a form that shows the same already.
    void attempt(async () => {
      if (isDirty(store.get())) return;
      const content = { text: await fetchText() };
      const known = store.get();
      if (known === null || (!isDirty(known) && textOfFile(known.base) !== content.text)) begin(content, content);
    });
  }, [store]);

  const renewal = (before: Content, after: Content, { password }: FileDraft): Renewal =>
    renewalBetween(readingOf(before), readingOf(after), session.state.get(), password.typed);
  const openWith = (present: PresentFile, known: FileDraft, choices: Choices) => {
    const plan = planSave(known, present, choices);
    setReview({
      present,
      plan,
      choices,
      changedMeanwhile: present.content.text !== textOfFile(known.base),
      keysGone: keysGone(readingOf(present.content), readingOf(plan.after)),
      credentials: renewal(present.content, plan.after, known).change,
    });
  };
  const openReview = () =>
    attempt(async () => {
      const known = store.get();
      if (known === null) return;
      const present = await serverFile.present();
      if (changesNothing(planSave(known, present, NO_CHOICES), present)) {
        begin(present.content, present.content);
        say({ tone: 'plain', text: words('config.noChanges') });
      } else openWith(present, known, NO_CHOICES);
    });
  const choose = (conflict: string, side: Side) => {
    const known = store.get();
    if (review !== null && known !== null)
      openWith(review.present, known, new Map([...review.choices, [conflict, side]]));
  };

  /** Sends what the review shows. Gives what was saved; null, with another review, where the server's file asks for that. */
  const send = async (known: FileDraft, { present, plan: shown, choices }: OpenReview): Promise<Saved | null> => {
    let seen = shown.fields === null ? await serverFile.present() : present;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const plan = planSave(known, seen, choices);
      const isOther = plan.fields === null && seen.content.text !== present.content.text;
      if (isOther || waitsForChoice(plan, choices)) break;
      const { change, again } = renewal(seen.content, plan.after, known);
      try {
        if (change === 'none') await serverFile.write(plan);
        else await session.replaceCredentials(() => serverFile.write(plan), again);
        return { plan, isSignedInAgain: again !== null };
      } catch (problem) {
        if (!isChangedMeanwhile(problem)) throw problem;
      }
      seen = await serverFile.present();
    }
    openWith(seen, known, choices);
    return null;
  };
  const save = async () => {
    const known = store.get();
    if (known === null || review === null) return;
    try {
      const saved = await send(known, review);
      if (saved === null) return;
      const edited = store.get();
      // An edit that was made meanwhile stays one.
      if (edited !== null && isDirty(edited) && edited.now !== known.now) patch({ base: known.now });
      else begin(saved.plan.after, saved.plan.after);
      setReview(null);
      say({ tone: 'good', text: words(saved.isSignedInAgain ? 'config.savedSignedIn' : 'config.saved') });
    } catch (problem) {
      note(workspace, 'saveConfig', false);
      throw problem;
    }
    note(workspace, 'saveConfig', true);
    void workspace.contact.now();
  };

  return {
    /** Null until it was read. */
    draft,
    error,
    dirty: isDirty(draft),
    review,
    credentials:
      draft !== null && isDirty(draft) && 'tree' in draft.now ? renewal(draft.base, draft.now, draft).change : 'none',
    load,
    change: (tree: JsonNode) => patch({ now: { tree } }),
    type: (text: string) => {
      const base = store.get()?.base;
      patch({ now: base !== undefined && 'text' in base && base.text === text ? base : { text } });
    },
    patch,
    restore: (file: File) =>
      attempt(async () => {
        begin((await serverFile.present()).content, { text: await file.text() });
        say({ tone: 'plain', text: words('config.restored', { file: file.name.slice(0, 80) }) });
      }),
    /** The file as the server has it. */
    fetchText,
    attempt,
    openReview,
    closeReview: () => setReview(null),
    /** Chooses the value of a field that was changed on the server, too. */
    choose,
    /** Rejects when it could not be saved. */
    save,
  };
}

export type FileEditing = ReturnType<typeof useFile>;

interface Saved {
  readonly plan: SavePlan;
  readonly isSignedInAgain: boolean;
}

/** Counts the keys that the new file has fewer. */
function keysGone(before: Reading, after: Reading): number {
  const count = (reading: Reading) => (reading.ok ? countAt(reading.tree, placesIn(reading.tree).keys) : 0);
  return Math.max(0, count(before) - count(after));
}

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
const fileDraftOf = perWorkspace<Store<FileDraft | null>>(({ session }) => {
  const store = createStore<FileDraft | null>(null);
  watchDraft(() => isDirty(store.get()));
  session.onSignOut(() => store.set(null));
  return store;
});

function isDirty(draft: FileDraft | null): boolean {
  return draft !== null && draft.now !== draft.base;
}
