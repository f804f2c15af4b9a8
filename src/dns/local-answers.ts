import { addressBytes } from '../core/caller-network.js';
import type { ResolverSettings } from '../core/model.js';
import {
  CLASS_IN,
  HEADER_BYTES,
  nameText,
  RCODE,
  type RecordPlace,
  readRecord,
  skipName,
  TYPE,
  wholeName,
} from './message.js';
import type { Query } from './query.js';
import { type DnsAnswer, EXTENDED_ERROR, emptyAnswer } from './reply.js';

/** Seconds for which clients may keep a local answer: short, so that changed settings soon take effect. */
const LOCAL_TTL = 60;
/** A record's name that points to the question's (RFC 1035 section 4.1.4). */
const QUESTION_POINTER = 0xc000 | HEADER_BYTES;

function record(type: number, data: Buffer, ttl = LOCAL_TTL): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(QUESTION_POINTER, 0);
  fixed.writeUInt16BE(type, 2);
  fixed.writeUInt16BE(CLASS_IN, 4);
  fixed.writeUInt32BE(ttl, 6);
  fixed.writeUInt16BE(data.length, 10);
  return Buffer.concat([fixed, data]);
}

/** Lets resolvers keep a negative answer (RFC 2308 section 3). The names in it exist nowhere (RFC 6761 section 6.4). */
const SOA = record(TYPE.soa, soaData(LOCAL_TTL));

function soaData(ttl: number): Buffer {
  const numbers = Buffer.alloc(20);
  for (const [index, value] of [1, 3600, 600, 86_400, ttl].entries()) numbers.writeUInt32BE(value, index * 4);
  return Buffer.concat([wireName('keyway.invalid'), wireName('nobody.invalid'), numbers]);
}

function wireName(name: string): Buffer {
  return Buffer.concat([
    ...name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.alloc(1),
  ]);
}

function localAnswer(
  rcode: number,
  records: Buffer,
  kind: { answers: number; extendedError: number | null },
): DnsAnswer {
  return {
    rcode,
    authoritative: true,
    authenticated: false,
    records,
    answers: kind.answers,
    authorities: 1 - kind.answers,
    additionals: 0,
    ttlOffsets: [TTL_OFFSET],
    extendedError: kind.extendedError,
  };
}

/** Returns address records of one type, or of both for a question about any. */
function addressesAnswer(
  addresses: readonly string[],
  type: number,
  extendedError: number | null,
  ttl: number,
): DnsAnswer {
  const records = addresses.flatMap((address) => {
    const data = addressBytes(address);
    const own = data.length === 4 ? TYPE.a : TYPE.aaaa;
    return type === own || type === TYPE.any ? [record(own, data, ttl)] : [];
  });
  const offsets: number[] = [];
  let offset = TTL_OFFSET;
  for (const { length } of records) {
    offsets.push(offset);
    offset += length;
  }
  return {
    ...localAnswer(RCODE.noError, Buffer.concat(records), { answers: records.length, extendedError }),
    authorities: 0,
    ttlOffsets: offsets,
  };
}

/** The offset of the TTL in a record whose name is a pointer. */
const TTL_OFFSET = 6;

const NO_DATA = localAnswer(RCODE.noError, SOA, { answers: 0, extendedError: null });
const BLOCKED = { extendedError: EXTENDED_ERROR.blocked };
const REFUSED = emptyAnswer(RCODE.refused, EXTENDED_ERROR.blocked);

/** Makes the answers for blocked names of every type; `isNameless`: the name exists under no settings. */
export function createBlockedAnswers({
  blockingMode,
  blockedTtl,
}: Pick<ResolverSettings, 'blockingMode' | 'blockedTtl'>): (type: number, isNameless: boolean) => DnsAnswer {
  const ttl = Math.min(blockedTtl, MOST_TTL);
  const soa = record(TYPE.soa, soaData(ttl), ttl);
  const noName = localAnswer(RCODE.nxDomain, soa, { answers: 0, ...BLOCKED });
  const noData = localAnswer(RCODE.noError, soa, { answers: 0, ...BLOCKED });
  const hasAddress: readonly number[] = [TYPE.a, TYPE.aaaa, TYPE.any];
  return (type, isNameless) => {
    if (isNameless || blockingMode === 'nxdomain') return noName;
    if (blockingMode === 'refused') return REFUSED;
    return hasAddress.includes(type) ? addressesAnswer(['0.0.0.0', '::'], type, EXTENDED_ERROR.blocked, ttl) : noData;
  };
}

