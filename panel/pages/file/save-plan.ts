import { areSame, fieldChanges, patchBetween } from '../../text/field-changes.js';
import { type Content, readingOf, textOfFile } from './content.js';
import { haveSameKeys, withKeysOf } from './document.js';

/** The server's file as it is now. */
export interface PresentFile {
  /** Empty where the server cannot read its own file: then there is nothing to compare with, and all the more to restore. */
  readonly content: { readonly text: string };
  /** The tag to change its fields by; null where it can only be replaced as a whole. */
  readonly tag: string | null;
}

/** The way an edit gets into the server's file, and what the file will be then. */
export interface SavePlan {
  readonly after: Content;
  /** The file at the beginning of the edit, where somebody else has changed it since; else null. */
  readonly overwrites: Content | null;
  /** The fields to change, by the file's tag; null where the file is replaced as a whole. */
  readonly fields: FieldsPlan | null;
}

interface FieldsPlan {
  readonly tag: string;
  /** A JSON Patch; null where nothing is left to change. */
  readonly patch: string | null;
}

/**
 * Plans to change the fields that the file has otherwise, so that comments and keys stay. An edit of keys, or of what holds them,
 * replaces the file, and so does every edit where the server has no way to change fields.
 */
export function planSave(
  { base, now }: { readonly base: Content; readonly now: Content },
  { content, tag }: PresentFile,
): SavePlan {
  const overwrites = textOfFile(base) === content.text ? null : base;
  const whole = { after: now, overwrites, fields: null };
  const [from, to, at] = [readingOf(base), readingOf(now), readingOf(content)];
  if (tag === null || !from.ok || !to.ok || !at.ok || !haveSameKeys(from.tree, to.tree)) return whole;
  const [before, after] = [withKeysOf(from.tree, at.tree), withKeysOf(to.tree, at.tree)];
  if (fieldChanges(at.tree, after).some(({ path }) => path.length === 1 && path[0] === 'inbounds')) return whole;
  return {
    after: { tree: after },
    overwrites: areSame(before, at.tree) ? null : { tree: before },
    fields: { tag, patch: patchBetween(at.tree, after) },
  };
}

/** Tells whether nothing would change. */
export function changesNothing({ after, fields }: SavePlan, { content }: PresentFile): boolean {
  return fields === null ? textOfFile(after) === content.text : fields.patch === null;
}
