import { type Change, type KeyItem, keyOf } from '../api/jobs.js';
import { wordsIn } from '../i18n/text.js';
import { preferences } from '../store/preferences.js';
import type { KeptBatch } from './kept-batches.js';
import { say, type Toast } from './toasts.js';
import type { Workspace } from './workspace.js';

/** Milliseconds in which limits can be given back. */
const OFFERED = 15_000;

/** The offer to give back the limits that the last batch has changed, which stands for some seconds, over a reload, too. */
export class LimitOffer {
  /** The batch whose limits can be given back, as the tab keeps it; empty where there is none. */
  kept: readonly KeptBatch[] = [];
  readonly #users: Workspace['users'];
  readonly #contact: Workspace['contact'];
  readonly #giveBack: (changes: readonly Change[]) => void;
  #dismiss: () => void = () => undefined;

  constructor({ users, contact }: Workspace, giveBack: (changes: readonly Change[]) => void) {
    this.#users = users;
    this.#contact = contact;
    this.#giveBack = giveBack;
  }

  /** Says what was done by changes that can be taken back, with the offer. */
  make(toast: Pick<Toast, 'tone' | 'text'>, batch: KeptBatch, endedAt = Date.now()): void {
    const { changes } = batch;
    this.kept = [{ ...batch, endedAt }];
    const words = wordsIn(preferences.get().language);
    // The list tells of a limit that was changed to another one since, but not before it is asked for again.
    const run = async () => {
      this.#dismiss();
      await this.#contact.now();
      this.#giveBack(this.#backOf(changes));
    };
    const action = { label: words('action.undo'), run };
    this.#dismiss = say({ ...toast, action, lasts: endedAt + OFFERED - Date.now() });
  }

  /** Makes an offer again that stood when the page was left. */
  resume(batch: KeptBatch): void {
    const { endedAt = 0, changes } = batch;
    const words = wordsIn(preferences.get().language);
    const text = words('batch.done.limit', { n: changes.length });
    if (endedAt + OFFERED > Date.now() && changes.length > 0) this.make({ tone: 'good', text }, batch, endedAt);
  }

  /** Takes the offer back: the limits may be others by now. */
  withdraw(): void {
    this.kept = [];
    this.#dismiss();
  }

  /** Returns the changes that give the limits back, but for keys whose limit was changed to another one since. */
  #backOf(changes: readonly Change[]): readonly Change[] {
    const { users, byKey } = this.#users.state.get();
    return changes.flatMap(({ item, back }) => {
      const now = byKey.get(keyOf(item))?.limit_bytes;
      const isOurs = (each: KeyItem | undefined) =>
        each?.op === 'update' && (each.limit_bytes === now || users === null);
      return back !== undefined && (isOurs(item) || isOurs(back)) ? [{ item: back }] : [];
    });
  }
}
