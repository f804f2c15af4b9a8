import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reservedForRedirects, reservedKind } from '../../src/dns/reserved-addresses.js';

const LINK_LOCAL = 'a link-local address';
const UNSPECIFIED = 'the unspecified address';
const METADATA = "a cloud's metadata address";
const LOOPBACK = 'a loopback address';

describe('an address', () => {
  it.each([
    ['169.254.0.1', LINK_LOCAL],
    ['169.254.169.254', LINK_LOCAL],
    ['fe80::1', LINK_LOCAL],
    ['febf:ffff::1', LINK_LOCAL],
    ['fe80::1%eth0', LINK_LOCAL],
    ['::ffff:169.254.169.254', LINK_LOCAL],
    ['::FFFF:A9FE:A9FE', LINK_LOCAL],
    ['::169.254.169.254', LINK_LOCAL],
    ['::ffff:0:169.254.169.254', LINK_LOCAL],
    ['64:ff9b::a9fe:a9fe', LINK_LOCAL],
    ['64:ff9b:1::169.254.169.254', LINK_LOCAL],
    ['2002:a9fe:a9fe::1', LINK_LOCAL],
    ['0.0.0.0', UNSPECIFIED],
    ['::', UNSPECIFIED],
    ['::ffff:0.0.0.0', UNSPECIFIED],
    ['fd00:ec2::254', METADATA],
    ['fd20:ce::254', METADATA],
    ['100.100.100.200', METADATA],
    ['::ffff:100.100.100.200', METADATA],
  ])('%s is %s, after a redirect and before', (address, kind) => {
    expect([reservedKind(address), reservedForRedirects(address)]).toEqual([kind, kind]);
  });

  it.each([
    '127.0.0.1',
    '127.255.0.9',
    '::1',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ])('%s is a loopback address for redirects alone', (address) => {
    expect([reservedKind(address), reservedForRedirects(address)]).toEqual([null, LOOPBACK]);
  });

  it.each([
    '192.0.2.1',
    '169.253.255.255',
    '169.255.0.1',
    '10.0.0.1',
    '100.100.100.201',
    'fec0::1',
    'fd00:ec2::253',
    '2001:db8::a9fe:a9fe',
    '64:ff9b:2::a9fe:a9fe',
    '2003:a9fe:a9fe::1',
    'example.com',
    '169.254.169.254.example.com',
    '',
  ])('%s is none of them', (address) => {
    expect([reservedKind(address), reservedForRedirects(address)]).toEqual([null, null]);
  });

  it('of IPv4 is in every form of IPv6 that stands for it what it is itself', () => {
    const byte = fc.oneof(fc.constantFrom(0, 100, 127, 169, 200, 254), fc.nat(255));
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), (bytes) => {
        const v4 = bytes.join('.');
        const hex = bytes.map((one) => one.toString(16).padStart(2, '0'));
        const groups = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
        for (const form of [`::ffff:${v4}`, `64:ff9b::${v4}`, `64:ff9b:1::${v4}`, `2002:${groups}::1`])
          expect([form, reservedForRedirects(form)]).toEqual([form, reservedForRedirects(v4)]);
      }),
    );
  });
});
