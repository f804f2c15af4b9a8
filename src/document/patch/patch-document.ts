import type { ConfigurationFingerprint, ConfigurationPatch } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { FILE_LIMITS, limitWords } from '../../core/file-limits.js';
import type { ServerConfiguration } from '../../core/model.js';
import { JsonSyntaxError } from '../../wire/json/scanner.js';
import { outlineOf } from '../change.js';
import { type ConfigurationDocument, ConfigurationShapeError, readDocument, readRoot } from '../document.js';
import { spliced } from '../key-changes.js';
import { applySplices, type Splice, sortSplices } from '../splice.js';
import { editTo } from './edit.js';
import { fingerprintOfValue } from './fingerprint.js';
import { readPatch, useKeys } from './patch.js';
import { valueAt } from './value.js';

export interface PatchedDocument {
  /** The same document where the patch changes nothing. */
  readonly document: ConfigurationDocument;
  /** All of it but its keys, which are those of before. */
  readonly configuration: Omit<ServerConfiguration, 'keys'>;
  readonly fingerprint: ConfigurationFingerprint;
}

/**
 * The document with a patch made by the smallest edit of its bytes; its lists of keys stay as they are. Throws what the
 * patch's condition throws, `invalidBody` for a patch that is none, `conflict` where it does not fit the
 * configuration, `useKeys`, and `configModeMissing` or `configFormatFailed` for what the configuration would become.
 */
export function patchDocument(document: ConfigurationDocument, patch: ConfigurationPatch): PatchedDocument {
  const change = readPatch(patch);
  const outline = outlineOf(document);
  const before = valueAt(outline.bytes, readRoot(outline.bytes, 'tree'), new Set(outline.lists));
  const present = fingerprintOfValue(before);
  patch.condition(present);
  const after = change(before);
  if (after.kind !== 'object') throw new DomainError('configFormatFailed', 'a configuration is a JSON object');
  if (!after.members.has('mode')) throw new DomainError('configModeMissing');
  const splices = sortSplices(editTo(outline.bytes, after));
  if (splices.length === 0) {
    return { document, configuration: readDocument(outline.bytes).configuration, fingerprint: present };
  }
  const edited = read(applySplices(outline.bytes, splices));
  if (!keepsLists(readDocument(outline.bytes).document, splices, edited.document))
    throw useKeys('takes a list of keys away, or brings one');
  const changed = spliced(document, splices.map(outline.inDocument), []);
  if (changed.bytes.length > FILE_LIMITS.configuration) {
    throw new DomainError('configFormatFailed', `it would have more than ${limitWords(FILE_LIMITS.configuration)}`);
  }
  const { hasHome, keyPlaces, members } = edited.document;
  const hasSameLists = edited.document.lists.length === document.lists.length && hasHome === document.hasHome;
  return {
    document: hasSameLists ? { ...changed, keyPlaces, members } : readDocument(changed.bytes).document,
    configuration: edited.configuration,
    fingerprint: fingerprintIn(edited.document),
  };
}

function fingerprintIn(document: ConfigurationDocument): ConfigurationFingerprint {
  const { bytes, lists } = outlineOf(document);
  return fingerprintOfValue(valueAt(bytes, readRoot(bytes, 'tree'), new Set(lists)));
}

function read(bytes: Buffer): ReturnType<typeof readDocument> {
  try {
    return readDocument(bytes);
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof ConfigurationShapeError)
      throw new DomainError('configFormatFailed', error.message);
    throw error;
  }
}

/** Tells whether the lists of keys are those that there were, each still read as before, with nothing in those that are new. */
function keepsLists(before: ConfigurationDocument, splices: readonly Splice[], after: ConfigurationDocument): boolean {
  const opens = new Set(after.lists.map(({ open }) => open));
  const { legacyList } = before;
  return (
    before.layout === after.layout &&
    before.lists.every(({ open }) => opens.has(movedBy(splices, open))) &&
    (legacyList === null || movedBy(splices, legacyList.list.open) === after.legacyList?.list.open) &&
    [...after.lists, ...(after.legacyList === null ? [] : [after.legacyList.list])].every(
      ({ starts }) => starts.length === 0,
    )
  );
}

/** The offset afterwards; none where a splice covers it. */
function movedBy(splices: readonly Splice[], offset: number): number {
  return splices.reduce((at, { from, to, text }) => {
    if (to <= offset) return at + text.length - (to - from);
    return from > offset ? at : Number.NaN;
  }, offset);
}
