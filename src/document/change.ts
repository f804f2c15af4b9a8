import type { Allocate } from '../core/buffer-reuse.js';
import type { ConfigurationChange } from '../core/model.js';
import { type FileServer, neededOfDns, oldestReading } from '../wire/traits/server-file.js';
import { type ConfigurationDocument, readRoot } from './document.js';
import { editsOf } from './edit.js';
import { changeKeys, spliced } from './key-changes.js';
import { outlineOf } from './outline.js';
import { withDns, withRules } from './section-changes.js';
import { syncLegacyList } from './sync-legacy-list.js';
import type { Shape } from './tree.js';
import { objectWith } from './value.js';

/** The parts of a file that a change of rules or DNS settings reads: everything except keys. */
const SECTIONS_SHAPE: Shape = { members: { outbound: 'tree', outbounds: 'tree', routing: 'tree', dns: 'tree' } };

/**
 * Returns the document with a change made and every other byte unchanged; the same document if nothing differs. Keys
 * come first, then rules, then DNS. Throws `ConfigurationShapeError`, naming the place, if the file cannot hold the
 * change: a place for keys that is not an array, outbound routing that is not configured, an action that no outbound
 * serves. A change of keys alone is written into memory from `allocate`, which must not be the document's own. Given
 * the servers that read the file, a legacy key list is updated in the way they read it, and DNS settings get every
 * member that they require; otherwise the list stays.
 */
export function changeDocument(
  document: ConfigurationDocument,
  change: ConfigurationChange,
  allocate?: Allocate,
  servers: readonly FileServer[] | null = null,
): ConfigurationDocument {
  const { keys, rules, dns } = change;
  let changed = document;
  if (keys !== undefined && keys.size > 0) {
    changed = changeKeys(document, keys, allocate);
    if (servers !== null) changed = syncLegacyList(changed, keys, oldestReading(servers));
  }
  return rules === undefined && dns === undefined ? changed : changeSections(changed, change, servers ?? []);
}

/** Makes a change outside the key lists, without reading those: they may contain a million keys. */
function changeSections(
  document: ConfigurationDocument,
  { rules, dns }: ConfigurationChange,
  servers: readonly FileServer[],
): ConfigurationDocument {
  const { bytes, inDocument } = outlineOf(document);
  const root = readRoot(bytes, SECTIONS_SHAPE);
  const outline = { ...document, bytes };
  const wanted = objectWith(root, [
    ...(rules === undefined ? [] : withRules(outline, root, rules)),
    ...(dns === undefined ? [] : withDns(outline, root, dns, neededOfDns(servers))),
  ]);
  const splices = editsOf(bytes, root, wanted);
  if (splices.length === 0) return document;
  return { ...spliced(document, splices.map(inDocument), []), members: new Set(wanted.members.keys()) };
}
