import { type Choices, type Conflict, fieldChanges, mergeFields, patchBetween } from '../../text/field-changes.js';
import { type Content, readingOf, textOfFile } from './content.js';
import { haveSameKeys, withoutKeys } from './document.js';

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
  /** The fields to change, by the file's tag; null where the file is replaced as a whole. */
  readonly fields: FieldsPlan | null;
}

interface FieldsPlan {
  readonly tag: string;
  /** A JSON Patch; null where nothing is left to change. */
  readonly patch: string | null;
  readonly conflicts: readonly Conflict[];
}

/**
 * Plans to change what the edit changed, and nothing else. An edit of keys, or of what holds them, replaces the file, and so
 * does every edit where the server has no way to change fields.
 */
export function planSave(
  { base, now }: { readonly base: Content; readonly now: Content },
  present: PresentFile,
  choices: Choices,
): SavePlan {
  const whole = { after: now, fields: null };
  const [from, to, at] = [readingOf(base), readingOf(now), readingOf(present.content)];
  if (present.tag === null || !from.ok || !to.ok || !at.ok || !haveSameKeys(from.tree, to.tree)) return whole;
  const [before, after] = [withoutKeys(from.tree), withoutKeys(to.tree)];
  if (fieldChanges(before, after).some(({ path }) => path.length === 1 && path[0] === 'inbounds')) return whole;
  const { merged, conflicts } = mergeFields(before, after, at.tree, choices);
  const patch = patchBetween(at.tree, merged);
  return { after: { tree: merged }, fields: { tag: present.tag, patch, conflicts } };
}

/** Tells whether nothing would change. */
export function changesNothing({ after, fields }: SavePlan, present: PresentFile): boolean {
  return fields === null
    ? textOfFile(after) === present.content.text
    : fields.patch === null && fields.conflicts.length === 0;
}

/** Tells whether a field waits for the choice of its value. */
export function waitsForChoice({ fields }: SavePlan, choices: Choices): boolean {
  return fields?.conflicts.some(({ id }) => !choices.has(id)) === true;
}
