import { watchDraft } from '../../state/drafts.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { createStore, type Store } from '../../store/store.js';
import { type JsonNode, printTree } from '../../text/json-tree.js';
import { type Reading, readConfiguration } from './document.js';

/** The file as it is typed, or as a form made it: either is turned into the other only where it is asked for. */
export type Content = { readonly text: string } | { readonly tree: JsonNode };

/** The server's file under edit, by whichever page. */
export interface FileDraft {
  /** As the server had it when the edit began. */
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

export const NO_PASSWORD: NewPassword = { typed: '', repeated: '' };

/** One draft for each server: rules, DNS settings and the rest are parts of the same file. */
export const fileDraftOf = perWorkspace<Store<FileDraft | null>>(() => {
  const store = createStore<FileDraft | null>(null);
  watchDraft(() => isDirty(store.get()));
  return store;
});

export function isDirty(draft: FileDraft | null): boolean {
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

/** What the content reads as. Parsed once. */
export function readingOf(content: Content): Reading {
  if ('tree' in content) return { ok: true, tree: content.tree };
  const known = readings.get(content);
  if (known !== undefined) return known;
  const reading = readConfiguration(content.text);
  readings.set(content, reading);
  return reading;
}
