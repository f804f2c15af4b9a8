import { areSame, fieldChanges, patchBetween } from '../../text/field-changes.js';
import type { JsonNode } from '../../text/json-tree.js';
import { type Content, readingOf, textOfFile } from './content.js';
import { countKeys, countKeysGone, haveSameKeys, withKeysOf, withoutKeys } from './document.js';

/** The server's file as it is now. */
export interface PresentFile {
  /** The file without its lists of keys. Empty where the server cannot read its own: then there is nothing to compare with, and all the more to restore. */
  readonly content: { readonly text: string };
  /** All of it; null where the server cannot read it. */
  readonly whole: JsonNode | null;
  /** The tag to change its fields by; null where it can only be replaced as a whole. */
  readonly tag: string | null;
}

/** An edit of the file without its lists of keys. */
export interface Edit {
  readonly base: Content;
  readonly now: Content;
  /** A file whose keys are to take the place of the server's; null where those stay as they are. */
  readonly keysFrom: JsonNode | null;
}

/** The way an edit gets into the server's file, and what the file will be then. */
export interface SavePlan {
  /** The file without its keys. */
  readonly after: Content;
  /** The file at the beginning of the edit, where somebody else has changed it since; else null. */
  readonly overwrites: Content | null;
  /** The fields to change, by the file's tag; null where the file is replaced as a whole. */
  readonly fields: FieldsPlan | null;
  /** The file with its keys, for where it is replaced. */
  readonly whole: Content;
  /** The number of keys that the server has now and not afterwards. */
  readonly keysGone: number;
}

interface FieldsPlan {
  readonly tag: string;
  /** A JSON Patch; null where nothing is left to change. */
  readonly patch: string | null;
}

/**
 * Plans to change the fields that the file has otherwise, so that comments stay, and keys that are made meanwhile. Other keys, and an
 * edit of what holds them, replace the file, and so does every edit where the server has no way to change fields.
 */
export function planSave({ base, now, keysFrom }: Edit, { content, whole: present, tag }: PresentFile): SavePlan {
  const overwrites = textOfFile(base) === content.text ? null : base;
  const [from, to, at] = [readingOf(base), readingOf(now), readingOf(content)];
  if (!to.ok) return { after: now, overwrites, fields: null, whole: now, keysGone: 0 };
  const after = withoutKeys(to.tree);
  // Keys that were typed are meant.
  const given = countKeys(to.tree) > 0 ? to.tree : keysFrom;
  const keys = given ?? present;
  const whole = keys === null ? after : withKeysOf(after, keys);
  const keysGone = present === null ? 0 : countKeysGone(present, whole);
  const replaced = { after: { tree: after }, overwrites, fields: null, whole: { tree: whole }, keysGone };
  if (tag === null || present === null || !from.ok || !at.ok) return replaced;
  if (given !== null && !haveSameKeys(given, present)) return replaced;
  if (fieldChanges(at.tree, after).some(({ path }) => path.length === 1 && path[0] === 'inbounds')) return replaced;
  return {
    ...replaced,
    overwrites: areSame(from.tree, at.tree) ? null : base,
    fields: { tag, patch: patchBetween(at.tree, after) },
    keysGone: 0,
  };
}

/** Tells whether nothing would change. */
export function changesNothing({ after, whole, fields }: SavePlan, { content, whole: present }: PresentFile): boolean {
  if (fields !== null) return fields.patch === null;
  return present !== null && 'tree' in whole && textOfFile(after) === content.text && haveSameKeys(whole.tree, present);
}
