import { domainToASCII } from 'node:url';

/** Why a list cannot be used; one clause for the log. */
export class ListError extends Error {}

/** The names of a list as far as it was read, in lower-case ASCII. */
export interface NamesRead {
  readonly blocked: Set<string>;
  readonly excepted: Set<string>;
}

/** Longer lines name nothing; hosts files with several names a line stay far below. */
const MOST_LINE_BYTES = 16_384;

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

/** Labels of at most 63 characters, 253 in all. No domain's last label is a number: that is an IPv4 address. */
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)*(?!\d+$)[a-z0-9_-]{1,63}$/;
/** Characters of a name in any script. */
const ANY_SCRIPT = /^[\w.\u0080-\uffff-]+$/;

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
export function createListReader({ blocked, excepted }: NamesRead) {
  let carry: Buffer = Buffer.alloc(0);
  let overlong = false;
  let seenContent = false;
  let unsupported = 0;
  let taken = false;

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
    if (first === BYTE.bar) readRule(bytes, start, end, blocked);
    else if (first === BYTE.at && bytes[start + 1] === BYTE.at) readRule(bytes, start + 2, end, excepted);
    else readWords(bytes, start, end);
    if (!taken) unsupported += 1;
  }

  /** `||name^`, perhaps with an option that changes nothing about a name. */
  function readRule(bytes: Buffer, from: number, end: number, names: Set<string>): void {
    if (bytes[from] !== BYTE.bar || bytes[from + 1] !== BYTE.bar) return;
    const start = from + 2;
    let stop = start;
    while (stop < end && bytes[stop] !== BYTE.caret && bytes[stop] !== BYTE.dollar) stop += 1;
    const rest = bytes.toString('latin1', stop, end);
    if (!/^\^?\|?(\$(important|all))?$/.test(rest)) return;
    takeName(bytes, start, stop, { names, dots: 0 });
  }

  /** A hosts line or a plain name, with a comment behind a blank perhaps. */
  function readWords(bytes: Buffer, start: number, end: number): void {
    const wordEnd = endOfWord(bytes, start, end);
    let next = startOfWord(bytes, wordEnd, end);
    if (next === end || bytes[next] === BYTE.hash) {
      takeName(bytes, start, wordEnd, { names: blocked, dots: 1 });
      return;
    }
    if (!isNowhere(bytes, start, wordEnd)) return;
    while (next < end && bytes[next] !== BYTE.hash) {
      const stop = endOfWord(bytes, next, end);
      takeName(bytes, next, stop, { names: blocked, dots: 1 });
      next = startOfWord(bytes, stop, end);
    }
  }

  /** Takes what is a name with at least so many dots: in a list of words, no single one may block a whole domain. */
  function takeName(bytes: Buffer, from: number, to: number, { names, dots }: Taking): void {
    const name = nameIn(bytes, from, to);
    if (name === null || OWN_NAMES.has(name) || (dots > 0 && !name.includes('.'))) return;
    taken = true;
    names.add(name);
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
  readonly names: Set<string>;
  readonly dots: 0 | 1;
}

/** The name in these bytes, in lower-case ASCII, without `*.` before it and a dot at its end; null when it is none. */
function nameIn(bytes: Buffer, from: number, to: number): string | null {
  const start = bytes[from] === BYTE.star && bytes[from + 1] === BYTE.dot ? from + 2 : from;
  const text = bytes.toString('utf8', start, to).toLowerCase();
  const name = withoutLastDot(text);
  if (NAME.test(name)) return name;
  // The conversion would leave out what stands behind a `/` or a `#`.
  const ascii = ANY_SCRIPT.test(text) ? withoutLastDot(domainToASCII(text)) : '';
  return NAME.test(ascii) ? ascii : null;
}

function withoutLastDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** Tells whether an address leads nowhere. The usual two are compared without making a text, for every line of a list. */
function isNowhere(bytes: Buffer, start: number, end: number): boolean {
  if (isExactly(bytes, start, end, UNSPECIFIED) || isExactly(bytes, start, end, LOOPBACK)) return true;
  return end - start < 16 && NOWHERE.has(bytes.toString('latin1', start, end));
}

function isExactly(bytes: Buffer, start: number, end: number, wanted: Uint8Array): boolean {
  if (end - start !== wanted.length) return false;
  for (let index = 0; index < wanted.length; index++) if (bytes[start + index] !== wanted[index]) return false;
  return true;
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
