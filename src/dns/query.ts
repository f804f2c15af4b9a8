import {
  CLASS_IN,
  EDNS_DO,
  FLAG,
  HEADER_BYTES,
  nameText,
  OPCODE_MASK,
  RCODE,
  readRecord,
  skipQuestionName,
  TYPE,
} from './message.js';

/** A client's EDNS options (RFC 6891 section 6.1.2). */
export interface Edns {
  /** The UDP payload that it accepts, as sent. */
  readonly udpBytes: number;
  /** True if it wants DNSSEC records (RFC 3225). */
  readonly dnssecOk: boolean;
}

/** A query that can be answered. */
export interface Query {
  readonly kind: 'query';
  readonly packet: Buffer;
  /** The end of the question section in the packet; it begins after the header. */
  readonly questionEnd: number;
  /** In lower case, without a trailing dot; the root is empty. */
  readonly name: string;
  readonly type: number;
  readonly edns: Edns | null;
}

/** A message that is answered with a code only; `questionEnd` is where the question to repeat ends, or null. */
export interface RefusedQuery {
  readonly kind: 'refused';
  readonly packet: Buffer;
  readonly rcode: number;
  readonly questionEnd: number | null;
  readonly edns: Edns | null;
}

/** A message that must not be answered: too short for an id, or itself a response (answering those makes loops). */
export interface IgnoredMessage {
  readonly kind: 'ignored';
}

const IGNORED: IgnoredMessage = { kind: 'ignored' };

/**
 * Reads a client's message. Never throws. Refusals: FORMERR for anything malformed, for a number of questions other
 * than one (RFC 9619) and for records where a query has none; NOTIMP for other opcodes, classes and zone transfers;
 * BADVERS for an EDNS version other than 0 (RFC 6891 section 6.1.3).
 */
export function readQuery(packet: Buffer): Query | RefusedQuery | IgnoredMessage {
  if (packet.length < HEADER_BYTES) return IGNORED;
  const flags = packet.readUInt16BE(2);
  if ((flags & FLAG.response) !== 0) return IGNORED;
  if ((flags & OPCODE_MASK) !== 0) return refused(packet, RCODE.notImp);
  if (packet.readUInt16BE(4) !== 1) return refused(packet, RCODE.formErr);
  // A query has no answers, and an authority section only for IXFR, which is not supported.
  if (packet.readUInt16BE(6) !== 0) return refused(packet, RCODE.formErr);
  const nameEnd = skipQuestionName(packet, HEADER_BYTES);
  if (nameEnd < 0 || nameEnd + 4 > packet.length) return refused(packet, RCODE.formErr);
  const questionEnd = nameEnd + 4;
  const records = readRecords(packet, questionEnd);
  if (records === null) return refused(packet, RCODE.formErr);
  if (records.version !== 0) return refused(packet, RCODE.badVers, questionEnd, records.edns);
  const type = packet.readUInt16BE(nameEnd);
  const rcode = unserved(type, packet.readUInt16BE(nameEnd + 2));
  if (rcode !== null) return refused(packet, rcode, questionEnd, records.edns);
  return { kind: 'query', packet, questionEnd, name: nameText(packet, HEADER_BYTES), type, edns: records.edns };
}

function unserved(type: number, klass: number): number | null {
  if (type === 0 || type === TYPE.opt) return RCODE.formErr;
  if (klass !== CLASS_IN) return RCODE.notImp;
  return type >= TYPE.tkey && type < TYPE.any ? RCODE.notImp : null;
}

function refused(
  packet: Buffer,
  rcode: number,
  questionEnd: number | null = null,
  edns: Edns | null = null,
): RefusedQuery {
  return { kind: 'refused', packet, rcode, questionEnd, edns };
}

/** Reads the records after the question: only an OPT matters. Null if malformed, or for two OPTs. */
function readRecords(packet: Buffer, start: number): { readonly edns: Edns | null; readonly version: number } | null {
  const authorities = packet.readUInt16BE(8);
  const count = authorities + packet.readUInt16BE(10);
  let edns: Edns | null = null;
  let version = 0;
  let offset = start;
  for (let index = 0; index < count; index++) {
    const record = readRecord(packet, offset);
    if (record === null) return null;
    if (record.type === TYPE.opt) {
      // An OPT record is owned by the root, and occurs once, in the additional section (RFC 6891 section 6.1.1).
      if (edns !== null || packet[offset] !== 0 || index < authorities) return null;
      edns = { udpBytes: record.klass, dnssecOk: (packet.readUInt16BE(record.ttlOffset + 2) & EDNS_DO) !== 0 };
      version = packet.readUInt8(record.ttlOffset + 1);
    }
    offset = record.end;
  }
  return offset === packet.length ? { edns, version } : null;
}

/** Returns the same question about another name, which must come from `domainName`; id and header stay the same. */
export function queryFor({ packet, type, edns }: Query, name: string): Query {
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  const end = Buffer.alloc(5);
  end.writeUInt16BE(type, 1);
  end.writeUInt16BE(CLASS_IN, 3);
  const asked = Buffer.concat([packet.subarray(0, HEADER_BYTES), ...labels, end]);
  return { kind: 'query', packet: asked, questionEnd: asked.length, name, type, edns };
}
