import { useState } from 'preact/hooks';
import { isChangedMeanwhile } from '../../api/failure.js';
import { note } from '../../state/audit-notes.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import type { Choices, Side } from '../../text/field-changes.js';
import { type Content, readingOf, textOfFile } from './content.js';
import { countAt, placesIn, type Reading } from './document.js';
import { type FileDraft, fileDraftOf, isDirty } from './file-draft.js';
import { type CredentialChange, type Renewal, renewalBetween } from './renewal.js';
import { changesNothing, type PresentFile, planSave, type SavePlan, waitsForChoice } from './save-plan.js';
import type { createServerFile } from './server-file.js';

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

/** The review of an edit, and its way to the server: nothing is saved before its difference was seen. */
export function useReview(serverFile: ReturnType<typeof createServerFile>) {
  const workspace = useWorkspace();
  const { session } = workspace;
  const { state, begin, patch } = fileDraftOf(workspace);
  const [review, setReview] = useState<OpenReview | null>(null);

  /** Tells what becomes of the session where one content takes the place of another. */
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

  return {
    review,
    renewal,
    /** Shows what a save would change; rejects where the server's file cannot be had. */
    open: async () => {
      const known = state.get();
      if (known === null) return;
      const present = await serverFile.present();
      if (changesNothing(planSave(known, present, NO_CHOICES), present)) {
        begin(present.content);
        say('plain', (words) => words('config.noChanges'));
      } else openWith(present, known, NO_CHOICES);
    },
    closeReview: () => setReview(null),
    /** Chooses the value of a field that was changed on the server, too. */
    choose: (conflict: string, side: Side) => {
      const known = state.get();
      if (review !== null && known !== null)
        openWith(review.present, known, new Map([...review.choices, [conflict, side]]));
    },
    /** Rejects when it could not be saved. */
    save: async () => {
      const known = state.get();
      if (known === null || review === null) return;
      try {
        const saved = await send(known, review);
        if (saved === null) return;
        const edited = state.get();
        // An edit that was made meanwhile stays one.
        if (edited !== null && isDirty(edited) && edited.now !== known.now) patch({ base: known.now });
        else begin(saved.plan.after);
        setReview(null);
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

interface Saved {
  readonly plan: SavePlan;
  readonly isSignedInAgain: boolean;
}

/** Counts the keys that the new file has fewer. */
function keysGone(before: Reading, after: Reading): number {
  const count = (reading: Reading) => (reading.ok ? countAt(reading.tree, placesIn(reading.tree).keys) : 0);
  return Math.max(0, count(before) - count(after));
}
