import type { UsageEntry } from '../core/keys/types.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS_ONE = -1;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const BLANK = 0x20;
const FIRST_BEYOND_ASCII = 0x80;
/** The most digits that always fit into a double. */
const SAFE_DIGITS = 15;

const KEY = Buffer.from('"access_key"');
const UP = Buffer.from('"bytes_up"');
const DOWN = Buffer.from('"bytes_down"');
const CONNECTIONS = Buffer.from('"connections"');

export function createQuickEntries() {
  let at = 0;

  /** Tells whether the name stands here; then goes behind its colon. */
  function name(bytes: Buffer, wanted: Buffer): boolean {
    for (let i = 0; i < wanted.length; i += 1) if (bytes[at + i] !== wanted[i]) return false;
    let next = at + wanted.length;
    if (bytes[next] !== COLON) return false;
    next += 1;
    if (bytes[next] === BLANK) next += 1;
    at = next;
    return true;
  }

  function text(bytes: Buffer): string | null {
    if (bytes[at] !== QUOTE) return null;
    const start = at + 1;
    let end = start;
    for (let byte = bytes[end]; byte !== QUOTE; byte = bytes[end]) {
      if (byte === undefined || byte < BLANK || byte >= FIRST_BEYOND_ASCII || byte === BACKSLASH) return null;
      end += 1;
    }
    at = end + 1;
    return end > start ? bytes.toString('latin1', start, end) : null;
  }

  /** -1 when none of the kind stands here. */
  function number(bytes: Buffer): number {
    const start = at;
    let value = 0;
    let byte = bytes[at] ?? 0;
    while (byte >= ZERO && byte <= NINE) {
      value = value * 10 + byte - ZERO;
      at += 1;
      byte = bytes[at] ?? 0;
    }
    const digits = at - start;
    const isSpelledWell = digits === 1 || bytes[start] !== ZERO;
    // A `.` or `e`, which may not follow a number, is no `,` and no `}` either.
    return digits >= 1 && digits <= SAFE_DIGITS && isSpelledWell ? value : MINUS_ONE;
  }

  function read(bytes: Buffer, start: number): UsageEntry | null {
    let accessKey: string | null = null;
    let up = MINUS_ONE;
    let down = MINUS_ONE;
    let connections = MINUS_ONE;
    if (bytes[start] !== OPEN) return null;
    at = start + 1;
    for (;;) {
      if (accessKey === null && name(bytes, KEY)) {
        accessKey = text(bytes);
        if (accessKey === null) return null;
      } else if (up < 0 && name(bytes, UP)) {
        up = number(bytes);
        if (up < 0) return null;
      } else if (down < 0 && name(bytes, DOWN)) {
        down = number(bytes);
        if (down < 0) return null;
      } else if (connections < 0 && name(bytes, CONNECTIONS)) {
        connections = number(bytes);
        if (connections < 0) return null;
      } else return null;
      if (bytes[at] === CLOSE) break;
      if (bytes[at] !== COMMA) return null;
      at += bytes[at + 1] === BLANK ? 2 : 1;
    }
    if (accessKey === null || up < 0 || down < 0) return null;
    at += 1;
    return {
      accessKey,
      bytesUp: BigInt(up),
      bytesDown: BigInt(down),
      connections: connections < 0 ? null : BigInt(connections),
    };
  }

  return {
    /** The entry that begins here, or null when none of this kind does. */
    read,
    /** The end of the entry that was read last, exclusive. */
    get end() {
      return at;
    },
  };
}
