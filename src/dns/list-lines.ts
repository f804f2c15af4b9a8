import { domainToASCII } from 'node:url';

/** Why a list cannot be used; one clause for the log. */
export class ListError extends Error {}

/** A sink for the names of a list: lower-case ASCII in `bytes` from 0 to `length`, which the caller uses again. */
export interface ListSink {
  block(bytes: Uint8Array, length: number): void;
  except(bytes: Uint8Array, length: number): void;
}

/** Longer lines name nothing; hosts files with several names a line stay far below. */
const MOST_LINE_BYTES = 16_384;
const MOST_NAME_BYTES = 253;

const BYTE = {
  tab: 0x09,
  lineFeed: 0x0a,
  return: 0x0d,
  blank: 0x20,
  bang: 0x21,
  hash: 0x23,
  dollar: 0x24,
  star: 0x2a,
  dot: 0x2e,
  colon: 0x3a,
  less: 0x3c,
  at: 0x40,
  bracket: 0x5b,
  caret: 0x5e,
  bar: 0x7c,
} as const;

/** Per byte what it becomes in a name: itself, its lower case, or 0 for what no name has. */
const NAME_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return byte < 128 && /[A-Za-z0-9_-]/.test(character) ? character.toLowerCase().charCodeAt(0) : 0;
});

/** Addresses that hosts lists give to names which shall lead nowhere. */
const NOWHERE = new Set(['0.0.0.0', '127.0.0.1', '0', '::', '::0', '::1', '0:0:0:0:0:0:0:0', '0:0:0:0:0:0:0:1']);

const UNSPECIFIED = Buffer.from('0.0.0.0');
const LOOPBACK = Buffer.from('127.0.0.1');

/** Names of the machine itself in hosts files. */
const OWN_NAMES = new Set(['localhost.localdomain', 'localhost.localdomain4', 'localhost.localdomain6']);

/**
 * Creates a reader of blocklists: hosts lines (`0.0.0.0 name …`), plain names, `||name^` rules and `@@||name^` exceptions,
 * one of them a line, in any mixture; comments (`#`, `!`, `[…]`), CRLF, a byte order mark, names in any script (RFC
 * 5891 by the URL standard's mapping). Every other line is passed over: rules for paths and page elements say
 * nothing about a name.
 */
