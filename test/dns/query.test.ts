import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FLAG, RCODE, skipName } from '../../src/dns/message.js';
import { type Query, readQuery } from '../../src/dns/query.js';
import { emptyAnswer, writeRefusal, writeReply } from '../../src/dns/reply.js';

function encode(packet: dnsPacket.Packet): Buffer {
  return dnsPacket.encode({ type: 'query', id: 7, flags: dnsPacket.RECURSION_DESIRED, ...packet });
}

function read(packet: Buffer): Query {
  const query = readQuery(packet);
  if (query.kind !== 'query') throw new Error(`it is ${query.kind}`);
  return query;
}

function rcodeOf(packet: Buffer): number | 'ignored' {
  const query = readQuery(packet);
  if (query.kind === 'ignored') return 'ignored';
  return query.kind === 'refused' ? query.rcode : 0;
}

const QUESTION: dnsPacket.Question = { type: 'A', name: 'Www.Example.COM' };

describe('readQuery', () => {
  it('for a plain question gives the name in lower case, the type and no EDNS', () => {
    expect(read(encode({ questions: [QUESTION] }))).toMatchObject({ name: 'www.example.com', type: 1, edns: null });
  });

  it('for a question with EDNS gives the payload and the DO bit', () => {
    const opt: dnsPacket.OptAnswer = {
      type: 'OPT',
      name: '.',
      udpPayloadSize: 4096,
      flags: dnsPacket.DNSSEC_OK,
      options: [],
      extendedRcode: 0,
      ednsVersion: 0,
      flag_do: true,
    };
    const query = read(encode({ questions: [QUESTION], additionals: [opt] }));
    expect(query.edns).toEqual({ udpBytes: 4096, dnssecOk: true });
  });

  it('for a label with a dot in it escapes that dot', () => {
    const packet = Buffer.from('000701000001000000000000' + '03612e6203636f6d00' + '00010001', 'hex');
    expect(read(packet).name).toBe('a\\.b.com');
  });

  it.each([
    ['fewer bytes than a header', Buffer.from('0007010000010000', 'hex'), 'ignored'],
    ['a response', encode({ type: 'response', questions: [QUESTION] }), 'ignored'],
    ['no question', encode({ questions: [] }), RCODE.formErr],
    ['two questions', encode({ questions: [QUESTION, QUESTION] }), RCODE.formErr],
    ['the opcode NOTIFY', encode({ flags: 4 << 11, questions: [QUESTION] }), RCODE.notImp],
    ['the class CH', encode({ questions: [{ ...QUESTION, class: 'CH' }] }), RCODE.notImp],
    ['a zone transfer', encode({ questions: [{ type: 'AXFR', name: 'example.com' }] }), RCODE.notImp],
    [
      'answers in a query',
      encode({ questions: [QUESTION], answers: [{ type: 'A', name: 'a', data: '192.0.2.1' }] }),
      1,
    ],
    ['a compression loop', Buffer.from('000701000001000000000000c00c00010001', 'hex'), RCODE.formErr],
    ['a name that runs out', Buffer.from('0007010000010000000000003f616263', 'hex'), RCODE.formErr],
    ['bytes behind its records', Buffer.concat([encode({ questions: [QUESTION] }), Buffer.from([0])]), RCODE.formErr],
    ['EDNS version 1', withOpt('0000290200000100000000'), RCODE.badVers],
    ['two OPT records', withOpt('0000290200000000000000', '0000290200000000000000'), RCODE.formErr],
    ['an OPT record with an owner', withOpt('01610000290200000000000000'), RCODE.formErr],
  ])('for %s gives %s', (_what, packet, expected) => {
    expect(rcodeOf(packet)).toBe(expected);
  });

  it('for any bytes at all neither throws nor loops, and its refusals are replies that decode', () => {
    fc.assert(
      fc.property(hostileMessage(), (packet) => {
        const query = readQuery(packet);
        if (query.kind === 'ignored') return;
        const reply =
          query.kind === 'refused'
            ? writeRefusal(query, 1232)
            : writeReply(query, emptyAnswer(RCODE.servFail), { age: 0, limit: 512, ownUdpBytes: 1232 });
        expect(reply.readUInt16BE(0)).toBe(packet.readUInt16BE(0));
        expect(reply.readUInt16BE(2) & FLAG.response).toBe(FLAG.response);
        // Nothing that comes back is longer than what was sent and our OPT record: nothing to amplify with.
        expect(reply.length).toBeLessThanOrEqual(packet.length + 17);
      }),
      { numRuns: 3000 },
    );
  });

  it('for every name that can be asked gives the text that another implementation gives', () => {
    const label = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 8 }), (labels) => {
        const name = labels.join('.');
        expect(read(encode({ questions: [{ type: 'A', name }] })).name).toBe(name.toLowerCase());
      }),
    );
  });
});

describe('skipName', () => {
  it('for any bytes ends, and inside of them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.nat(600), (bytes, offset) => {
        const end = skipName(bytes, offset);
        expect(end === -1 || (end > offset && end <= bytes.length)).toBe(true);
      }),
    );
  });

  it('follows no chain of pointers that is longer than a name has labels, which thousands of records may share', () => {
    const chain = Buffer.alloc(400);
    for (let at = 14; at < chain.length; at += 2) chain.writeUInt16BE(0xc000 | (at - 2), at);
    expect(skipName(chain, 12 + 2 * 127)).toBe(12 + 2 * 127 + 2);
    expect(skipName(chain, 12 + 2 * 128)).toBe(-1);
  });
});

/** A question with these records behind it. */
function withOpt(...records: readonly string[]): Buffer {
  const packet = Buffer.concat([encode({ questions: [QUESTION] }), ...records.map((hex) => Buffer.from(hex, 'hex'))]);
  packet.writeUInt16BE(records.length, 10);
  return packet;
}

/** Random bytes, random bytes behind a plausible header, and good queries with bytes changed or cut off. */
function hostileMessage(): fc.Arbitrary<Buffer> {
  const anything = fc.uint8Array({ maxLength: 700 }).map((bytes) => Buffer.from(bytes));
  const good = fc.constant(withOpt('0000290200000080000000'));
  return fc.oneof(
    anything,
    anything.map((bytes) => Buffer.concat([Buffer.from('000701000001000000000001', 'hex'), bytes])),
    fc
      .tuple(good, fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 4 }), fc.nat(60))
      .map(([bytes, edits, cut]) => {
        const copy = Buffer.from(bytes);
        for (const [at, value] of edits) if (at < copy.length) copy[at] = value;
        return copy.subarray(0, copy.length - (cut % 20));
      }),
  );
}
