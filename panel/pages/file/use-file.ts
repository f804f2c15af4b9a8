import { useEffect, useState } from 'preact/hooks';
import { ApiFailure } from '../../api/failure.js';
import { useWords } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { watchDraft } from '../../state/drafts.js';
import { perWorkspace } from '../../state/per-workspace.js';
import type { Again } from '../../state/session.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { createStore, type Store, useStore } from '../../store/store.js';
import { type JsonNode, printTree } from '../../text/json-tree.js';
import { sha256 } from '../../text/sha256.js';
import { countAt, credentialsIn, placesIn, type Reading, readConfiguration, textFromAnswer } from './document.js';

/** The effect of saving on the page's own session. */
type CredentialChange =
  | 'none'
  /** The page signs in again by itself. */
  | 'signedInAgain'
  | 'signInAgain';

/** A review that is open: what the server has now, and what that means. */
export interface OpenReview {
  readonly before: string;
  readonly after: string;
  readonly changedMeanwhile: boolean;
  readonly keysGone: number;
  readonly credentials: CredentialChange;
}

/** The server's file as a page edits it. Nothing is saved before its difference was seen. */
export function useFile() {
  const words = useWords();
  const workspace = useWorkspace();
  const { server, session } = workspace;
  const store = fileDraftOf(workspace);
  const draft = useStore(store);
  const [error, setError] = useState<unknown>(null);
  const [review, setReview] = useState<OpenReview | null>(null);

  const fetchText = async () => textFromAnswer(await server.configText());
  /** Empty where the server cannot read its own file: then there is nothing to compare with, and all the more to restore. */
  const currentText = () =>
    fetchText().catch((problem: unknown) => {
      if (problem instanceof ApiFailure && problem.kind === 'refused') return '';
      throw problem;
    });
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

  const openWith = (current: string, known: FileDraft) =>
    setReview({
      before: current,
      after: textOfFile(known.now),
      changedMeanwhile: current !== textOfFile(known.base),
      keysGone: keysGone(readConfiguration(current), readingOf(known.now)),
      credentials: renewalFor(known).change,
    });
  const openReview = () =>
    attempt(async () => {
      const known = store.get();
      if (known === null) return;
      const current = await currentText();
      if (current === textOfFile(known.now)) {
        const content = { text: current };
        begin(content, content);
        say({ tone: 'plain', text: words('config.noChanges') });
      } else openWith(current, known);
    });
  const save = async () => {
    const known = store.get();
    if (known === null) return;
    const current = await currentText();
    if (current !== review?.before) {
      openWith(current, known);
      return;
    }
    const text = textOfFile(known.now);
    const { change, again } = renewalFor(known);
    try {
      if (change === 'none') await server.replaceConfig(text);
      else await session.replaceCredentials(() => server.replaceConfig(text), again);
    } catch (problem) {
      note(workspace, 'saveConfig', false);
      throw problem;
    }
    const edited = store.get();
    // An edit that was made meanwhile stays one.
    if (edited !== null && isDirty(edited) && edited.now !== known.now) patch({ base: known.now });
    else begin(known.now, known.now);
    note(workspace, 'saveConfig', true);
    setReview(null);
    say({ tone: 'good', text: words(again === null ? 'config.saved' : 'config.savedSignedIn') });
    void workspace.contact.now();
  };
  /** The credentials to sign in with after saving, as far as the page knows them. */
  function renewalFor(known: FileDraft): { readonly change: CredentialChange; readonly again: Again | null } {
    const state = session.state.get();
    const credential = state.phase === 'signedIn' ? state.credential : null;
    const [before, after] = [readingOf(known.base), readingOf(known.now)];
    if (!before.ok || !after.ok || credential === null) return { change: 'none', again: null };
    const [old, now] = [credentialsIn(before.tree), credentialsIn(after.tree)];
    const tokenChanged = old.token !== now.token;
    if (credential.kind === 'token') {
      if (!tokenChanged) return { change: 'none', again: null };
      return now.token === ''
        ? { change: 'signInAgain', again: null }
        : { change: 'signedInAgain', again: { kind: 'token', token: now.token } };
    }
    if (!tokenChanged && old.username === now.username && old.passwordHash === now.passwordHash) {
      return { change: 'none', again: null };
    }
    const { typed } = known.password;
    if (typed !== '' && now.passwordHash === sha256(typed)) {
      return { change: 'signedInAgain', again: { kind: 'password', username: now.username, password: typed } };
    }
    return { change: 'signInAgain', again: null };
  }

  return {
    /** Null until it was read. */
    draft,
    error,
    dirty: isDirty(draft),
    review,
    credentials: draft !== null && isDirty(draft) && 'tree' in draft.now ? renewalFor(draft).change : 'none',
    load,
    change: (tree: JsonNode) => patch({ now: { tree } }),
    type: (text: string) => {
      const base = store.get()?.base;
      patch({ now: base !== undefined && 'text' in base && base.text === text ? base : { text } });
    },
    patch,
    restore: (file: File) =>
      attempt(async () => {
        begin({ text: await currentText() }, { text: await file.text() });
        say({ tone: 'plain', text: words('config.restored', { file: file.name.slice(0, 80) }) });
      }),
    /** The file as the server has it. */
    fetchText,
    attempt,
    openReview,
    closeReview: () => setReview(null),
    /** Rejects when it could not be saved. */
    save,
  };
}

export type FileEditing = ReturnType<typeof useFile>;

/** Counts the keys that the new file has fewer. */
function keysGone(before: Reading, after: Reading): number {
  const count = (reading: Reading) => (reading.ok ? countAt(reading.tree, placesIn(reading.tree).keys) : 0);
  return Math.max(0, count(before) - count(after));
}

/** The file as it is typed, or as a form made it: either is turned into the other only where it is asked for. */
type Content = { readonly text: string } | { readonly tree: JsonNode };

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
const fileDraftOf = perWorkspace<Store<FileDraft | null>>(() => {
  const store = createStore<FileDraft | null>(null);
  watchDraft(() => isDirty(store.get()));
  return store;
});

function isDirty(draft: FileDraft | null): boolean {
  return draft !== null && draft.now !== draft.base;
}

const texts = new WeakMap<Content, string>();
const readings = new WeakMap<Content, Reading>();

/** Pretty-printed, or as it was typed. Made once. */
export function textOfFile(content: Content): string {
  if ('text' in content) return content.text;
  const known = texts.get(content);
  if (known !== undefined) return known;
  const text = `${printTree(content.tree)}\n`;
  texts.set(content, text);
  return text;
}

/** Reads the content as a configuration. Parsed once. */
export function readingOf(content: Content): Reading {
  if ('tree' in content) return { ok: true, tree: content.tree };
  const known = readings.get(content);
  if (known !== undefined) return known;
  const reading = readConfiguration(content.text);
  readings.set(content, reading);
  return reading;
}