export function createListReader(sink: ListSink) {
  const name = new Uint8Array(256);
  let carry: Buffer = Buffer.alloc(0);
  let overlong = false;
  let seenContent = false;
  let unsupported = 0;
  let taken = false;
  const taking = (take: ListSink['block']): ListSink['block'] => {
    return (bytes, length) => {
      taken = true;
      take(bytes, length);
    };
  };
  const block = taking(sink.block);
  const except = taking(sink.except);

  function push(chunk: Buffer): void {
    if (chunk.includes(0)) throw new ListError('it is binary, no text');
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(BYTE.lineFeed, start);
      if (end < 0) break;
      if (carry.length === 0 && !overlong) readLine(chunk, start, end);
      else finishLine(chunk.subarray(start, end));
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }

  /** A line that goes on in the next piece. */
  function keep(rest: Buffer): void {
    if (rest.length === 0 || overlong) return;
    overlong = carry.length + rest.length > MOST_LINE_BYTES;
    carry = overlong ? Buffer.alloc(0) : Buffer.concat([carry, rest]);
  }

  function finishLine(rest: Buffer): void {
    keep(rest);
    const line = carry;
    carry = Buffer.alloc(0);
    if (!overlong) readLine(line, 0, line.length);
    overlong = false;
  }

  function readLine(bytes: Buffer, from: number, to: number): void {
    let start = from;
    let end = to;
    if (!seenContent && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3;
    while (start < end && isBlank(bytes[start])) start += 1;
    while (end > start && isBlank(bytes[end - 1])) end -= 1;
    const first = bytes[start];
    if (start === end || first === undefined) return;
    if (!seenContent && first === BYTE.less) throw new ListError('it is a web page, no list');
    seenContent = true;
    if (first === BYTE.hash || first === BYTE.bang || first === BYTE.bracket || end - start > MOST_LINE_BYTES) return;
    taken = false;
    if (first === BYTE.bar) readRule(bytes, start, end, block);
    else if (first === BYTE.at && bytes[start + 1] === BYTE.at) readRule(bytes, start + 2, end, except);
    else readWords(bytes, start, end);
    if (!taken) unsupported += 1;
  }

  /** `||name^`, perhaps with an option that changes nothing about a name. */
  function readRule(bytes: Buffer, from: number, end: number, take: ListSink['block']): void {
    if (bytes[from] !== BYTE.bar || bytes[from + 1] !== BYTE.bar) return;
    const start = from + 2;
    let stop = start;
    while (stop < end && bytes[stop] !== BYTE.caret && bytes[stop] !== BYTE.dollar) stop += 1;
    const rest = bytes.toString('latin1', stop, end);
    if (!/^\^?\|?(\$(important|all))?$/.test(rest)) return;
    takeName(bytes, start, stop, { take, dots: 0 });
  }

  /** A hosts line or a plain name, with a comment behind a blank perhaps. */
  function readWords(bytes: Buffer, start: number, end: number): void {
    const wordEnd = endOfWord(bytes, start, end);
    let next = startOfWord(bytes, wordEnd, end);
    if (next === end || bytes[next] === BYTE.hash) {
      takeName(bytes, start, wordEnd, { take: block, dots: 1 });
      return;
    }
    if (!isNowhere(bytes, start, wordEnd)) return;
    while (next < end && bytes[next] !== BYTE.hash) {
      const stop = endOfWord(bytes, next, end);
      takeName(bytes, next, stop, { take: block, dots: 1 });
      next = startOfWord(bytes, stop, end);
    }
  }

  /** Takes what is a name with at least so many dots: in a list of words, no single one may block a whole domain. */
  function takeName(bytes: Buffer, from: number, to: number, { take, dots }: Taking): void {
    const start = bytes[from] === BYTE.star && bytes[from + 1] === BYTE.dot ? from + 2 : from;
    let length = copyName(bytes, start, to, name);
    if (length === NOT_ASCII) {
      const ascii = Buffer.from(domainToASCII(bytes.toString('utf8', start, to)), 'latin1');
      length = copyName(ascii, 0, ascii.length, name);
    }
    if (length <= 0 || countDots(name, length) < dots) return;
    if (name[0] === 0x6c && OWN_NAMES.has(Buffer.from(name.subarray(0, length)).toString('latin1'))) return;
    take(name, length);
  }

  return {
    push,
    end(): void {
      finishLine(Buffer.alloc(0));
    },
    /** Lines so far that say something else than names. */
    unsupported: (): number => unsupported,
  };
}

interface Taking {
  readonly take: ListSink['block'];
  readonly dots: number;
}

const NO_NAME = -1;
const NOT_ASCII = -2;

/** Copies a name in lower case without a dot at its end; its length, or a negative number when it is none. */
function copyName(bytes: Uint8Array, start: number, to: number, target: Uint8Array): number {
  const end = to > start && bytes[to - 1] === BYTE.dot ? to - 1 : to;
  const length = end - start;
  if (length === 0) return NO_NAME;
  let label = 0;
  let onlyDigits = true;
  for (let index = 0; index < length; index++) {
    const byte = bytes[start + index] ?? 0;
    if (byte > 127) return NOT_ASCII;
    if (index >= MOST_NAME_BYTES) return NO_NAME;
    if (byte === BYTE.dot) {
      if (label === 0) return NO_NAME;
      label = 0;
      onlyDigits = true;
      target[index] = byte;
      continue;
    }
    const lower = NAME_BYTES[byte] ?? 0;
    label += 1;
    if (lower === 0 || label > 63) return NO_NAME;
    if (lower > 0x39 || lower < 0x30) onlyDigits = false;
    target[index] = lower;
  }
  // No domain's last label is a number: that is an IPv4 address.
  return label === 0 || onlyDigits ? NO_NAME : length;
}

/** Tells whether an address leads nowhere. The usual two are compared without making a text, a million times in a list. */
function isNowhere(bytes: Buffer, start: number, end: number): boolean {
  if (isExactly(bytes, start, end, UNSPECIFIED) || isExactly(bytes, start, end, LOOPBACK)) return true;
  return end - start < 16 && NOWHERE.has(bytes.toString('latin1', start, end));
}

function isExactly(bytes: Buffer, start: number, end: number, wanted: Uint8Array): boolean {
  if (end - start !== wanted.length) return false;
  for (let index = 0; index < wanted.length; index++) if (bytes[start + index] !== wanted[index]) return false;
  return true;
}

function countDots(name: Uint8Array, length: number): number {
  let dots = 0;
  for (let index = 0; index < length; index++) if (name[index] === BYTE.dot) dots += 1;
  return dots;
}

function isBlank(byte: number | undefined): boolean {
  return byte === BYTE.blank || byte === BYTE.tab || byte === BYTE.return;
}

function endOfWord(bytes: Buffer, from: number, end: number): number {
  let position = from;
  while (position < end && !isBlank(bytes[position])) position += 1;
  return position;
}

function startOfWord(bytes: Buffer, from: number, end: number): number {
  let position = from;
  while (position < end && isBlank(bytes[position])) position += 1;
  return position;
}
