import { isIP } from 'node:net';
import { addressBytes } from '../core/caller-network.js';
import type { BlockedAnswer } from '../core/model.js';
import { domainName } from '../wire/dns-values.js';
import { CLASS_IN, HEADER_BYTES, RCODE, TYPE } from './message.js';
import { type DnsAnswer, EXTENDED_ERROR } from './reply.js';

/** Seconds for which clients may keep a local answer: short, so that a changed setting soon shows. */
const LOCAL_TTL = 60;
/** The name of a record that stands for the question's: a pointer to it (RFC 1035 section 4.1.4). */
const QUESTION_POINTER = 0xc000 | HEADER_BYTES;

function record(type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(QUESTION_POINTER, 0);
  fixed.writeUInt16BE(type, 2);
  fixed.writeUInt16BE(CLASS_IN, 4);
  fixed.writeUInt32BE(LOCAL_TTL, 6);
  fixed.writeUInt16BE(data.length, 10);
  return Buffer.concat([fixed, data]);
}

/** Lets resolvers keep a negative answer (RFC 2308 section 3). The names in it exist nowhere (RFC 6761 section 6.4). */
const SOA = record(TYPE.soa, soaData('keyway.invalid', 'nobody.invalid'));

function soaData(primary: string, mailbox: string): Buffer {
  const numbers = Buffer.alloc(20);
  for (const [index, value] of [1, 3600, 600, 86_400, LOCAL_TTL].entries()) numbers.writeUInt32BE(value, index * 4);
  return Buffer.concat([wireName(primary), wireName(mailbox), numbers]);
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
    ttlOffsets: [6],
    extendedError: kind.extendedError,
  };
}

function addressAnswer(address: string, extendedError: number | null): DnsAnswer {
  const data = addressBytes(address);
  return localAnswer(RCODE.noError, record(data.length === 4 ? TYPE.a : TYPE.aaaa, data), {
    answers: 1,
    extendedError,
  });
}

const NO_DATA = localAnswer(RCODE.noError, SOA, { answers: 0, extendedError: null });
const BLOCKED = { extendedError: EXTENDED_ERROR.blocked };
const BLOCKED_NAME = localAnswer(RCODE.nxDomain, SOA, { answers: 0, ...BLOCKED });
const BLOCKED_NO_DATA = localAnswer(RCODE.noError, SOA, { answers: 0, ...BLOCKED });
const BLOCKED_V4 = addressAnswer('0.0.0.0', EXTENDED_ERROR.blocked);
const BLOCKED_V6 = addressAnswer('::', EXTENDED_ERROR.blocked);

/** The answer for a blocked name. */
export function blockedAnswer(type: number, setting: BlockedAnswer): DnsAnswer {
  if (setting === 'nxdomain') return BLOCKED_NAME;
  if (type === TYPE.a || type === TYPE.any) return BLOCKED_V4;
  return type === TYPE.aaaa ? BLOCKED_V6 : BLOCKED_NO_DATA;
}

/** The operator's own names. */
export type CustomDomains = ReturnType<typeof createCustomDomains>;

interface CustomEntry {
  readonly address: string;
  readonly answer: DnsAnswer;
}

/** Reads the setting; what is no name or no address is left out. */
export function createCustomDomains(domains: ReadonlyMap<string, string>) {
  const exact = new Map<string, CustomEntry>();
  const below = new Map<string, CustomEntry>();
  const ignored: string[] = [];
  for (const [written, address] of domains) {
    const name = domainName(written);
    if (name === null || isIP(address) === 0 || address.includes('%')) {
      ignored.push(written);
      continue;
    }
    const entry = { address, answer: addressAnswer(address, null) };
    if (name.startsWith('*.')) below.set(name.slice(2), entry);
    else exact.set(name, entry);
  }

  function find(name: string): CustomEntry | null {
    const own = exact.get(name);
    if (own !== undefined) return own;
    if (below.size === 0) return null;
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const entry = below.get(name.slice(dot + 1));
      if (entry !== undefined) return entry;
    }
    return null;
  }

  return {
    /**
     * The answer when a custom domain covers the name: its own entry, else the `*.` entry of the nearest name above it. Its
     * address, or no data for another type (the name exists here alone). Null when none covers it.
     */
    answer(name: string, type: number): DnsAnswer | null {
      const entry = find(name);
      if (entry === null) return null;
      const own = isIP(entry.address) === 4 ? TYPE.a : TYPE.aaaa;
      return type === own || type === TYPE.any ? entry.answer : NO_DATA;
    },
    /** The address of the entry of exactly this name, or null. */
    address: (name: string): string | null => exact.get(name.toLowerCase())?.address ?? null,
    /** Entries that are none, as they were written. */
    ignored,
  };
}
