/** The DNS message in wire form (RFC 1035 section 4, RFC 6891), as far as a forwarder looks into it. */

export const HEADER_BYTES = 12;
export const MAX_MESSAGE_BYTES = 65_535;
/** RFC 1035 section 2.3.4. */
const MAX_NAME_BYTES = 255;
/** The most labels of a name, and so the most pointers that can be of use to one. */
const MOST_POINTERS = 127;

export const RCODE = { noError: 0, formErr: 1, servFail: 2, nxDomain: 3, notImp: 4, refused: 5, badVers: 16 } as const;
export const TYPE = {
  a: 1,
  ns: 2,
  cname: 5,
  soa: 6,
  ptr: 12,
  mx: 15,
  aaaa: 28,
  dname: 39,
  opt: 41,
  tkey: 249,
  tsig: 250,
  ixfr: 251,
  axfr: 252,
  mailb: 253,
  maila: 254,
  any: 255,
} as const;
export const CLASS_IN = 1;

/** Further types that are asked for (the registry of DNS parameters). */
const OTHER_TYPES: Readonly<Record<number, string>> = {
  16: 'TXT',
  33: 'SRV',
  35: 'NAPTR',
  43: 'DS',
  46: 'RRSIG',
  48: 'DNSKEY',
  52: 'TLSA',
  64: 'SVCB',
  65: 'HTTPS',
  257: 'CAA',
};
const TYPE_NAMES = new Map<number, string>(Object.entries(TYPE).map(([name, type]) => [type, name.toUpperCase()]));

/** Returns the name of a type, or its number if it has none (RFC 3597 section 5). */
export function typeName(type: number): string {
  return TYPE_NAMES.get(type) ?? OTHER_TYPES[type] ?? `TYPE${type}`;
}

/** Bits of the header's second word. */
export const FLAG = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
  recursionAvailable: 0x0080,
  authenticData: 0x0020,
  checkingDisabled: 0x0010,
} as const;
export const OPCODE_MASK = 0x7800;

/** The DO bit of an OPT record's flags (RFC 3225). */
export const EDNS_DO = 0x8000;

/**
 * Walks a name, following its compression pointers, and returns where its part at `offset` ends, or -1 if it is
 * malformed: it runs out of the message, is longer than 255 bytes, points anywhere but strictly back (which rules out
 * loops), or follows more pointers than a name has labels (which thousands of records could do at once).
 */
export function skipName(message: Uint8Array, offset: number): number {
  let position = offset;
  let lowest = offset;
  let end = -1;
  let length = 1;
  let pointers = 0;
  for (;;) {
    const size = message[position];
    if (size === undefined) return -1;
    if (size === 0) return end < 0 ? position + 1 : end;
    if (size >= 0xc0) {
      const low = message[position + 1];
      const target = ((size & 0x3f) << 8) | (low ?? 0);
      pointers += 1;
      if (low === undefined || target < HEADER_BYTES || target >= lowest || pointers > MOST_POINTERS) return -1;
      if (end < 0) end = position + 2;
      lowest = target;
      position = target;
    } else {
      length += size + 1;
      if (size > 63 || length > MAX_NAME_BYTES) return -1;
      position += size + 1;
    }
  }
}

/** The offsets of a resource record's parts in the message. */
export interface RecordPlace {
  readonly type: number;
  readonly klass: number;
  readonly ttlOffset: number;
  readonly dataOffset: number;
  readonly end: number;
}

/** Returns the record at an offset, or null if it does not fit into the message. */
export function readRecord(message: Buffer, offset: number): RecordPlace | null {
  const fixed = skipName(message, offset);
  if (fixed < 0 || fixed + 10 > message.length) return null;
  const dataOffset = fixed + 10;
  const end = dataOffset + message.readUInt16BE(fixed + 8);
  if (end > message.length) return null;
  return {
    type: message.readUInt16BE(fixed),
    klass: message.readUInt16BE(fixed + 2),
    ttlOffset: fixed + 4,
    dataOffset,
    end,
  };
}

/** Room for the longest name with every byte escaped. */
const scratch = Buffer.alloc(MAX_NAME_BYTES * 4);

const BYTE_DOT = 0x2e;
const BYTE_BACKSLASH = 0x5c;

/**
 * Returns the uncompressed name between two offsets of a message, in lower case, without a trailing dot; the root is
 * empty. Bytes other than visible ASCII, and dots and backslashes in a label, are escaped (RFC 4343 section 2.1), so
 * different names have different texts.
 */
export function nameText(message: Buffer, start: number): string {
  let position = start;
  let length = 0;
  for (;;) {
    const size = message[position] ?? 0;
    if (size === 0) return scratch.toString('latin1', 0, length);
    if (length > 0) scratch[length++] = BYTE_DOT;
    for (const last = position + size; position < last; ) {
      position += 1;
      length = writeByte(message[position] ?? 0, length);
    }
    position += 1;
  }
}

function writeByte(byte: number, at: number): number {
  if (byte > 0x40 && byte < 0x5b) {
    scratch[at] = byte | 0x20;
    return at + 1;
  }
  if (byte > 0x20 && byte < 0x7f && byte !== BYTE_DOT && byte !== BYTE_BACKSLASH) {
    scratch[at] = byte;
    return at + 1;
  }
  if (byte === BYTE_DOT || byte === BYTE_BACKSLASH) {
    scratch[at] = BYTE_BACKSLASH;
    scratch[at + 1] = byte;
    return at + 2;
  }
  return at + scratch.write(`\\${byte.toString().padStart(3, '0')}`, at, 'latin1');
}

/** Returns the bytes of a name without pointers; `skipName` must have accepted the name. */
export function wholeName(message: Buffer, offset: number): Buffer {
  const parts: Buffer[] = [];
  let position = offset;
  for (;;) {
    const size = message[position] ?? 0;
    if (size >= 0xc0) position = message.readUInt16BE(position) & 0x3fff;
    else {
      parts.push(message.subarray(position, position + size + 1));
      if (size === 0) return Buffer.concat(parts);
      position += size + 1;
    }
  }
}

/**
 * Returns the end of a question's uncompressed name, or -1. It is the first name of its message, so it cannot contain a
 * pointer.
 */
export function skipQuestionName(message: Uint8Array, offset: number): number {
  let position = offset;
  for (;;) {
    const size = message[position];
    if (size === undefined || size > 63) return -1;
    position += size + 1;
    if (position - offset > MAX_NAME_BYTES) return -1;
    if (size === 0) return position;
  }
}

/** The type and the class behind a question's name. */
const TYPE_AND_CLASS_BYTES = 4;

/**
 * Copies a question with the ASCII letters of its name in lower case (RFC 4343). Length bytes are below the letters;
 * the type is left alone, because that of HTTPS is an `A`.
 */
export function lowerCasedQuestion(question: Uint8Array): Buffer {
  const copy = Buffer.from(question);
  for (let index = 0; index < copy.length - TYPE_AND_CLASS_BYTES; index++) {
    const byte = copy[index] ?? 0;
    if (byte > 0x40 && byte < 0x5b) copy[index] = byte | 0x20;
  }
  return copy;
}

/** Tells whether a message asks this question, whose name is in lower case. */
export function hasQuestion(message: Buffer, question: Buffer): boolean {
  return lowerCasedQuestion(message.subarray(HEADER_BYTES, HEADER_BYTES + question.length)).equals(question);
}
