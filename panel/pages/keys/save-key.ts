import { formatLimit } from '../../../src/text/sizes.js';
import type { Whole } from '../../../src/text/whole.js';
import { hasFailed } from '../../api/failure.js';
import type { Change } from '../../api/jobs.js';
import { reachesKeys } from '../../api/own-interface.js';
import { patchKey } from '../../api/own-keys.js';
import type { Words } from '../../i18n/text.js';
import { noted } from '../../state/audit-notes.js';
import { batchesOf } from '../../state/batches.js';
import { useFormDraft } from '../../state/form-drafts.js';
import { creationOf, type EditedKey, type KeyChange, updateOf } from '../../state/key-changes.js';
import { lastUnitOf, limitDraft } from '../../state/limits.js';
import { isAddressable, labelOf } from '../../state/named-keys.js';
import type { UsersState } from '../../state/seen-keys.js';
import { makeChange } from '../../state/single-calls.js';
import { say, sayFailure } from '../../state/toasts.js';
import { useWorkspace, type Workspace } from '../../state/workspace.js';
import { randomHex } from '../../text/random.js';

/** Keeps what is typed of a key: in the list or in a window, which a narrower page has instead. A null one is to be created. */
export function useKeyDraft(given: EditedKey | null) {
  const unit = lastUnitOf(useWorkspace()).get();
  return useFormDraft(`edit/${given?.access_key}`, {
    // The key at the beginning of the edit: a change on the server meanwhile is told, not taken over.
    user: given,
    ...{ name: given?.name ?? '', note: given?.note ?? '', key: '', generated: randomHex() },
    limit: limitDraft(given?.limit_bytes ?? null, unit),
    keepName: given !== null && given.name === undefined,
  });
}

/** A key as it is to be created; an empty text is left out. */
interface WantedKey {
  readonly name: string;
  readonly note: string;
  readonly limit: Whole | null;
}

/** A key that was created. */
interface MadeKey {
  /** The key as it is without its note. */
  readonly made: EditedKey;
  /** Why its note could not be saved; else nothing. */
  readonly noteError: unknown;
}

/**
 * Creates a key, or changes one that an earlier try has made, and resolves once the list has it. Rejects as `makeKey` or `changeKey`
 * does.
 */
export async function createKey(workspace: Workspace, key: string, wanted: WantedKey): Promise<MadeKey> {
  const known = workspace.users.state.get().byKey.get(key);
  await (known ? changeKey(workspace, known, wanted) : noted(workspace, 'createKey', makeKey(workspace, key, wanted)));
  const noteError =
    wanted.note && (await patchKey(workspace.own, key, { note: wanted.note }).catch((why: unknown) => why));
  await workspace.contact.now();
  return { made: { access_key: key, name: wanted.name, limit_bytes: wanted.limit }, noteError };
}

/** Makes a key. One that could not be saved is made where the list has it, and the refusal is shown; else rejects as the call does. */
async function makeKey(workspace: Workspace, key: string, wanted: KeyChange): Promise<void> {
  try {
    await makeChange(workspace, creationOf(key, wanted));
  } catch (problem) {
    if (!hasFailed(problem, 'unsaved')) throw problem;
    await workspace.contact.now();
    if (!workspace.users.state.get().byKey.has(key)) throw problem;
    sayFailure(problem);
  }
}

/**
 * Changes what differs of a key from how it was at the beginning of the edit, so that what others change of it meanwhile stays. Where
 * only name and limit together can be sent, an unchanged limit is the one that the list tells. Resolves with what was changed and what
 * takes it back; null where nothing differs.
 */
export async function changeKey(workspace: Workspace, user: EditedKey, wanted: KeyChange): Promise<Change | null> {
  const { own, reach, users } = workspace;
  const known = users.state.get().byKey.get(user.access_key) ?? user;
  const change = updateOf(user, wanted, known);
  if (change === null) return null;
  const { op: _op, access_key: key, ...patch } = change.item;
  const isPatched = patch.note !== undefined || (isAddressable(key) && reachesKeys(reach.get()));
  const isLimitAlone = patch.limit_bytes !== undefined && patch.name === undefined;
  await noted<unknown>(
    workspace,
    isLimitAlone ? 'setLimit' : 'updateKey',
    isPatched ? patchKey(own, key, patch) : makeChange(workspace, { limit_bytes: known.limit_bytes, ...change.item }),
  );
  return change;
}

/** Says what was saved of a key: its name by now, and its limit before and after where that is another one. */
function savedText({ item, back }: Change, now: string, words: Words): string {
  const name =
    item.op === 'update' && item.name !== undefined ? labelOf({ key: item.access_key, name: item.name ?? '' }) : now;
  const saved = words('edit.saved', { name });
  if (item.op !== 'update' || item.limit_bytes === undefined || back?.op !== 'update') return saved;
  const shown = (limit: Whole | null | undefined) =>
    limit == null ? words('keys.unlimited') : formatLimit(limit, words.language);
  return `${saved} ${words('edit.savedLimit', { from: shown(back.limit_bytes), to: shown(item.limit_bytes) })}`;
}

/**
 * Saves what differs of a key, and says so by its new name unless somebody has signed out since, with the offer to take it back. Rejects as
 * the call does.
 */
export async function saveKey(workspace: Workspace, user: EditedKey, change: KeyChange): Promise<void> {
  const changed = await changeKey(workspace, user, change);
  await workspace.contact.now();
  if (workspace.session.state.get().phase === 'signedOut') return;
  const name = labelOf({ key: user.access_key, name: change.name ?? user.name ?? '' });
  if (changed?.back === undefined) say('good', (words) => words('edit.saved', { name }));
  else batchesOf(workspace).offers.make(([one = changed], words) => savedText(one, name, words), [changed]);
}

/** Tells why a key cannot be made by this name; null where it can. */
export function newKeyProblem(key: string, { users, byKey }: UsersState, words: Words): string | null {
  if (byKey.has(key)) return words('edit.exists');
  if (key === '.' || key === '..') return words('failure.unaddressable');
  // One that exists would be made again.
  return users === null && key !== '' ? words('keys.loading') : null;
}

/** Tells whether a key is another one by now than at the beginning of its edit, as far as the list tells it. */
export function isOtherKey(user: EditedKey, now: EditedKey | undefined): boolean {
  if (now === undefined) return false;
  const isRenamed = now.name !== undefined && (now.name || null) !== (user.name || null);
  return isRenamed || now.limit_bytes !== user.limit_bytes || (now.note || null) !== (user.note || null);
}
