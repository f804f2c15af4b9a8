import { type Change, type KeyItem, keyOf } from '../api/jobs.js';
import type { KeptBatch } from './kept-batches.js';
import { say, type Toast } from './toasts.js';
import type { Workspace } from './workspace.js';

/** Milliseconds in which limits can be given back. */
const OFFERED = 15_000;

/** The owner of the offer. */
interface Owner {
  readonly giveBack: (changes: readonly Change[]) => void;
  /** Called when there is nothing to keep any more. */
  readonly onEnd: () => void;
}

/** The offer to give back the limits that the last batch has changed, which stands for some seconds, over a reload, too. */
export class LimitOffer {
  /** The batch whose limits can be given back, as the tab keeps it; empty where there is none. */
  kept: readonly KeptBatch[] = [];
  readonly #users: Workspace['users'];
  readonly #contact: Workspace['contact'];
  readonly #owner: Owner;
  #dismiss: () => void = () => undefined;

  constructor({ users, contact }: Workspace, owner: Owner) {
    this.#users = users;
    this.#contact = contact;
    this.#owner = owner;
  }

  /** Says what was done by changes that can be taken back, with the offer. */
  make(tone: Toast['tone'], text: Toast['text'], batch: KeptBatch, endedAt = Date.now()): void {
    const kept = [{ ...batch, endedAt }];
    this.kept = kept;
    const lasts = endedAt + OFFERED - Date.now();
    const undo = async () => {
      // Pressed in time, it stands until it is answered.
      this.kept = [...kept];
      this.#dismiss();
      await this.#contact.now();
      if (this.#users.state.get().users !== null) this.#undo(batch.changes);
      else if (this.kept.length > 0) {
        // Whose limits they are by now is not known without a list.
        say('bad', (words) => words('failure.unreachable'));
        this.make(tone, text, batch);
      }
    };
    this.#dismiss = say(tone, text, undo, lasts);
    setTimeout(() => this.kept === kept && this.#end(), lasts);
  }

  /** Makes an offer again that stood when the page was left. */
  resume(batch: KeptBatch): void {
    const { endedAt = 0, changes } = batch;
    if (endedAt + OFFERED > Date.now() && changes.length > 0)
      this.make('good', (words) => words('batch.done.limit', { n: changes.length }), batch, endedAt);
  }

  /** Takes the offer back: the limits may be others by now. */
  withdraw(): void {
    this.kept = [];
    this.#dismiss();
  }

  #end(): void {
    this.withdraw();
    this.#owner.onEnd();
  }

  /** Gives the limits back, but for keys whose limit was changed to another one since, also where the list has not told yet. */
  #undo(changes: readonly Change[]): void {
    const { byKey } = this.#users.state.get();
    const back = changes.flatMap(({ item, back }) => {
      const now = byKey.get(keyOf(item))?.limit_bytes;
      const isOurs = (each: KeyItem | undefined) => each?.op === 'update' && each.limit_bytes === now;
      return back !== undefined && (isOurs(item) || isOurs(back)) ? [{ item: back }] : [];
    });
    const n = changes.length - back.length;
    if (n > 0) say('plain', (words) => words('batch.stays', { n }));
    if (back.length > 0) this.#owner.giveBack(back);
    else this.#end();
  }
}
