import { hashOfBytes } from './name-hash.js';

export type NameSet = ReturnType<typeof createNameSet>;

/**
 * Names go into pages, each as its length and its bytes; tables with open addressing find them. A slot has a name's
 * position and, beside it, its hash, so that a slot of another name is passed without a look at the pages. There are
 * 256 tables, chosen by the hash, because a table that grows moves all it has: of a million names that would hold up the
 * event loop for a tenth of a second, of some thousands it does not show.
 */
const CODE_DOT = 0x2e;
const SHARDS = 256;
const PAGE_BITS = 18;
const PAGE_BYTES = 1 << PAGE_BITS;
const FIRST_SLOTS = 8;

interface Shard {
  /** Position and hash of each name in turn; position 0 is a free slot. */
  slots: Uint32Array;
  count: number;
}

/** Creates an empty set to be filled. The seed makes hashes unforeseeable to who writes lists. */
export function createNameSetBuilder(seed: number) {
  const pages: Uint8Array[] = [];
  const shards: Shard[] = Array.from({ length: SHARDS }, () => ({ slots: new Uint32Array(FIRST_SLOTS * 2), count: 0 }));
  let used = PAGE_BYTES;
  let size = 0;
  let leastDots = Number.POSITIVE_INFINITY;

  function store(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (used + length + 1 > PAGE_BYTES) {
      pages.push(new Uint8Array(PAGE_BYTES));
      // Position 0 means a free slot, so the first page starts at 1.
      used = pages.length === 1 ? 1 : 0;
    }
    const page = pages[pages.length - 1] ?? new Uint8Array(0);
    const position = (pages.length - 1) * PAGE_BYTES + used;
    page[used] = length;
    for (let index = 0; index < length; index++) page[used + 1 + index] = bytes[start + index] ?? 0;
    used += length + 1;
    return position;
  }

  function grow(shard: Shard): void {
    const slots = new Uint32Array(shard.slots.length * 2);
    for (let slot = 0; slot < shard.slots.length; slot += 2) {
      const position = shard.slots[slot] ?? 0;
      if (position !== 0) fill(slots, position, shard.slots[slot + 1] ?? 0);
    }
    shard.slots = slots;
  }

  return {
    /** Adds the name in these bytes (ASCII in lower case, at most 255 bytes). Nothing happens when it is there already. */
    add(bytes: Uint8Array, start: number, end: number): void {
      const hash = hashOfBytes(seed, bytes, start, end);
      const shard = shards[hash >>> 24];
      if (shard === undefined || holds(pages, shard.slots, { hash, bytes, start, end })) return;
      if ((shard.count + 1) * 3 > shard.slots.length) grow(shard);
      fill(shard.slots, store(bytes, start, end), hash);
      shard.count += 1;
      size += 1;
      leastDots = Math.min(leastDots, countDots(bytes, start, end));
    },
    get size() {
      return size;
    },
    finish: (): NameSet => createNameSet({ pages, shards: shards.map(({ slots }) => slots), size, leastDots }),
  };
}

/** Puts a name into the first free slot from where its hash points. */
function fill(slots: Uint32Array, position: number, hash: number): void {
  const mask = slots.length - 1;
  let slot = (hash * 2) & mask;
  while (slots[slot] !== 0) slot = (slot + 2) & mask;
  slots[slot] = position;
  slots[slot + 1] = hash;
}

interface Wanted {
  readonly hash: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

function holds(pages: readonly Uint8Array[], slots: Uint32Array, { hash, bytes, start, end }: Wanted): boolean {
  const mask = slots.length - 1;
  const length = end - start;
  for (let slot = (hash * 2) & mask; ; slot = (slot + 2) & mask) {
    const position = slots[slot] ?? 0;
    if (position === 0) return false;
    if (slots[slot + 1] !== hash) continue;
    const page = pages[position >>> PAGE_BITS] ?? bytes;
    const at = position & (PAGE_BYTES - 1);
    if (page[at] !== length) continue;
    let index = 0;
    while (index < length && page[at + 1 + index] === bytes[start + index]) index += 1;
    if (index === length) return true;
  }
}

interface SetContent {
  readonly pages: readonly Uint8Array[];
  readonly shards: readonly Uint32Array[];
  readonly size: number;
  readonly leastDots: number;
}

/** A set of names, exact, in flat memory: about 40 bytes a name, none of it on the heap of the language. */
function createNameSet({ pages, shards, size, leastDots }: SetContent) {
  const bytes =
    pages.reduce((sum, page) => sum + page.byteLength, 0) + shards.reduce((sum, slots) => sum + slots.byteLength, 0);
  const nothing = new Uint32Array(2);
  const noPage = new Uint8Array(0);
  return {
    size,
    /** Bytes that it holds in memory. */
    bytes,
    /** No name in it has fewer dots: shorter ones need not be looked for. */
    leastDots,
    /** Tells whether the rest of `name` from `start` is in the set; `hash` is that rest's hash under the set's seed. */
    has(name: string, start: number, hash: number): boolean {
      const slots = shards[hash >>> 24] ?? nothing;
      const mask = slots.length - 1;
      const length = name.length - start;
      for (let slot = (hash * 2) & mask; ; slot = (slot + 2) & mask) {
        const position = slots[slot] ?? 0;
        if (position === 0) return false;
        if (slots[slot + 1] !== hash) continue;
        const page = pages[position >>> PAGE_BITS] ?? noPage;
        const at = position & (PAGE_BYTES - 1);
        if (page[at] !== length) continue;
        let index = 0;
        while (index < length && page[at + 1 + index] === name.charCodeAt(start + index)) index += 1;
        if (index === length) return true;
      }
    },
  };
}

function countDots(bytes: Uint8Array, start: number, end: number): number {
  let dots = 0;
  for (let index = start; index < end; index++) if (bytes[index] === CODE_DOT) dots += 1;
  return dots;
}