/** The highest valid TTL (RFC 2181 section 8). */
const MOST_TTL = 0x7fff_ffff;

/**
 * Returns the answer for an own name with these addresses: no data for a type without addresses, because the name
 * exists only here.
 */
export function ownAnswer(addresses: readonly string[], type: number): DnsAnswer {
  const answer = addressesAnswer(addresses, type, null, LOCAL_TTL);
  return answer.answers === 0 ? NO_DATA : answer;
}

/** Seconds for which clients may keep an alias. */
const ALIAS_TTL = 300;

/** Returns the answer for an alias: the alias itself, and the records of its target, from the answer to `asked`. */
export function aliasAnswer(answer: DnsAnswer, asked: Query): DnsAnswer {
  const alias = record(TYPE.cname, wireName(asked.name), ALIAS_TTL);
  const records = answerRecords(answer, asked).map(({ message, place, offset }) => {
    const head = Buffer.from(message.subarray(place.ttlOffset - 4, place.dataOffset));
    const data = plainData(message, place);
    head.writeUInt16BE(data.length, 8);
    return { name: wholeName(message, offset), rest: Buffer.concat([head, data]) };
  });
  const ttlOffsets: number[] = [TTL_OFFSET];
  let end = alias.length;
  for (const { name, rest } of records) {
    ttlOffsets.push(end + name.length + 4);
    end += name.length + rest.length;
  }
  return {
    ...answer,
    rcode: RCODE.noError,
    authoritative: true,
    authenticated: false,
    records: Buffer.concat([alias, ...records.flatMap(({ name, rest }) => [name, rest])]),
    answers: 1 + records.length,
    authorities: 0,
    additionals: 0,
    ttlOffsets,
  };
}

/** Lists the aliases of the question's name in an answer. */
export function aliasesIn(answer: DnsAnswer, asked: Query): readonly string[] {
  return answerRecords(answer, asked).flatMap(({ message, place }) =>
    place.type === TYPE.cname ? [nameText(wholeName(message, place.dataOffset), 0)] : [],
  );
}

interface AnswerRecord {
  readonly message: Buffer;
  readonly offset: number;
  readonly place: RecordPlace;
}

/** Returns the records of the answer section; names in them may point into the question. */
function answerRecords({ records, answers }: DnsAnswer, { packet, questionEnd }: Query): readonly AnswerRecord[] {
  const message = Buffer.concat([packet.subarray(0, questionEnd), records]);
  const found: AnswerRecord[] = [];
  let offset = questionEnd;
  for (let index = 0; index < answers; index++) {
    const place = readRecord(message, offset);
    if (place === null) break;
    found.push({ message, offset, place });
    offset = place.end;
  }
  return found;
}

/** Returns a record's data without pointers, which only some types may contain (RFC 3597 section 4). */
function plainData(message: Buffer, { type, dataOffset, end }: RecordPlace): Buffer {
  const names: readonly number[] = [TYPE.cname, TYPE.ns, TYPE.ptr, TYPE.dname];
  if (names.includes(type)) return wholeName(message, dataOffset);
  if (type === TYPE.mx)
    return Buffer.concat([message.subarray(dataOffset, dataOffset + 2), wholeName(message, dataOffset + 2)]);
  if (type !== TYPE.soa) return message.subarray(dataOffset, end);
  const second = skipName(message, dataOffset);
  const numbers = skipName(message, second);
  return Buffer.concat([wholeName(message, dataOffset), wholeName(message, second), message.subarray(numbers, end)]);
}
