import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressBytes, callerNetwork } from '../../src/core/caller-network.js';

describe('callerNetwork', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1/32'],
    ['::ffff:192.0.2.1', '192.0.2.1/32'],
    ['::FFFF:C000:201', '192.0.2.1/32'],
    ['2001:db8:0:1::5', '20010db800000001/64'],
    ['2001:0DB8::1:ffff:0:0:5', '20010db800000001/64'],
    ['fe80::1%eth0', 'fe80000000000000/64'],
    ['unix', 'unix'],
    ['', ''],
  ])('of %s is %s', (address, expected) => {
    expect(callerNetwork(address)).toBe(expected);
  });

  it('of so many bytes as are asked for is wider', () => {
    const wide = { v4: 3, v6: 7 };
    expect(callerNetwork('192.0.2.1', wide)).toBe('192.0.2/24');
    expect(callerNetwork('2001:db8:0:1ff::5', wide)).toBe('20010db8000001/56');
  });

  it('of IPv6 addresses is the same exactly when their first four groups are', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 8, maxLength: 8 });
    const written = (address: readonly number[]) => address.map((group) => group.toString(16)).join(':');
    fc.assert(
      fc.property(groups, groups, (one, other) => {
        const same = one.slice(0, 4).join() === other.slice(0, 4).join();
        expect(callerNetwork(written(one)) === callerNetwork(written(other))).toBe(same);
      }),
    );
  });
});

describe('addressBytes', () => {
  it.each([
    ['192.0.2.1', 'c0000201'],
    ['::', '00000000000000000000000000000000'],
    ['2001:db8::1', '20010db8000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['::ffff:192.0.2.1', '00000000000000000000ffffc0000201'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ])('of %s are %s', (address, expected) => {
    expect(addressBytes(address).toString('hex')).toBe(expected);
  });

  it('of any IPv6 address are its groups', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), (groups) => {
        const bytes = addressBytes(groups.map((group) => group.toString(16)).join(':'));
        expect(groups.map((_, index) => bytes.readUInt16BE(index * 2))).toEqual(groups);
      }),
    );
  });
});
