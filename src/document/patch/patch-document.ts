import type { ConfigurationFingerprint, ConfigurationPatch } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { ServerConfiguration } from '../../core/model.js';
import { Pace, type Steps } from '../../core/steps.js';
import { JsonSyntaxError } from '../../wire/json/scanner.js';
import { type Outline, outlineSteps } from '../change.js';
import { type ConfigurationDocument, ConfigurationShapeError, readDocumentSteps, readRootSteps } from '../document.js';
import { splicedSteps } from '../key-changes.js';
import type { KeyList } from '../key-list.js';
import { applySplicesSteps, grownBy, MovedOffsets, type Splice, sortSplices } from '../splice.js';
import { editSteps } from './edit.js';
import { fingerprintSteps, valueFingerprintSteps } from './fingerprint.js';
import { readPatchSteps, tooMuch, useKeys } from './patch.js';
import { documentValueSteps } from './value.js';

export interface PatchedDocument {
  /** The same document where the patch changes nothing. */
  readonly document: ConfigurationDocument;
  /** All of it but its keys, which are those of before. */
  readonly configuration: Omit<ServerConfiguration, 'keys'>;
  readonly fingerprint: ConfigurationFingerprint;
}

/**
 * Makes a patch by the smallest edit of a document's bytes; its lists of keys stay as they are. Throws what the patch's
 * condition throws, `invalidBody` for a patch that is none, `conflict` where it does not fit the configuration, `useKeys`,
 * and `configModeMissing` or `configFormatFailed` for what the configuration would become.
 */
export function* patchDocumentSteps(
  document: ConfigurationDocument,
  patch: ConfigurationPatch,
): Steps<PatchedDocument> {
  const pace = new Pace();
  const change = yield* readPatchSteps(patch, pace);
  const outline = yield* outlineSteps(document);
  const root = yield* readRootSteps(outline.bytes, 'tree');
  const before = yield* documentValueSteps(outline, root, pace);
  const present = yield* valueFingerprintSteps(before, pace);
  patch.condition(present);
  const growth = { copied: 0, bytes: patch.body.length };
  const after = yield* change(before, growth);
  if (after.kind !== 'object') throw new DomainError('configFormatFailed', 'a configuration is a JSON object');
  if (!after.members.has('mode')) throw new DomainError('configModeMissing');
  const splices = sortSplices(yield* editSteps(outline.bytes, root, after, growth.bytes, pace));
  if (splices.length === 0) {
    const { configuration } = yield* readDocumentSteps(outline.bytes);
    return { document, configuration, fingerprint: present };
  }
  if (document.bytes.length + grownBy(splices) > FILE_LIMITS.configuration) throw tooMuch();
  const edited = yield* readSteps(yield* applySplicesSteps(outline.bytes, splices));
  if (!keepsLists(document, outline, splices, edited.document))
    throw useKeys('takes a list of keys away, or brings one');
  const changed = yield* splicedSteps(document, splices.map(outline.inDocument), []);
  const { hasHome, keyPlaces, members } = edited.document;
  const hasSameLists = edited.document.lists.length === document.lists.length && hasHome === document.hasHome;
  return {
    document: hasSameLists ? { ...changed, keyPlaces, members } : (yield* readDocumentSteps(changed.bytes)).document,
    configuration: edited.configuration,
    fingerprint: yield* fingerprintSteps(edited.document, pace),
  };
}

function* readSteps(bytes: Buffer): ReturnType<typeof readDocumentSteps> {
  try {
    return yield* readDocumentSteps(bytes);
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof ConfigurationShapeError)
      throw new DomainError('configFormatFailed', error.message);
    throw error;
  }
}

/** Tells whether the lists of keys are those that there were, each still read as before, with nothing in those that are new. */
function keepsLists(
  before: ConfigurationDocument,
  { lists }: Outline,
  splices: readonly Splice[],
  after: ConfigurationDocument,
): boolean {
  const moved = MovedOffsets.bySplices(splices);
  const opens = new Set(after.lists.map(({ open }) => open));
  const legacyList = after.legacyList?.list;
  const isKept = ([open, list]: readonly [number, KeyList]): boolean => {
    // A splice that ends behind the bracket must begin there, too.
    if ((splices[moved.count(open)]?.from ?? Number.POSITIVE_INFINITY) <= open) return false;
    const at = moved.after(open);
    return list === before.legacyList?.list ? at === legacyList?.open : opens.has(at);
  };
  return (
    before.layout === after.layout &&
    [...lists].every(isKept) &&
    [...after.lists, ...(legacyList === undefined ? [] : [legacyList])].every(({ starts }) => starts.length === 0)
  );
}
