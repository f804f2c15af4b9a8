import { isBare } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { type ConfigurationDocument, ROOT_SHAPE, readDocument, readRoot } from './document.js';
import { membersFor, membersOf } from './element.js';
import { putMember } from './section-changes.js';
import { removeItems } from './sequence.js';
import { applySplices, type Splice } from './splice.js';
import type { Rendered } from './style.js';

const NAME = 'access_keys';

/**
 * The document with these keys in its root list, as servers write it, or without such a list for null; the same document when
 * nothing differs. For a file with inbounds alone: in the other layout that list is where the keys are.
 */
export function replaceRootList(
  document: ConfigurationDocument,
  keys: readonly AccessKey[] | null,
): ConfigurationDocument {
  const root = readRoot(document.bytes, ROOT_SHAPE);
  const indexes = root.members.flatMap(({ name }, index) => (name === NAME ? [index] : []));
  const splices: readonly Splice[] =
    keys === null
      ? removeItems(document.bytes, membersOf(root), indexes)
      : putMember(document.bytes, root, NAME, keys.map(element));
  if (splices.length === 0) return document;
  const bytes = applySplices(document.bytes, splices);
  return bytes.equals(document.bytes) ? document : readDocument(bytes).document;
}

/** A string where the key is all there is to say. */
function element(record: AccessKey): Rendered {
  return isBare(record) ? record.accessKey : membersFor(record, 'access_key');
}
