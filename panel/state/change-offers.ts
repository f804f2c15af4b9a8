import { type Change, type KeyItem, keyOf } from '../api/jobs.js';
import type { User } from '../api/wire.js';
import type { Words } from '../i18n/text.js';
import { say } from './toasts.js';
import type { Workspace } from './workspace.js';

/** Milliseconds in which changes can be taken back. */
const OFFERED = 15_000;

/** Returns the words for changes. */
export type ChangeText = (changes: readonly Change[], words: Words) => string;

interface Offer {
  readonly changes: readonly Change[];
  readonly dismiss: () => void;
}

/** The offers to take back what was just changed of keys, each of which stands for some seconds. */
export class ChangeOffers {
  readonly #workspace: Pick<Workspace, 'users' | 'contact'>;
  readonly #takeBack: (changes: readonly Change[]) => void;
  readonly #standing = new Set<Offer>();

  constructor(workspace: Pick<Workspace, 'users' | 'contact'>, takeBack: (changes: readonly Change[]) => void) {
    this.#workspace = workspace;
    this.#takeBack = takeBack;
  }

  /** Says what was done by changes that can be taken back, with the offer. */
  make(text: ChangeText, made: readonly Change[]): void {
    const changes = made.length === 1 ? made.map((change) => this.#joined(change)) : made;
    const dismissToast = say(
      'good',
      (words) => text(changes, words),
      () => void this.#undo(offer),
      OFFERED,
    );
    const offer: Offer = {
      changes,
      dismiss: () => {
        this.#standing.delete(offer);
        dismissToast();
      },
    };
    this.#standing.add(offer);
    setTimeout(offer.dismiss, OFFERED);
  }

  /** Takes the offers back that are about some keys alone, which may be others by now; all of them without keys. */
  withdraw(keys?: ReadonlySet<string>): void {
    for (const { changes, dismiss } of [...this.#standing])
      if (keys === undefined || changes.every(({ item }) => keys.has(keyOf(item)))) dismiss();
  }

  /** Joins a change with the one before it of the same key, whose offer it takes over: undoing it leads back before both. */
  #joined(change: Change): Change {
    const key = keyOf(change.item);
    const earlier = [...this.#standing].find(({ changes }) => changes.length === 1 && keyOf(changes[0]?.item) === key);
    const [first] = earlier?.changes ?? [];
    earlier?.dismiss();
    return (first === undefined ? null : joinChanges(first, change)) ?? change;
  }

  /** Takes changes back, but for keys that were changed to something else since, also where the list has not told yet. */
  async #undo({ changes, dismiss }: Offer): Promise<void> {
    const { users, contact } = this.#workspace;
    dismiss();
    await contact.now();
    const { byKey } = users.state.get();
    const back = changes.flatMap(({ item, back }) => {
      const now = byKey.get(keyOf(item));
      const isOurs = back !== undefined && now !== undefined && (isAs(now, item, back) || isAs(now, back, back));
      return isOurs ? [{ item: back }] : [];
    });
    const n = changes.length - back.length;
    if (n > 0) say('plain', (words) => words('batch.stays', { n }));
    if (back.length > 0) this.#takeBack(back);
  }
}

/** The members of a key that a change names. */
const MEMBERS = ['name', 'limit_bytes', 'note'] as const;

/** Returns true where a key is as a change makes it, in the members that another one names. */
function isAs(now: Pick<User, (typeof MEMBERS)[number]>, made: KeyItem, named: KeyItem): boolean {
  if (made.op !== 'update' || named.op !== 'update') return false;
  return MEMBERS.every((member) => {
    const value = now[member] ?? null;
    return named[member] === undefined || (value === '' ? null : value) === made[member];
  });
}

/** Two changes of a key as one; null where somebody else has changed it in between. */
function joinChanges({ item: first, back }: Change, { item: last, back: between }: Change): Change | null {
  if (first.op !== 'update' || back?.op !== 'update' || last.op !== 'update' || between?.op !== 'update') return null;
  const agree = (a: unknown, b: unknown) => a === undefined || b === undefined || a === b;
  if (!MEMBERS.every((member) => agree(first[member], between[member]))) return null;
  return { item: { ...first, ...last }, back: { ...between, ...back } };
}
