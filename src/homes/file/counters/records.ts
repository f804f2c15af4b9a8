import type { KeptCounters } from '../../../core/keys/types.js';
import type { Base, Source } from './posted-counters.js';
import type { Renewal } from './recreated-keys.js';
import type { KnownRun } from './source-run.js';

/** One thing that a store holds or that happened to it. */
export type StoreRecord =
  | { readonly kind: 'counters'; readonly counters: KeptCounters }
  | { readonly kind: 'dropped'; readonly accessKey: string }
  /** A create that a crash may undo; it stands until it is settled. */
  | { readonly kind: 'renewing'; readonly renewal: Renewal }
  | { readonly kind: 'settled'; readonly accessKey: string }
  | { readonly kind: 'report'; readonly id: string }
  /** All remembered reports are forgotten. */
  | { readonly kind: 'noReports' }
  /** A source that posts its counters; its bases stay. */
  | { readonly kind: 'source'; readonly source: Source }
  | { readonly kind: 'base'; readonly base: Base }
  | { readonly kind: 'sourceForgotten'; readonly name: string }
  /** The last record of a whole state, with the number of the others. */
  | { readonly kind: 'end'; readonly records: number };

const REGISTERED = 1;
const DEPARTED = 2;
const DROPPED = 3;
const REPORT = 4;
const NO_REPORTS = 5;
const END = 6;
const RENEWING = 7;
const SETTLED = 8;
const SOURCE = 9;
const BASE = 10;
const SOURCE_FORGOTTEN = 11;

/** Flags of a renewal. */
const APPLIED = 1;
const HAS_BEFORE = 2;

/** Flags of a source. */
const BEGUN = 1;
const BASELINE = 2;
const TOTAL = 4;
const BY_UPTIME = 8;
const HAS_COMPARED_FROM = 16;

/** The flag of a text that stands as UTF-16 units, not as one byte each. */
const WIDE = 1;
const MOST_NARROW = 0x7f;
/** Tag, lengths of two names, and as many numbers and times as any record has. */
const MOST_BESIDES_NAME = 1 + 2 * 4 + 7 * 8;

export type RecordWriter = ReturnType<typeof createRecordWriter>;

const FIRST_CAPACITY = 4096;

/** Collects records as bytes. Names keep their exact UTF-16 units, lone surrogates too. */
export function createRecordWriter() {
  let bytes = new Uint8Array(FIRST_CAPACITY);
  let view = new DataView(bytes.buffer);
  let at = 0;
  let records = 0;

  function begin(tag: number, nameLength: number): void {
    const needed = at + MOST_BESIDES_NAME + 2 * nameLength;
    if (needed > bytes.length) {
      const wider = new Uint8Array(Math.max(2 * bytes.length, needed));
      wider.set(bytes.subarray(0, at));
      bytes = wider;
      view = new DataView(bytes.buffer);
    }
    bytes[at] = tag;
    at += 1;
    records += 1;
  }

  /** A loop: for the length of a key it is faster than a call into the runtime. */
  function text(value: string): void {
    const header = at;
    const { length } = value;
    at += 4;
    for (let i = 0; i < length; i += 1) {
      const unit = value.charCodeAt(i);
      if (unit > MOST_NARROW) {
        wideText(value, header);
        return;
      }
      bytes[at + i] = unit;
    }
    view.setUint32(header, length * 2, true);
    at += length;
  }

  function wideText(value: string, header: number): void {
    view.setUint32(header, value.length * 2 + WIDE, true);
    for (let i = 0; i < value.length; i += 1) view.setUint16(at + 2 * i, value.charCodeAt(i), true);
    at += 2 * value.length;
  }

  function number(value: bigint): void {
    view.setBigUint64(at, value, true);
    at += 8;
  }

  function time(value: number): void {
    view.setFloat64(at, value, true);
    at += 8;
  }

  function counters({ accessKey, bytesUp, bytesDown, connections, createdAt, leftAt }: KeptCounters): void {
    begin(leftAt === null ? REGISTERED : DEPARTED, accessKey.length);
    text(accessKey);
    number(bytesUp);
    number(bytesDown);
    number(connections);
    time(createdAt);
    if (leftAt !== null) time(leftAt);
  }

  return {
    counters,
    dropped(accessKey: string): void {
      begin(DROPPED, accessKey.length);
      text(accessKey);
    },
    renewing({ accessKey, records: old, before, isApplied }: Renewal): void {
      begin(
        RENEWING,
        old.reduce((sum, record) => sum + record.length + 4, accessKey.length),
      );
      text(accessKey);
      number(BigInt((isApplied ? APPLIED : 0) + (before === null ? 0 : HAS_BEFORE)));
      number(BigInt(old.length));
      for (const record of old) text(record);
      // Its own kind says whether it had left; it is no record of its own.
      if (before !== null) {
        counters(before);
        records -= 1;
      }
    },
    settled(accessKey: string): void {
      begin(SETTLED, accessKey.length);
      text(accessKey);
    },
    report(id: string): void {
      begin(REPORT, id.length);
      text(id);
    },
    noReports: (): void => begin(NO_REPORTS, 0),
    source({ name, run, number: last, isBegun, isBaseline, connections, postedAt, runs, comparedFrom }: Source): void {
      begin(SOURCE, name.length);
      text(name);
      const flags = (isBegun ? BEGUN : 0) + (isBaseline ? BASELINE : 0) + (connections === 'total' ? TOTAL : 0);
      const further = (run.kind === 'uptime' ? BY_UPTIME : 0) + (comparedFrom === runs ? 0 : HAS_COMPARED_FROM);
      number(BigInt(flags + further));
      number(run.kind === 'epoch' ? run.epoch : run.uptimeSeconds);
      time(run.kind === 'epoch' ? 0 : run.startedAt);
      number(last);
      time(postedAt);
      time(runs);
      if (comparedFrom !== runs) time(comparedFrom);
    },
    base({ source, accessKey, bytesUp, bytesDown, connections, runs }: Base): void {
      begin(BASE, source.length + accessKey.length);
      text(source);
      text(accessKey);
      number(bytesUp);
      number(bytesDown);
      number(connections);
      time(runs);
    },
    sourceForgotten(name: string): void {
      begin(SOURCE_FORGOTTEN, name.length);
      text(name);
    },
    end(): void {
      const others = BigInt(records);
      begin(END, 0);
      number(others);
    },
    /** Bytes written since the last `take`. */
    get length(): number {
      return at;
    },
    /** Records written since the writer was made. */
    get records(): number {
      return records;
    },
    /** The bytes since the last `take`; they stay untouched. */
    take(): Buffer {
      const taken = Buffer.from(bytes.buffer, 0, at);
      bytes = new Uint8Array(FIRST_CAPACITY);
      view = new DataView(bytes.buffer);
      at = 0;
      return taken;
    },
  };
}

