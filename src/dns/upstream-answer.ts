import {
  FLAG,
  HEADER_BYTES,
  hasQuestion,
  OPCODE_MASK,
  RCODE,
  type RecordPlace,
  readRecord,
  skipName,
  TYPE,
} from './message.js';
import { type DnsAnswer, UNREACHABLE } from './reply.js';

/** An upstream's answer and the seconds for which it may be kept; 0 forbids that. */
export interface UpstreamAnswer {
  readonly answer: DnsAnswer;
  readonly ttl: number;
}

/** Why an upstream's message does not answer the question; one clause for the log. */
export class UnusableAnswer extends Error {}

/** A negative answer is kept for at most three hours (RFC 2308 section 5), a positive one for a day. */
const MOST_NEGATIVE_SECONDS = 10_800;
const MOST_POSITIVE_SECONDS = 86_400;
/** A failure is kept briefly, so that repeated questions do not hammer the upstream (RFC 9520 section 3.2). */
export const FAILURE_SECONDS = 1;

/**
 * Reads an upstream's message as the answer to `question` (its wire bytes, the name in lower case). `age` is how many
 * seconds an HTTP cache had it (RFC 8484 section 5.1). Throws `UnusableAnswer` for another id or question, for a query,
 * a truncated or malformed message: none of it may reach a client or the cache.
 */
export function readUpstreamAnswer(message: Buffer, question: Buffer, age: number): UpstreamAnswer {
  checkHeader(message);
  checkQuestion(message, question);
  const start = HEADER_BYTES + question.length;
  const found = readSections(message, start);
  const headerCode = message.readUInt16BE(2) & 0x0f;
  const rcode = found.extendedCode !== 0 || headerCode === RCODE.formErr ? RCODE.servFail : headerCode;
  // Records of a failure are of no use, and their names might point into a question that the client has not asked.
  if (rcode === RCODE.servFail) return { answer: UNREACHABLE, ttl: FAILURE_SECONDS };
  const records = Buffer.from(message.subarray(start, found.end));
  const ttlOffsets = found.ttlOffsets.map((offset) => offset - start);
  const lowest = ageTtls(records, ttlOffsets, age);
  const answers = message.readUInt16BE(6);
  const answer: DnsAnswer = {
    rcode,
    authoritative: false,
    authenticated: (message.readUInt16BE(2) & FLAG.authenticData) !== 0,
    records,
    answers,
    authorities: message.readUInt16BE(8),
    additionals: found.additionals,
    ttlOffsets,
    extendedError: null,
  };
  return { answer, ttl: keptFor({ rcode, answers, lowest, age, negative: found.negativeSeconds }) };
}

function checkHeader(message: Buffer): void {
  if (message.length < HEADER_BYTES) throw new UnusableAnswer('its answer is shorter than a DNS header');
  const flags = message.readUInt16BE(2);
  if (message.readUInt16BE(0) !== 0) throw new UnusableAnswer('its answer has another id');
  if ((flags & FLAG.response) === 0) throw new UnusableAnswer('its answer is a query');
  if ((flags & OPCODE_MASK) !== 0) throw new UnusableAnswer('its answer has another opcode');
  if ((flags & FLAG.truncated) !== 0) throw new UnusableAnswer('its answer is truncated');
}

function checkQuestion(message: Buffer, question: Buffer): void {
  if (message.readUInt16BE(4) !== 1 || message.length < HEADER_BYTES + question.length)
    throw new UnusableAnswer('its answer has no question');
  if (!hasQuestion(message, question)) throw new UnusableAnswer('its answer is for another question');
}

interface Sections {
  /** The end of the records to keep: an OPT record, or after the last. */
  readonly end: number;
  readonly additionals: number;
  readonly ttlOffsets: readonly number[];
  /** The upper bits of the code (RFC 6891 section 6.1.3). */
  readonly extendedCode: number;
  /** The time that the SOA of a negative answer allows (RFC 2308 section 5), else null. */
  readonly negativeSeconds: number | null;
}

