import { EDNS_DO, FLAG, HEADER_BYTES, OPCODE_MASK, RCODE, TYPE } from './message.js';
import type { Edns, Query, RefusedQuery } from './query.js';

/**
 * The records of an answer as they follow its question in the message. Names in them may point into the question, which
 * has the same length for every client that asks it. The OPT record is left out, because each client gets its own.
 */
export interface DnsAnswer {
  readonly rcode: number;
  readonly authoritative: boolean;
  /** True if the upstream validated it (RFC 4035 section 3.2.3). */
  readonly authenticated: boolean;
  readonly records: Buffer;
  readonly answers: number;
  readonly authorities: number;
  readonly additionals: number;
  /** The offsets of the TTLs in `records`. */
  readonly ttlOffsets: readonly number[];
  /** An extended error (RFC 8914) for clients with EDNS, or null. */
  readonly extendedError: number | null;
}

/** Extended error codes (RFC 8914 section 4). */
export const EXTENDED_ERROR = { blocked: 15, noReachableAuthority: 22 } as const;

/** The UDP payload of a client without EDNS (RFC 1035 section 2.3.4). */
const PLAIN_UDP_BYTES = 512;
const OPT_BYTES = 11;
const EXTENDED_ERROR_BYTES = 6;
const EXTENDED_ERROR_OPTION = 15;

/** Returns the most bytes for a client: over UDP what it announces, 512 to `mostUdpBytes`; over TCP what fits. */
export function replyLimit(edns: Edns | null, mostUdpBytes: number): number {
  return edns === null ? PLAIN_UDP_BYTES : Math.max(PLAIN_UDP_BYTES, Math.min(edns.udpBytes, mostUdpBytes));
}

/** The limits and the form of a client's reply. */
export interface ReplyForm {
  /** Seconds since the answer was made, subtracted from its TTLs. */
  readonly age: number;
  readonly limit: number;
  /** The UDP payload that Keyway accepts, announced in its OPT record. */
  readonly ownUdpBytes: number;
}

/** Returns the reply to a query. One beyond the limit has no records, and TC set (RFC 2181 section 9). */
export function writeReply(query: Query, answer: DnsAnswer, form: ReplyForm): Buffer {
  const { packet, questionEnd, edns } = query;
  const extended = edns === null ? null : answer.extendedError;
  const optBytes = edns === null ? 0 : OPT_BYTES + (extended === null ? 0 : EXTENDED_ERROR_BYTES);
  const truncated = questionEnd + answer.records.length + optBytes > form.limit;
  const recordsEnd = truncated ? questionEnd : questionEnd + answer.records.length;
  const reply = Buffer.allocUnsafe(recordsEnd + optBytes);
  packet.copy(reply, 0, 0, questionEnd);
  const asked = packet.readUInt16BE(2);
  reply.writeUInt16BE(replyFlags(asked, edns, answer) | (truncated ? FLAG.truncated : 0), 2);
  reply.writeUInt16BE(truncated ? 0 : answer.answers, 6);
  reply.writeUInt16BE(truncated ? 0 : answer.authorities, 8);
  reply.writeUInt16BE((truncated ? 0 : answer.additionals) + (edns === null ? 0 : 1), 10);
  if (!truncated) {
    answer.records.copy(reply, questionEnd);
    if (form.age > 0) ageRecords(reply, questionEnd, answer, form.age);
  }
  if (edns !== null) writeOpt(reply, recordsEnd, { edns, rcode: answer.rcode, extended, udpBytes: form.ownUdpBytes });
  return reply;
}

function replyFlags(asked: number, edns: Edns | null, answer: DnsAnswer): number {
  const wantsAuthentic = (asked & FLAG.authenticData) !== 0 || edns?.dnssecOk === true;
  return (
    FLAG.response |
    (asked & (FLAG.recursionDesired | FLAG.checkingDisabled)) |
    FLAG.recursionAvailable |
    (answer.authoritative ? FLAG.authoritative : 0) |
    (answer.authenticated && wantsAuthentic ? FLAG.authenticData : 0) |
    (answer.rcode & 0x0f)
  );
}

function ageRecords(reply: Buffer, start: number, answer: DnsAnswer, age: number): void {
  for (const offset of answer.ttlOffsets) {
    const ttl = reply.readUInt32BE(start + offset);
    reply.writeUInt32BE(ttl > age ? ttl - age : 0, start + offset);
  }
}

interface Opt {
  readonly edns: Edns;
  readonly rcode: number;
  readonly extended: number | null;
  readonly udpBytes: number;
}

function writeOpt(reply: Buffer, at: number, { edns, rcode, extended, udpBytes }: Opt): void {
  reply[at] = 0;
  reply.writeUInt16BE(TYPE.opt, at + 1);
  reply.writeUInt16BE(udpBytes, at + 3);
  reply[at + 5] = rcode >> 4;
  reply[at + 6] = 0;
  reply.writeUInt16BE(edns.dnssecOk ? EDNS_DO : 0, at + 7);
  reply.writeUInt16BE(extended === null ? 0 : EXTENDED_ERROR_BYTES, at + 9);
  if (extended === null) return;
  reply.writeUInt16BE(EXTENDED_ERROR_OPTION, at + 11);
  reply.writeUInt16BE(2, at + 13);
  reply.writeUInt16BE(extended, at + 15);
}

/** Returns the reply to a refused message: its header, and its question if that could be read. */
export function writeRefusal(refused: RefusedQuery, ownUdpBytes: number): Buffer {
  const { packet, rcode, edns } = refused;
  const questionEnd = refused.questionEnd ?? HEADER_BYTES;
  // BADVERS needs an OPT record.
  const reply = Buffer.alloc(questionEnd + (edns === null ? 0 : OPT_BYTES));
  packet.copy(reply, 0, 0, questionEnd);
  const kept = packet.readUInt16BE(2) & (OPCODE_MASK | FLAG.recursionDesired | FLAG.checkingDisabled);
  reply.writeUInt16BE(FLAG.response | FLAG.recursionAvailable | kept | (rcode & 0x0f), 2);
  reply.writeUInt16BE(refused.questionEnd === null ? 0 : 1, 4);
  reply.fill(0, 6, HEADER_BYTES);
  if (edns !== null) {
    reply.writeUInt16BE(1, 10);
    writeOpt(reply, questionEnd, { edns, rcode, extended: null, udpBytes: ownUdpBytes });
  }
  return reply;
}

/** Returns an answer without records, such as SERVFAIL. */
export function emptyAnswer(rcode: number, extendedError: number | null = null): DnsAnswer {
  return {
    rcode,
    authoritative: false,
    authenticated: false,
    records: Buffer.alloc(0),
    answers: 0,
    authorities: 0,
    additionals: 0,
    ttlOffsets: [],
    extendedError,
  };
}

/** The answer if nothing can be learnt from the upstream. */
export const UNREACHABLE: DnsAnswer = emptyAnswer(RCODE.servFail, EXTENDED_ERROR.noReachableAuthority);
