import type { ConfigurationFingerprint, ConfigurationPatch } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { ServerConfiguration } from '../../core/model.js';
import { mappedSteps, Pace, type Steps } from '../../core/steps.js';
import { JsonSyntaxError } from '../../wire/json/scanner.js';
import { type ConfigurationDocument, ConfigurationShapeError, readDocumentSteps, readRootSteps } from '../document.js';
import { editSteps, tooMuch } from '../edit.js';
import { splicedSteps } from '../key-changes.js';
import type { KeyList } from '../key-list.js';
import { type Outline, outlineSteps } from '../outline.js';
import { applySplicesSteps, grownBy, MovedOffsets, type Splice, sortSplicesSteps } from '../splice.js';
import { documentValueSteps } from '../value.js';
import { fingerprintSteps, valueFingerprintSteps } from './fingerprint.js';
import { readPatchSteps, useKeys } from './patch.js';

export interface PatchedDocument {
  /** The patched document; the same one if the patch changes nothing. */
  readonly document: ConfigurationDocument;
  /** The configuration without its keys, which do not change. */
  readonly configuration: Omit<ServerConfiguration, 'keys'>;
  readonly fingerprint: ConfigurationFingerprint;
}

/**
 * Applies a patch by the smallest edit of a document's bytes; its key lists stay as they are. Throws what the patch's
 * condition throws, `invalidBody` for a malformed patch, `conflict` for one that does not fit the configuration,
 * `useKeys`, and `configModeMissing` or `configFormatFailed` if the result would not be a usable configuration.
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
  const splices = yield* sortSplicesSteps(yield* editSteps(outline.bytes, root, after, growth.bytes, pace));
  if (splices.length === 0) {
    const { configuration } = yield* readDocumentSteps(outline.bytes);
    return { document, configuration, fingerprint: present };
  }
  if (document.bytes.length + grownBy(splices) > FILE_LIMITS.configuration) throw tooMuch();
  const edited = yield* readSteps(yield* applySplicesSteps(outline.bytes, splices));
  if (!(yield* keepsListsSteps(document, outline, splices, edited.document, pace)))
    throw useKeys('takes a list of keys away, or brings one');
  const changed = yield* splicedSteps(document, yield* mappedSteps(splices, outline.inDocument, pace), []);
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

/** Tells whether the lists of keys are the same as before, each still read in the same way, and new ones are empty. */
function* keepsListsSteps(
  before: ConfigurationDocument,
  { lists }: Outline,
  splices: readonly Splice[],
  after: ConfigurationDocument,
  pace: Pace,
): Steps<boolean> {
  const moved = yield* MovedOffsets.bySplicesSteps(splices, pace);
  const opens = new Set(after.lists.map(({ open }) => open));
  const legacyList = after.legacyList?.list;
  const isKept = ([open, list]: readonly [number, KeyList]): boolean => {
    // A splice that ends after the bracket must begin there, too.
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