function readSections(message: Buffer, start: number): Sections {
  const answers = message.readUInt16BE(6);
  const direct = answers + message.readUInt16BE(8);
  const count = direct + message.readUInt16BE(10);
  const ttlOffsets: number[] = [];
  let opt: { readonly at: number; readonly index: number; readonly code: number } | null = null;
  let negativeSeconds: number | null = null;
  let offset = start;
  for (let index = 0; index < count; index++) {
    const record = readRecord(message, offset);
    if (record === null || !isSound(message, record)) throw new UnusableAnswer('its answer is malformed');
    if (record.type === TYPE.opt) {
      if (opt !== null || index < direct) throw new UnusableAnswer('its answer has a misplaced OPT record');
      opt = { at: offset, index, code: message.readUInt8(record.ttlOffset) };
    } else if (opt === null) {
      ttlOffsets.push(record.ttlOffset);
      if (record.type === TYPE.soa && index >= answers && index < direct) {
        negativeSeconds = Math.min(seconds(message, record.ttlOffset), seconds(message, record.end - 4));
      }
    }
    offset = record.end;
  }
  if (offset !== message.length) throw new UnusableAnswer('its answer has bytes behind its records');
  // Names after an OPT record may point across it and cannot move, so the (rare) records after one are left out.
  return {
    end: opt?.at ?? offset,
    additionals: (opt?.index ?? count) - direct,
    ttlOffsets,
    extendedCode: opt?.code ?? 0,
    negativeSeconds,
  };
}

/** A TTL with its highest bit set counts as 0 (RFC 2181 section 8). */
function seconds(message: Buffer, offset: number): number {
  const ttl = message.readUInt32BE(offset);
  return ttl > 0x7fff_ffff ? 0 : ttl;
}

/** Tells whether the data fits its type; only these types may have compressed names in it (RFC 3597 section 4). */
function isSound(message: Buffer, { type, dataOffset, end }: RecordPlace): boolean {
  switch (type) {
    case TYPE.a:
      return end - dataOffset === 4;
    case TYPE.aaaa:
      return end - dataOffset === 16;
    case TYPE.ns:
    case TYPE.cname:
    case TYPE.ptr:
    case TYPE.dname:
      return skipName(message, dataOffset) === end;
    case TYPE.mx:
      return end - dataOffset > 2 && skipName(message, dataOffset + 2) === end;
    case TYPE.soa: {
      const second = skipName(message, dataOffset);
      return second >= 0 && second < end && skipName(message, second) + 20 === end;
    }
    default:
      return true;
  }
}

/** Subtracts the age from every TTL; returns the lowest remaining one, or null without records. */
function ageTtls(records: Buffer, offsets: readonly number[], age: number): number | null {
  let lowest: number | null = null;
  for (const offset of offsets) {
    const left = Math.max(0, seconds(records, offset) - age);
    records.writeUInt32BE(left, offset);
    lowest = Math.min(lowest ?? left, left);
  }
  return lowest;
}

interface Keeping {
  readonly rcode: number;
  readonly answers: number;
  readonly lowest: number | null;
  readonly age: number;
  readonly negative: number | null;
}

function keptFor({ rcode, answers, lowest, age, negative }: Keeping): number {
  if (rcode !== RCODE.noError && rcode !== RCODE.nxDomain) return FAILURE_SECONDS;
  const isNegative = rcode === RCODE.nxDomain || answers === 0;
  // A negative answer without a SOA must not be kept (RFC 2308 section 5).
  if (lowest === null || (isNegative && negative === null)) return 0;
  const allowed = negative === null ? lowest : Math.min(lowest, Math.max(0, negative - age));
  return Math.min(allowed, isNegative ? MOST_NEGATIVE_SECONDS : MOST_POSITIVE_SECONDS);
}