/** Reads records one after the other. Throws a `RangeError` for other bytes: they were checked before. */
export function readRecords(bytes: Buffer, each: (record: StoreRecord) => void): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;

  function text(): string {
    const header = view.getUint32(at, true);
    const isWide = header % 2 === WIDE;
    const start = at + 4;
    at = start + (isWide ? header - WIDE : header / 2);
    if (at > bytes.length) throw new RangeError('a text goes beyond its batch');
    return bytes.toString(isWide ? 'utf16le' : 'latin1', start, at);
  }

  function number(): bigint {
    at += 8;
    return view.getBigUint64(at - 8, true);
  }

  function time(): number {
    at += 8;
    return view.getFloat64(at - 8, true);
  }

  function counters(isDeparted: boolean): KeptCounters {
    const accessKey = text();
    const bytesUp = number();
    const bytesDown = number();
    const connections = number();
    const createdAt = time();
    return { accessKey, bytesUp, bytesDown, connections, createdAt, leftAt: isDeparted ? time() : null };
  }

  function renewal(): Renewal {
    const accessKey = text();
    const flags = Number(number());
    const records = Array.from({ length: Number(number()) }, text);
    const hasBefore = flags >= HAS_BEFORE;
    return {
      accessKey,
      records,
      before: hasBefore ? counters(tag() === DEPARTED) : null,
      isApplied: flags % 2 === APPLIED,
    };
  }

  function source(): Source {
    const name = text();
    const flags = Number(number());
    const told = number();
    const startedAt = time();
    const run: KnownRun =
      (flags & BY_UPTIME) === 0 ? { kind: 'epoch', epoch: told } : { kind: 'uptime', startedAt, uptimeSeconds: told };
    const last = number();
    const [postedAt, runs] = [time(), time()];
    return {
      name,
      run,
      number: last,
      isBegun: (flags & BEGUN) !== 0,
      isBaseline: (flags & BASELINE) !== 0,
      connections: (flags & TOTAL) === 0 ? 'present' : 'total',
      postedAt,
      runs,
      comparedFrom: (flags & HAS_COMPARED_FROM) === 0 ? runs : time(),
    };
  }

  function base(): Base {
    const [name, accessKey] = [text(), text()];
    const [bytesUp, bytesDown, connections] = [number(), number(), number()];
    return { source: name, accessKey, bytesUp, bytesDown, connections, runs: time() };
  }

  function tag(): number | undefined {
    at += 1;
    return bytes[at - 1];
  }

  while (at < bytes.length) {
    const kind = tag();
    if (kind === REGISTERED || kind === DEPARTED) each({ kind: 'counters', counters: counters(kind === DEPARTED) });
    else if (kind === DROPPED) each({ kind: 'dropped', accessKey: text() });
    else if (kind === RENEWING) each({ kind: 'renewing', renewal: renewal() });
    else if (kind === SETTLED) each({ kind: 'settled', accessKey: text() });
    else if (kind === REPORT) each({ kind: 'report', id: text() });
    else if (kind === NO_REPORTS) each({ kind: 'noReports' });
    else if (kind === SOURCE) each({ kind: 'source', source: source() });
    else if (kind === BASE) each({ kind: 'base', base: base() });
    else if (kind === SOURCE_FORGOTTEN) each({ kind: 'sourceForgotten', name: text() });
    else if (kind === END) each({ kind: 'end', records: Number(number()) });
    else throw new RangeError(`a record of the unknown kind ${kind}`);
  }
}
