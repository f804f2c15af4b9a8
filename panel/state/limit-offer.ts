import { type Change, type KeyItem, keyOf } from '../api/jobs.js';
import { say, type Toast } from './toasts.js';
import type { Workspace } from './workspace.js';

/** Milliseconds in which limits can be given back. */
const OFFERED = 15_000;

/** The offer to give back the limits that the last batch has changed, which stands for some seconds. */
export class LimitOffer {
  readonly #workspace: Pick<Workspace, 'users' | 'contact'>;
  readonly #giveBack: (changes: readonly Change[]) => void;
  #dismiss: () => void = () => undefined;

  constructor(workspace: Pick<Workspace, 'users' | 'contact'>, giveBack: (changes: readonly Change[]) => void) {
    this.#workspace = workspace;
    this.#giveBack = giveBack;
  }

  /** Says what was done by changes that can be taken back, with the offer. */
  make(text: Toast['text'], changes: readonly Change[]): void {
    this.#dismiss = say('good', text, () => void this.#undo(changes), OFFERED);
  }

  /** Takes the offer back: the limits may be others by now. */
  withdraw(): void {
    this.#dismiss();
  }

  /** Gives the limits back, but for keys whose limit was changed to another one since, also where the list has not told yet. */
  async #undo(changes: readonly Change[]): Promise<void> {
    const { users, contact } = this.#workspace;
    this.withdraw();
    await contact.now();
    const { byKey } = users.state.get();
    const back = changes.flatMap(({ item, back }) => {
      const now = byKey.get(keyOf(item))?.limit_bytes;
      const isOurs = (each: KeyItem | undefined) => each?.op === 'update' && each.limit_bytes === now;
      return back !== undefined && (isOurs(item) || isOurs(back)) ? [{ item: back }] : [];
    });
    const n = changes.length - back.length;
    if (n > 0) say('plain', (words) => words('batch.stays', { n }));
    if (back.length > 0) this.#giveBack(back);
  }
}
