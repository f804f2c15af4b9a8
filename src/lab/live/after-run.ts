import { setTimeout as sleep } from 'node:timers/promises';
import type { Control } from '../../client/signed-in-caller.js';
import { messageOf } from '../../core/errors.js';
import { isJsonObject } from '../../wire/json/json.js';
import { keyOf, keysOfFile } from '../format/given-state.js';
import { readState, restoreKeyLists, type SavedState } from './saved-state.js';
import { keyChangesOnly, keysChanged, stateChanges } from './state-changes.js';
import { readKeys } from './target-facts.js';
import type { Prepared } from './target-state.js';

/** The changes that a run leaves on a server, one sentence each. */
export type Finished = Awaited<ReturnType<typeof cleanUp>>;

/** A live server at the end of a run. */
export interface Ended extends Prepared {
  readonly options: Prepared['options'] & {
    /** Resolves after this many milliseconds; by default real ones. */
    readonly pause?: (milliseconds: number) => Promise<unknown>;
  };
  /** Null if the run cannot be authorized. */
  readonly before: SavedState | null;
}

/** Removes what is left of the run's own keys, restores the file's key lists, and compares with the state before. */
export async function cleanUp(live: Ended) {
  const problems = live.options.writes
    ? await undoAll(live).catch((error: unknown) => [whyNotUndone(live, error)])
    : [];
  const { changes, byOthers } = await changesSince(live);
  // Both the run and other clients have changed it, and the latter continue to.
  return { left: [...problems, ...changes], byOthers };
}

function whyNotUndone({ own }: Ended, error: unknown): string {
  return `not all could be undone, keys that begin with ${own.prefix} may be left: ${messageOf(error)}`;
}

/**
 * Removes the run's own keys and restores the file's key lists, and does so again if a reload of the server brought
 * keys back.
 */
async function undoAll(live: Ended): Promise<readonly string[]> {
  const { control, own, before, options, facts } = live;
  let problems: readonly string[] = [];
  for (let round = 0; round < 2; round += 1) {
    const left = await own.removeAll(control);
    problems = left.map((accessKey) => `the key ${accessKey} could not be removed`);
    if (before === null) return problems;
    const lists = await restoreKeyLists(live, before, options.revision, facts.version).catch(messageOf);
    if (lists !== null) problems = [...problems, lists];
    await untilReloaded(control);
    const { keys } = await readKeys(control);
    const back = keys.map(({ accessKey }) => accessKey).filter((each) => own.isOwn(each));
    if (back.length === 0) return problems;
    for (const accessKey of back) own.add(accessKey);
  }
  return problems;
}

/** Milliseconds. Servers check their file every 5 s, and a key was live after 6.7 s at the latest. */
const LONGEST_RELOAD = 10_000;
const LOOK_EVERY = 50;

/** Resolves when a server lists exactly the keys in its file, or at the latest when it should have long ago. */
async function untilReloaded(control: Control): Promise<void> {
  const end = performance.now() + LONGEST_RELOAD;
  while (!(await listsItsFile(control)) && performance.now() < end) await sleep(LOOK_EVERY);
}

async function listsItsFile(control: Control): Promise<boolean> {
  const config = (await control.send('GET', '/server/config')).data;
  const list = (await control.send('GET', '/users')).data;
  if (!isJsonObject(config) || !Array.isArray(list)) return true;
  const [inFile, listed] = [keysOfFile(config), list.flatMap(keyOf)].map(
    (keys) => new Set(keys.map(({ accessKey }) => accessKey)),
  );
  return inFile?.size === listed?.size && [...(inFile ?? [])].every((key) => listed?.has(key));
}

/** Milliseconds before a difference is read again, because a server may be writing its file. */
const A_MOMENT = 1000;
/** Milliseconds before each further attempt to read what could not be read. */
const AWAY = [A_MOMENT, 2000, 4000];

async function changesSince(live: Ended): Promise<Compared> {
  const { pause = sleep } = live.options;
  let seen = await compared(live, null);
  for (const [again, milliseconds] of AWAY.entries()) {
    if (seen.changes.length === 0 || (seen.after !== null && again > 0)) break;
    await pause(milliseconds);
    seen = await compared(live, seen.after);
  }
  return seen;
}

interface Compared {
  readonly changes: readonly string[];
  readonly byOthers: readonly string[];
  /** Null if it could not be read completely. */
  readonly after: SavedState | null;
}

/**
 * Compares with the state before the run, and with an `earlier` one after it: keys that still change while the run does
 * nothing are changed by other clients.
 */
async function compared({ control, before, options, own }: Ended, earlier: SavedState | null): Promise<Compared> {
  if (before === null) return { changes: [], byOthers: [], after: null };
  try {
    const after = await readState(control, options.revision);
    const isWhole = Object.keys(after.unread).length === 0;
    const isMoving = earlier !== null && isWhole && keysChanged(earlier, after);
    const isOurs = after.keys.some(({ accessKey }) => own.isOwn(accessKey));
    const changes = stateChanges(before, after);
    const others = isMoving && !isOurs ? keyChangesOnly(before, after) : [];
    return {
      changes: changes.filter((each) => !others.includes(each)),
      byOthers: others,
      after: isWhole ? after : null,
    };
  } catch (error) {
    const why = `it could not be read whether all is as before: ${messageOf(error)}`;
    return { changes: [why], byOthers: [], after: null };
  }
}
