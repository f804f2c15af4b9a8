import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostIn, isReachable, readClientAddress } from '../../panel/text/client-address.js';

describe('the address in a share link', () => {
  it.each([
    '203.0.113.7',
    '10.0.0.1',
    '[2001:db8::1]',
    'vpn.example.com',
    'vpn.example.com.',
    'сервер.рф',
  ])('takes %s', (host) => {
    expect(isReachable(host)).toBe(true);
  });

  it.each([
    '',
    '0.0.0.0',
    '127.0.0.1',
    '127.8.8.8',
    '255.255.255.255',
    '[::]',
    '[0:0::0]',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
    'a.localhost',
    'nonsense',
    'not a host.example',
    '256.1.1.1',
  ])('refuses %j', (host) => {
    expect(isReachable(host)).toBe(false);
  });

  it.each([
    ['203.0.113.7', { host: '203.0.113.7', port: '' }],
    [' vpn.example.com:443 ', { host: 'vpn.example.com', port: ':443' }],
    ['2001:db8::1', { host: '[2001:db8::1]', port: '' }],
    ['[2001:db8::1]:443', { host: '[2001:db8::1]', port: ':443' }],
    ['0.0.0.0', null],
    ['vpn.example.com:0', null],
    ['vpn.example.com:70000', null],
    ['https://vpn.example.com', null],
    ['vpn.example.com/path', null],
    ['', null],
  ])('reads %j as it is typed', (typed, address) => {
    expect(readClientAddress(typed)).toEqual(address);
  });

  it('is found behind any key, which stands in the link as it is or percent-encoded', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.boolean(), (key, encoded) => {
        const spelled = encoded ? encodeURIComponent(key) : key;
        expect(hostIn(`ostp://${spelled}@0.0.0.0:50000?type=udp&sni=a@b`, key)).toBe('0.0.0.0');
      }),
    );
    expect(hostIn('vless://other@[::]:1', 'key')).toBeNull();
    expect(hostIn('vless://key@[::]:1', 'key')).toBe('[::]');
    expect(hostIn('ostp://key@nonsense:1', 'key')).toBe('nonsense');
  });
});
