import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeDohQuery } from '../../src/dns/doh.js';
import { HEADER_BYTES } from '../../src/dns/message.js';
import { readQuery } from '../../src/dns/query.js';
import { writeReply } from '../../src/dns/reply.js';
import { readUpstreamAnswer, UnusableAnswer } from '../../src/dns/upstream-answer.js';
import { decode, encodeQuery } from './client.js';
import { answerTo } from './servers.js';

const QUERY: dnsPacket.Packet = { type: 'query', id: 0, questions: [{ type: 'A', name: 'www.example.com' }] };
const QUESTION = encodeQuery({ name: 'www.example.com' }).subarray(HEADER_BYTES);
const OPT: dnsPacket.OptAnswer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 4096,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};
const SOA_DATA = { mname: 'a.example', rname: 'b.example', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 40 };

function ttlOf(parts: Partial<dnsPacket.Packet>, age = 0): number {
  return readUpstreamAnswer(answerTo(QUERY, parts), QUESTION, age).ttl;
}

function address(ttl: number): dnsPacket.Answer {
  return { type: 'A', name: 'www.example.com', ttl, data: '192.0.2.1' };
}

describe('an upstream answer', () => {
  it('is kept for the lowest of its TTLs, less its age', () => {
    expect(ttlOf({ answers: [address(300), address(200)] })).toBe(200);
    expect(ttlOf({ answers: [address(300)] }, 120)).toBe(180);
    expect(ttlOf({ answers: [address(300)] }, 500)).toBe(0);
    expect(ttlOf({ answers: [address(0)] })).toBe(0);
  });

  it('is kept for a day at most', () => {
    expect(ttlOf({ answers: [address(1_000_000)] })).toBe(86_400);
  });

  it('without data is kept as its SOA says, and not at all without one', () => {
    const soa: dnsPacket.Answer = { type: 'SOA', name: 'example.com', ttl: 100, data: SOA_DATA };
    expect(ttlOf({ authorities: [soa] })).toBe(40);
    expect(ttlOf({})).toBe(0);
  });

  it('with a TTL whose highest bit is set is not kept', () => {
    const message = answerTo(QUERY, { answers: [address(300)] });
    message.writeUInt32BE(0x8000_0001, message.length - 10);
    expect(readUpstreamAnswer(message, QUESTION, 0).ttl).toBe(0);
  });

  it('goes to a client with its own id and question, aged, without the OPT record of the upstream', () => {
    const message = answerTo(QUERY, { answers: [address(300)], additionals: [OPT] });
    const { answer } = readUpstreamAnswer(message, QUESTION, 0);
    const query = readQuery(encodeQuery({ name: 'WWW.example.COM', id: 99 }));
    if (query.kind !== 'query') throw new Error('it is a query');
    const reply = decode(writeReply(query, answer, { age: 100, limit: 512, ownUdpBytes: 1232 }));
    expect(reply).toMatchObject({ id: 99, additionals: [], questions: [{ name: 'WWW.example.COM' }] });
    expect(reply.answers).toMatchObject([{ ttl: 200, data: '192.0.2.1' }]);
  });

  it('with names that point at each other is refused', () => {
    const message = answerTo(QUERY, {
      answers: [{ type: 'CNAME', name: 'www.example.com', ttl: 1, data: 'x.example' }],
    });
    const data = message.length - 11;
    message.writeUInt16BE(0xc000 | data, data);
    expect(() => readUpstreamAnswer(message, QUESTION, 0)).toThrow(UnusableAnswer);
  });

  it('of any bytes is refused or leads to a reply that another implementation reads', () => {
    const base = answerTo(QUERY, { answers: [address(300), address(60)], additionals: [OPT] });
    const edits = fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(edits, fc.nat(base.length), (changes, cut) => {
        const message = Buffer.from(base);
        for (const [at, value] of changes) message[at] = value;
        const query = readQuery(encodeQuery({ name: 'www.example.com', udpBytes: 4096 }));
        if (query.kind !== 'query') throw new Error('it is a query');
        try {
          const { answer } = readUpstreamAnswer(cut % 5 === 0 ? message.subarray(0, cut) : message, QUESTION, 0);
          const reply = writeReply(query, answer, { age: 1, limit: 4096, ownUdpBytes: 4096 });
          expect(reply.readUInt16BE(0)).toBe(query.packet.readUInt16BE(0));
          expect(reply.length).toBeLessThanOrEqual(base.length + 17);
        } catch (error) {
          expect(error).toBeInstanceOf(UnusableAnswer);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe('a DoH query', () => {
  it('has the id 0, the question, EDNS, and a length that tells little', () => {
    for (const name of ['a.example', `${'x'.repeat(60)}.${'y'.repeat(60)}.example`]) {
      const bytes = encodeQuery({ name }).subarray(HEADER_BYTES);
      const query = writeDohQuery({ bytes, dnssecOk: true, checkingDisabled: false });
      expect(query.length % 128).toBe(0);
      const read = dnsPacket.decode(query);
      expect(read).toMatchObject({ id: 0, type: 'query', questions: [{ name, type: 'A' }] });
      expect(read.additionals?.[0]).toMatchObject({ type: 'OPT', flag_do: true });
    }
  });
});
