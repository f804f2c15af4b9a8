import { ApiFailure, hasFailed, isAbsent } from '../api/failure.js';
import { type KeyItem, keyOf, type Outcome } from '../api/jobs.js';
import { until } from '../store/store.js';
import type { Workspace } from './workspace.js';

/** Protocol: "Limits": the most keys in one bulk request. */
const BULK = 1_000;

/**
 * Makes one change, and resolves with its key. An update that leaves the limit out keeps the one that the list tells. No revision is sent a
 * note; an update of a note alone rejects.
 */
export async function makeChange({ server, users }: Workspace, item: KeyItem): Promise<string> {
  if (item.op === 'create') {
    const { op: _op, note: _note, ...body } = item;
    return server.createUser(body);
  }
  const { access_key: key } = item;
  if (item.op === 'update') {
    if (item.note !== undefined && item.name === undefined && item.limit_bytes === undefined)
      throw new ApiFailure('absent');
    const { name, limit_bytes: given = users.state.get().byKey.get(key)?.limit_bytes ?? null } = item;
    if (name === undefined) await server.setLimit(key, given);
    else await server.updateUser(key, name, given);
  } else if (item.op === 'delete') await server.deleteUser(key);
  else await server.resetUser(key);
  return key;
}

/** The changes by their places, those together that one request can make: new keys that differ in nothing. */
function groupsOf(items: readonly KeyItem[]): (readonly number[])[] {
  const isPlain = (item: KeyItem) => item.op === 'create' && item.access_key === undefined && item.name === undefined;
  const size = items.every(isPlain) ? BULK : 1;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, group) =>
    items.slice(group * size, (group + 1) * size).map((_, index) => group * size + index),
  );
}

/**
 * Makes changes one after the other, as a server takes them that has no jobs. A failure of one does not hold up the next; after a lost
 * session they go on. Once it is stopped, what has been sent finishes, and nothing more is sent.
 */
export async function changeSingly(
  workspace: Workspace,
  items: readonly KeyItem[],
  stopped: AbortSignal,
  onOutcome: (outcomes: readonly Outcome[]) => void,
): Promise<void> {
  const { server, offers, session } = workspace;
  const isLost = () => session.state.get().phase === 'lost';
  const singly = (group: readonly number[]): (readonly number[])[] => group.map((index) => [index]);
  const groups = offers.get().bulk === false ? singly([...items.keys()]) : groupsOf(items);
  async function make(group: readonly number[]): Promise<void> {
    const [index = 0] = group;
    const item = items[index];
    if (item === undefined) return;
    try {
      const keys =
        group.length > 1 && item.op === 'create'
          ? await server.createUsers(group.length, item.limit_bytes ?? null)
          : [await makeChange(workspace, item)];
      onOutcome(group.map((index, place) => ({ index, key: keys[place] ?? '', ok: true, error: null })));
    } catch (error) {
      if (group.length > 1 && isAbsent(error)) {
        offers.patch({ bulk: false });
        groups.push(...singly(group));
      } else if (isLost() && hasFailed(error, 'unauthorized')) groups.unshift(group);
      else onOutcome(group.map((index) => ({ index, key: keyOf(items[index]), ok: false, error })));
    }
  }
  for (;;) {
    await until(session.state, () => !isLost());
    const group = stopped.aborted ? undefined : groups.shift();
    if (group === undefined) return;
    await make(group);
  }
}
