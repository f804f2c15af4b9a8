import type { Room } from '../../core/keys/spare-room.js';
import type { ConfigurationChange } from '../../core/model.js';
import type { RootListBeside } from '../../wire/traits/file-reading.js';
import { followInRootList } from './beside-inbounds.js';
import { type ConfigurationDocument, readRoot } from './document.js';
import { changeKeys, spliced } from './key-changes.js';
import { changeDns, changeRules } from './section-changes.js';
import type { Shape } from './tree.js';

/** What a change of rules or DNS settings looks at: anything but keys. */
const SECTIONS_SHAPE: Shape = { members: { outbound: 'tree', outbounds: 'tree', routing: 'tree', dns: 'tree' } };

/**
 * The document with a change made, every byte that it need not touch as it was; the same document when nothing differs.
 * Keys first, then rules, then DNS. Throws `ConfigurationShapeError`, naming the place, when the file cannot hold the
 * change: a place for keys that is no array, outbound routing that is not configured, an action that no outbound serves.
 * A change of keys alone is put into `room`, which must not be the document's own. Where the servers of the file read a root
 * list `beside` its inbounds, that follows.
 */
export function changeDocument(
  document: ConfigurationDocument,
  change: ConfigurationChange,
  room?: Room,
  beside: RootListBeside | null = null,
): ConfigurationDocument {
  const { keys, rules, dns } = change;
  let changed = document;
  if (keys !== undefined && keys.size > 0) {
    changed = changeKeys(document, keys, room);
    if (beside !== null) changed = followInRootList(changed, keys, beside);
  }
  if (rules !== undefined) {
    changed = spliced(changed, changeRules(changed, readRoot(changed.bytes, SECTIONS_SHAPE), rules), []);
  }
  if (dns !== undefined) {
    changed = spliced(changed, changeDns(changed, readRoot(changed.bytes, SECTIONS_SHAPE), dns), []);
  }
  return changed;
}
