import { finish, type Steps } from '../core/steps.js';
import type { ConfigurationDocument } from './document.js';
import type { KeyList } from './key-list.js';
import { applySplicesSteps, MovedOffsets, type Splice } from './splice.js';

/** A document without the content of its key lists. */
export interface Outline {
  readonly bytes: Buffer;
  /** The key lists by their offset, all of them empty here. */
  readonly lists: ReadonlyMap<number, KeyList>;
  /** The document's own bytes. */
  readonly document: Buffer;
  /** Translates a splice to its place in the document. */
  inDocument(splice: Splice): Splice;
}

export function outlineOf(document: ConfigurationDocument): Outline {
  return finish(outlineSteps(document));
}

/** Does what `outlineOf` does, in steps. */
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
