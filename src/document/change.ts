import type { Allocate } from '../core/buffer-reuse.js';
import type { ConfigurationChange } from '../core/model.js';
import { finish, type Steps } from '../core/steps.js';
import { type FileServer, neededOfDns, oldestReading } from '../wire/traits/server-file.js';
import { type ConfigurationDocument, namesOf, readRoot } from './document.js';
import { changeKeys, spliced } from './key-changes.js';
import type { KeyList } from './key-list.js';
import { changeDns, changeRules } from './section-changes.js';
import { applySplices, applySplicesSteps, MovedOffsets, type Splice, sortSplices } from './splice.js';
import { syncLegacyList } from './sync-legacy-list.js';
import type { ObjectNode, Shape } from './tree.js';

/** The parts of a file that a change of rules or DNS settings looks at: anything but keys. */
const SECTIONS_SHAPE: Shape = { members: { outbound: 'tree', outbounds: 'tree', routing: 'tree', dns: 'tree' } };

/**
 * The document with a change made, every byte that it need not touch as it was; the same document when nothing differs.
 * Keys first, then rules, then DNS. Throws `ConfigurationShapeError`, naming the place, when the file cannot hold the
 * change: a place for keys that is no array, outbound routing that is not configured, an action that no outbound serves.
 * A change of keys alone is put into memory that `allocate` gives, which must not be the document's own. With the servers that
 * read the file, a legacy key list follows as they read it, and DNS settings get every member that they need; without, it stays.
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
  if (rules !== undefined) changed = changeSections(changed, (outline, root) => changeRules(outline, root, rules));
  if (dns !== undefined)
    changed = changeSections(changed, (outline, root) => changeDns(outline, root, dns, neededOfDns(servers ?? [])));
  return changed;
}

/** Makes a change to what stands outside the key lists, which are not read for it: a million keys may stand in them. */
function changeSections(
  document: ConfigurationDocument,
  change: (outline: ConfigurationDocument, root: ObjectNode) => readonly Splice[],
): ConfigurationDocument {
  const { bytes, inDocument } = outlineOf(document);
  const splices = change({ ...document, bytes }, readRoot(bytes, SECTIONS_SHAPE));
  if (splices.length === 0) return document;
  const changed = spliced(document, splices.map(inDocument), []);
  return { ...changed, members: namesOf(readRoot(applySplices(bytes, sortSplices(splices)), SECTIONS_SHAPE)) };
}

/** A document without what its key lists hold. */
export interface Outline {
  readonly bytes: Buffer;
  /** The key lists, which are empty here, by their offset. */
  readonly lists: ReadonlyMap<number, KeyList>;
  /** The document's own bytes. */
  readonly document: Buffer;
  /** The same splice where it stands in the document. */
  inDocument(splice: Splice): Splice;
}

export function outlineOf(document: ConfigurationDocument): Outline {
  return finish(outlineSteps(document));
}

/** Does as `outlineOf`, in steps. */
export function* outlineSteps({ bytes, lists, legacyList }: ConfigurationDocument): Steps<Outline> {
  const cut = [...lists, ...(legacyList === null ? [] : [legacyList.list])].sort((one, other) => one.open - other.open);
  const contents = cut.map(({ open, close }) => ({ from: open + 1, to: close, text: NOTHING }));
  const without = MovedOffsets.bySplices(contents);
  const cuts = contents.map(({ from, to }) => ({ at: without.after(to) + 1, by: to - from }));
  const within = new MovedOffsets(cuts);
  return {
    bytes: yield* applySplicesSteps(bytes, contents),
    lists: new Map(cut.map((list) => [without.after(list.open), list])),
    document: bytes,
    inDocument: ({ from, to, text }) => ({ from: within.after(from), to: within.after(to), text }),
  };
}

const NOTHING = Buffer.alloc(0);
