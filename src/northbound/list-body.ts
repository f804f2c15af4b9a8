import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Allocate, createBufferReuse } from '../core/buffer-reuse.js';
import type { KeyEntry, KeyReader } from '../core/keys/types.js';
import type { MaybeAsync } from '../core/maybe-async.js';
import type { ClockPort } from '../core/ports.js';
import type { Revision } from '../wire/traits/revision.js';

/** Milliseconds for which a list may lack what the data plane reported (design: "What lists must reach"). */
const USAGE_DELAY = 200;

export type ContentCoding = 'br' | 'gzip';

export type ListBody = ReturnType<typeof createListBody>;

const OPENING = Buffer.from('{"ok":true,"data":');
const EMPTY = Buffer.from('{"ok":true,"data":[]}');
const COMMA = 0x2c;
const BRACKET = 0x5b;

/** Compresses a body fast, by coding. */
export const compressors: Readonly<Record<ContentCoding, (body: Buffer) => Promise<Buffer>>> = {
  gzip: (body) => promisify(gzip)(body, { level: 1 }),
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};

/** Builds the `GET /users` answer of one revision, kept between requests and rebuilt only where keys changed. */
export function createListBody(keys: KeyReader, traits: Pick<Revision, 'snapshot' | 'online'>, clock: ClockPort) {
  const buffers = createBufferReuse();
  const lent = new Map<Buffer, number>();
  let layout = NOTHING;
  let before = NOTHING;
  let tagged: MaybeAsync<string> | null = null;
  let compressing: Partial<Record<ContentCoding, Promise<Buffer>>> = {};
  let builtFor = -1;
  let builtAt = 0;

  function isFresh(): boolean {
    if (builtFor === keys.generation) return true;
    return builtFor >= keys.answeredGeneration && clock.monotonic() - builtAt < USAGE_DELAY;
  }

  function build(): void {
    const generation = keys.generation;
    const render = (key: KeyEntry) => `,${traits.snapshot.encode(key, traits.online.isOnline(key.counters))}`;
    const next = layOut(
      keys.ordered(),
      { present: layout, at: builtFor, spare: before, allocate: buffers.allocate },
      render,
    );
    before = layout;
    layout = next;
    if (!lent.has(before.body)) buffers.retire(before.body);
    compressing = {};
    tagged = null;
    builtFor = generation;
    builtAt = clock.monotonic();
  }

  /** Returns the list with every change answered before the call; counters from the data plane may be 200 ms older. */
  function read(): Buffer {
    if (!isFresh()) build();
    const { body } = layout;
    lent.set(body, (lent.get(body) ?? 0) + 1);
    return body;
  }

  /** Releases the bytes of a `read`, at most once for each: they may be overwritten afterwards. */
  function giveBack(body: Buffer): void {
    const readers = (lent.get(body) ?? 0) - 1;
    if (readers > 0) {
      lent.set(body, readers);
      return;
    }
    lent.delete(body);
    if (body !== layout.body) buffers.retire(body);
  }

  return {
    read,
    giveBack,
    /** Returns the entity tag of what `read` and `compressed` return in the same turn of the event loop. */
    tag(): MaybeAsync<string> {
      const body = read();
      tagged ??= bodyTag(body);
      const isDigested = () => giveBack(body);
      if (typeof tagged === 'string') isDigested();
      else tagged.then(isDigested, isDigested);
      return tagged;
    },
    /** Returns the list compressed, which is done once per change. */
    compressed(coding: ContentCoding): Promise<Buffer> {
      const body = read();
      compressing[coding] ??= compressors[coding](body);
      const compressed = compressing[coding];
      const isRead = () => giveBack(body);
      compressed.then(isRead, isRead);
      return compressed;
    },
  };
}

/** Bytes that are digested in one turn of the event loop: about a millisecond. */
const DIGESTED_AT_ONCE = 1 << 20;

/** Returns a weak entity tag (RFC 9110, 8.8.3) of these bytes, whichever coding they are sent in. */
function bodyTag(body: Buffer): MaybeAsync<string> {
  const hash = createHash('sha256');
  const end = () => `W/"${hash.digest('base64url').slice(0, 22)}"`;
  if (body.length <= DIGESTED_AT_ONCE) {
    hash.update(body);
    return end();
  }
  return (async () => {
    for (let at = 0; at < body.length; at += DIGESTED_AT_ONCE) {
      hash.update(body.subarray(at, at + DIGESTED_AT_ONCE));
      await nextTurn();
    }
    return end();
  })();
}

/** Slots that are reserved for new keys. */
const SPARE_SLOTS = 1024;

/** A body, and the place of each key's fragment (with its leading comma) in it, by slot. */
interface Layout {
  readonly body: Buffer;
  readonly starts: Float64Array;
  readonly lengths: Uint32Array;
  /** The slot of the first fragment, whose comma is overwritten; -1 in an empty list. */
  readonly first: number;
}

