import { useState } from 'preact/hooks';
import { isChangedMeanwhile } from '../api/failure.js';
import type { Server, Tagged } from '../api/server.js';
import type { EventName } from '../i18n/events.js';
import { createStore, type Store, useStore } from '../store/store.js';
import { encodeExact, exactValue } from '../text/exact-json.js';
import { type Choices, type Conflict, fieldChanges, mergeFields, type Side } from '../text/field-changes.js';
import { memberOf, parseTree } from '../text/json-tree.js';
import { note } from './audit-notes.js';
import { perWorkspace } from './per-workspace.js';
import { useRefreshed, useTask } from './tasks.js';
import { say, type Toast } from './toasts.js';
import { useWorkspace, type Workspace } from './workspace.js';

/** Something under edit: what the server had when it began, and what it is to become. */
interface Draft<T> {
  readonly base: T;
  readonly now: T;
}

const unsaved = new Set<() => boolean>();

/** Has the browser ask before the tab is closed while this says that something is not saved. */
export function watchDraft(isUnsaved: () => boolean): void {
  unsaved.add(isUnsaved);
}

/** Has the browser ask before a tab is closed in which something is edited and not saved. */
export function askBeforeLeaving(): void {
  window.addEventListener('beforeunload', (event) => {
    if ([...unsaved].some((isUnsaved) => isUnsaved())) event.preventDefault();
  });
}

/** Makes a place for one kind of draft, so that nothing typed is lost when the page or the server is changed. */
export function createDrafts<T>(): (workspace: Workspace) => Store<Draft<T> | null> {
  return perWorkspace(({ session }) => {
    const store = createStore<Draft<T> | null>(null);
    watchDraft(() => {
      const draft = store.get();
      return draft !== null && draft.base !== draft.now;
    });
    session.onSignOut(() => store.set(null));
    return store;
  });
}

/** Settings that a server has operations for. */
interface ServerSettings<T> {
  readonly draftOf: ReturnType<typeof createDrafts<T>>;
  readonly read: (server: Server) => Promise<Tagged<T>>;
  /** Checks settings that were merged. */
  readonly parse: (settings: unknown) => T;
  /** The member that the fields are named after. */
  readonly name: string;
  /**
   * `changed` are the names of the members that are others. Rejects where the tag is that of other settings by now
   * (`isChangedMeanwhile`); null replaces any.
   */
  readonly write: (server: Server, now: T, changed: readonly string[], tag: string | null) => Promise<void>;
  /** Returns true where nothing is to be saved. */
  readonly isSame: (base: T, now: T) => boolean;
  /** The event that is noted with their count, saved or not. */
  readonly event: EventName;
  readonly count?: (now: T) => number;
  /** Said once they are saved. */
  readonly saved: Toast['text'];
}

const isEqual = (a: unknown, b: unknown): boolean => encodeExact(a) === encodeExact(b);

const NO_CHOICES: Choices = new Map();

/** Times that a save begins anew because the settings have changed in between. */
const MOST_TRIES = 5;

interface MergedSettings<T> extends Tagged<T> {
  readonly conflicts: readonly Conflict[];
  /** Names of the members that the edit changes. */
  readonly changed: readonly string[];
}

/** The settings of the server under edit: refreshed while nothing is typed, compared with the draft from then on. */
export function useServerDraft<T>({
  draftOf,
  read,
  parse,
  name,
  write,
  isSame,
  event,
  count = () => 0,
  saved,
}: ServerSettings<T>) {
  const workspace = useWorkspace();
  const store = draftOf(workspace);
  const draft = useStore(store);
  const [meanwhile, setMeanwhile] = useState(false);
  const [conflicts, setConflicts] = useState<readonly Conflict[]>([]);
  const [choices, setChoices] = useState(NO_CHOICES);
  const saving = useTask();
  const loadError = useRefreshed(async () => {
    const before = store.get();
    const { settings: fresh } = await read(workspace.server);
    const known = store.get();
    // Saved or begun anew since it was asked: the answer may be older than that.
    if (known?.base !== before?.base) return;
    const isOther = known === null || !isEqual(known.base, fresh);
    const isUntouched = known === null || isSame(known.base, known.now);
    if (isOther && isUntouched) store.set({ base: fresh, now: fresh });
    setMeanwhile(isOther && !isUntouched);
  });
  const forget = () => {
    setConflicts([]);
    setChoices(NO_CHOICES);
  };
  const begin = (base: T, now: T) => {
    store.set({ base, now });
    setMeanwhile(false);
    forget();
    void workspace.contact.now();
  };
  const merge = async ({ base, now }: Draft<T>): Promise<MergedSettings<T>> => {
    const tree = (settings: T) => parseTree(encodeExact({ [name]: settings }));
    const { settings: present, tag } = await read(workspace.server);
    const fresh = tree(present);
    const { merged, conflicts: found } = mergeFields(tree(base), tree(now), fresh, choices);
    const changes = fieldChanges(fresh, merged).flatMap(({ path }) => (typeof path[1] === 'string' ? [path[1]] : []));
    const member = memberOf(merged, name);
    return {
      settings: member === undefined ? now : parse(exactValue(member)),
      tag,
      conflicts: found,
      changed: changes,
    };
  };
  /** Saves beside what others change. Resolves to what was saved; null where a choice is missing. */
  const writeMerged = async (edited: Draft<T>): Promise<T | null> => {
    for (let tries = 1; ; tries += 1) {
      const { settings, changed, tag, conflicts: found } = await merge(edited);
      if (found.some(({ id }) => !choices.has(id))) {
        setConflicts(found);
        return null;
      }
      try {
        await write(workspace.server, settings, changed, tag);
        return settings;
      } catch (problem) {
        if (!isChangedMeanwhile(problem) || tries === MOST_TRIES) throw problem;
      }
    }
  };
  return {
    /** Null until it was read. */
    draft,
    loadError,
    /** Why it could not be saved, until it is tried again; null where it could. */
    saveError: saving.error,
    busy: saving.busy,
    dirty: draft !== null && !isSame(draft.base, draft.now),
    /** True where the server's settings have changed since the edit began. */
    meanwhile,
    change: (now: T) => {
      forget();
      store.set({ base: draft?.base ?? now, now });
    },
    /** Begins anew with a copy, other than before though equal, so that fields forget what was typed. */
    discard: () => {
      saving.forget();
      const base = structuredClone(draft?.base);
      if (base !== undefined) begin(base, base);
    },
    /** Fields that were changed on the server, too: nothing is saved before each is chosen for. */
    conflicts,
    choices,
    choose: (conflict: string, side: Side) => setChoices(new Map([...choices, [conflict, side]])),
    /** Says that a field waits for a choice. */
    undecided: conflicts.some(({ id }) => !choices.has(id)),
    save: () =>
      saving.run(async () => {
        if (draft === null) return;
        const { now } = draft;
        const written = await writeMerged(draft).catch((problem: unknown) => {
          note(workspace, event, false, { n: count(now) });
          throw problem;
        });
        if (written === null) return;
        note(workspace, event, true, { n: count(written) });
        const known = store.get();
        // An edit that was made meanwhile stays one.
        const isUntouched = known === null || known.now === now || known.now === known.base;
        if (isUntouched) begin(written, written);
        else begin(now, known.now);
        say('good', saved);
      }),
  };
}
