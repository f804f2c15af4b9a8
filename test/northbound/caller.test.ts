import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCallerOf } from '../../src/northbound/caller.js';

function caller(trusted: readonly string[], remoteAddress: string | undefined, forwarded?: string): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return createCallerOf(trusted)({ headers, socket: { remoteAddress } }).address;
}

const PROXY = '127.0.0.1';

describe('the caller', () => {
  it('is the peer when no proxy is trusted, or another one, whatever it says', () => {
    expect(caller([], PROXY, '192.0.2.1')).toBe(PROXY);
    expect(caller(['10.0.0.0/8'], PROXY, '192.0.2.1')).toBe(PROXY);
    expect(caller([], undefined, '192.0.2.1')).toBe('unix');
  });

  it('is the rightmost address that is not trusted: what the caller wrote before it counts for nothing', () => {
    expect(caller([PROXY], PROXY, '192.0.2.1')).toBe('192.0.2.1');
    expect(caller([PROXY], PROXY, '198.51.100.9, 192.0.2.1')).toBe('192.0.2.1');
    expect(caller([PROXY, '10.0.0.0/8'], PROXY, '1.1.1.1,192.0.2.1 , 10.1.2.3')).toBe('192.0.2.1');
  });

  it('is the first proxy of a chain in which all are trusted, and the proxy itself where it names nobody', () => {
    expect(caller([PROXY, '10.0.0.0/8'], PROXY, '10.0.0.1, 10.0.0.2')).toBe('10.0.0.1');
    expect(caller([PROXY], PROXY)).toBe(PROXY);
    expect(caller([PROXY], PROXY, '')).toBe(PROXY);
  });

  it.each([
    'unknown',
    '_hidden',
    '999.1.1.1',
    '1.2.3',
    '[::1',
    '::1]:80',
    'example.org',
    '192.0.2.1:port',
    ',',
    '192.0.2.1,',
    '"192.0.2.1"',
    '<script>',
  ])('is the proxy where that wrote what is no address: %s', (forwarded) => {
    expect(caller([PROXY], PROXY, forwarded)).toBe(PROXY);
  });

  it.each([
    ['192.0.2.1:4711', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('drops ports, brackets and zones: %s is %s', (forwarded, expected) => {
    expect(caller([PROXY], PROXY, forwarded)).toBe(expected);
  });

  it('on a socket for both families is IPv4 in its own form, trusted or not', () => {
    expect(caller([], '::ffff:192.0.2.7')).toBe('192.0.2.7');
    expect(caller(['127.0.0.0/8'], '::ffff:127.0.0.1', '192.0.2.1')).toBe('192.0.2.1');
  });

  it('behind a proxy over IPv6 is found by its range', () => {
    expect(caller(['fd00::/8'], 'fd12::1', '2001:db8::5')).toBe('2001:db8::5');
    expect(caller(['::1'], '::1', '2001:db8::5')).toBe('2001:db8::5');
    expect(caller(['fd00::/8'], 'fe12::1', '2001:db8::5')).toBe('fe12::1');
  });

  it('on a Unix socket is who the proxy says when unix is trusted, and no proxy can claim to be one', () => {
    expect(caller(['unix'], undefined, '203.0.113.4, 192.0.2.1')).toBe('192.0.2.1');
    expect(caller(['unix'], undefined)).toBe('unix');
    expect(caller(['127.0.0.1'], undefined, '192.0.2.1')).toBe('unix');
    expect(caller(['unix', PROXY], PROXY, '192.0.2.1, unix')).toBe(PROXY);
  });

  it('of any header is an address, and never one that stands left of an untrusted one', () => {
    const entry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string());
    fc.assert(
      fc.property(fc.array(entry), fc.ipV4(), (forged, last) => {
        fc.pre(!last.startsWith('127.'));
        expect(caller(['127.0.0.0/8'], PROXY, [...forged, last].join(', '))).toBe(last);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (forwarded) => {
        expect(caller(['0.0.0.0/0', '::/0'], PROXY, forwarded)).toMatch(/^[\da-f.:]+$/i);
      }),
    );
  });
});

describe('an IPv6 caller', () => {
  it.each([
    ['2001:DB8:0:0:1::1', '2001:db8::1:0:0:1', '20010db800000000/64'],
    ['2001:0db8:0000:0000:0001:0000:0000:0001', '2001:db8::1:0:0:1', '20010db800000000/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '20010db800010002/64'],
    ['::1', '::1', '0000000000000000/64'],
    ['1::', '1::', '0001000000000000/64'],
    ['::ffff:C000:0201', '192.0.2.1', '192.0.2.1/32'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1', '192.0.2.1/32'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201', '0064ff9b00000000/64'],
  ])('%s has one spelling, %s, and is counted as %s', (spelled, address, network) => {
    const headers = { 'x-forwarded-for': spelled };
    const found = createCallerOf([PROXY])({ headers, socket: { remoteAddress: PROXY } });
    expect(found).toEqual({ address, network });
  });
});

it('a peer that sends the header and is not trusted is told of once', () => {
  const told: string[] = [];
  const callerOf = createCallerOf([PROXY], (address) => told.push(address));
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  for (const remoteAddress of [PROXY, '198.51.100.9', '198.51.100.10'])
    callerOf({ headers, socket: { remoteAddress } });
  callerOf({ headers: {}, socket: { remoteAddress: '198.51.100.9' } });
  expect(told).toEqual(['198.51.100.9']);
});