const NOTHING: Layout = { body: EMPTY, starts: new Float64Array(0), lengths: new Uint32Array(0), first: -1 };

/** The state that a new layout starts from. */
interface Earlier {
  readonly present: Layout;
  /** The generation that it was built for. */
  readonly at: number;
  /** An older layout, whose numbers are no longer needed. */
  readonly spare: Layout;
  readonly allocate: Allocate;
}

/**
 * Lays out the list again. Fragments of unchanged keys are copied from the previous layout, whole runs of neighbours at
 * once, because rendering and joining 100,000 snapshots is what makes a list slow.
 */
function layOut(
  ordered: readonly KeyEntry[],
  { present: before, at: beforeAt, spare, allocate }: Earlier,
  render: (key: KeyEntry) => string,
): Layout {
  const first = ordered[0];
  if (first === undefined) return NOTHING;
  const slots = ordered.reduce((most, { slot }) => Math.max(most, slot + 1), 0);
  const fits = spare.lengths.length >= slots;
  const starts = fits ? spare.starts : new Float64Array(slots + SPARE_SLOTS);
  const lengths = fits ? spare.lengths : new Uint32Array(slots + SPARE_SLOTS);
  const rendered = createArena();
  let end = OPENING.length;
  /** The place of the fragment whose comma is overwritten in the present layout. */
  let withoutComma = -1;
  for (const key of ordered) {
    if (key.slot === before.first) withoutComma = end;
    const changed = key.changedAt > beforeAt;
    const length = changed ? rendered.append(render(key)) : (before.lengths[key.slot] ?? 0);
    starts[key.slot] = end;
    lengths[key.slot] = length;
    end += length;
  }
  const body = allocate(end + 2);
  const run = createRun(body, OPENING.copy(body));
  for (const { slot, changedAt } of ordered) {
    const length = lengths[slot] ?? 0;
    if (changedAt > beforeAt) rendered.take(length, run.add);
    else run.add(before.body, before.starts[slot] ?? 0, length);
  }
  run.flush();
  if (withoutComma >= 0) body[withoutComma] = COMMA;
  body[OPENING.length] = BRACKET;
  body.write(']}', end);
  return { body, starts, lengths, first: first.slot };
}

/** Bytes that are allocated first, for a few changed keys, and then each time more are needed. */
const FIRST_PAGE = 64 * 1024;
const PAGE = 1024 * 1024;

/**
 * Stores texts as bytes one after the other and hands them out in the same order. A buffer for each text would cost
 * more than the texts, and one growing buffer for all would leave more garbage than it holds.
 */
function createArena() {
  const pages: { readonly bytes: Buffer; end: number }[] = [];
  let reading = 0;
  let from = 0;
  return {
    /** Returns the length of the text in bytes. */
    append(text: string): number {
      const most = text.length * 3;
      let page = pages.at(-1);
      if (page === undefined || page.end + most > page.bytes.length) {
        const size = pages.length === 0 ? FIRST_PAGE : PAGE;
        page = { bytes: Buffer.allocUnsafeSlow(Math.max(size, most)), end: 0 };
        pages.push(page);
      }
      const length = page.bytes.write(text, page.end);
      page.end += length;
      return length;
    },
    /** Hands the next text, of `length` bytes, to `use`. */
    take(length: number, use: (bytes: Buffer, from: number, length: number) => void): void {
      if (from === pages[reading]?.end) {
        reading += 1;
        from = 0;
      }
      const page = pages[reading];
      if (page !== undefined) use(page.bytes, from, length);
      from += length;
    },
  };
}

/** Copies ranges to a target one after the other, adjacent ones of a source together. */
function createRun(target: Buffer, start: number) {
  let at = start;
  let source = target;
  let from = 0;
  let to = 0;
  const flush = () => {
    if (to > from) at += source.copy(target, at, from, to);
    from = to = 0;
  };
  return {
    flush,
    add(bytes: Buffer, first: number, length: number): void {
      if (bytes !== source || first !== to) {
        flush();
        source = bytes;
        from = first;
      }
      to = first + length;
    },
  };
}

/** In characters. Browsers send about 30; a stranger's 100,000 would occupy the event loop for a quarter of a second. */
const LONGEST_ACCEPTED = 1000;

/** Returns the coding to use for an `Accept-Encoding` value (RFC 9110, 12.5.3), or null for no coding. */
export function acceptedCoding(header: string | undefined): ContentCoding | null {
  if (header === undefined || header.length > LONGEST_ACCEPTED) return null;
  const accepted = header.split(',').flatMap((item) => {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [coding];
  });
  if (accepted.includes('br')) return 'br';
  return accepted.includes('gzip') ? 'gzip' : null;
}
