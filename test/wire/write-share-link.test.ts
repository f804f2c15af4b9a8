import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ShareLink, writeShareLink } from '../../src/wire/traits/write-share-link.js';
import { codePoint } from '../code-points.js';
import { readShareLink } from './read-share-link.js';

const PLAIN: ShareLink = {
  accessKey: 'abc123',
  host: '1.2.3.4',
  port: 50_000,
  type: 'udp',
  tls: false,
  sni: null,
  insecure: false,
  path: null,
  tun: false,
  dns: null,
  ownDns: false,
  name: null,
};

describe('the share link of servers from 0.4.0 on', () => {
  it('reads the shortest link, and writes its type always', () => {
    expect(readShareLink('ostp://abc123@1.2.3.4:50000')).toEqual(PLAIN);
    expect(writeShareLink(PLAIN)).toBe('ostp://abc123@1.2.3.4:50000?type=udp');
  });

  it('writes every member in the order of the servers, byte for byte as it was read', () => {
    const link =
      'ostp://k1@vpn.example.com:443?type=uot&tls=1&sni=cdn.example.com&insecure=1&path=%2Fs3cr3t&tun=true&dns=1.1.1.1&owndns=true&name=My%20VPN';
    expect(readShareLink(link)).toEqual({
      accessKey: 'k1',
      host: 'vpn.example.com',
      port: 443,
      type: 'uot',
      tls: true,
      sni: 'cdn.example.com',
      insecure: true,
      path: '/s3cr3t',
      tun: true,
      dns: '1.1.1.1',
      ownDns: true,
      name: 'My VPN',
    });
    expect(writeShareLink(readShareLink(link))).toBe(link);
  });

  it('puts an IPv6 address in brackets, drops a slash before the query, and reads + as a blank', () => {
    const link = readShareLink('ostp://k@[2001:db8::1]:50000/?type=udp');
    expect(link).toMatchObject({ host: '2001:db8::1', port: 50_000 });
    expect(writeShareLink(link)).toBe('ostp://k@[2001:db8::1]:50000?type=udp');
    expect(readShareLink('ostp://k@h:1?name=My+VPN').name).toBe('My VPN');
  });

  it.each([
    'tls=true',
    'tls=YES',
    'path=%2Fx',
    'type=tcp',
    'type=http',
    'type=uot',
    'type=UOT',
  ])('takes a link with %s for one over TCP', (query) => {
    expect(readShareLink(`ostp://k@h:443?${query}`).type).toBe('uot');
  });

  it('reads an unknown type and empty texts as none, a scheme in any case, the last @, and nothing behind #', () => {
    expect(readShareLink('  OSTP://a@b%40c@h:1?type=quic&sni=&path=&dns=&name=&x=1#name=no \n')).toEqual({
      ...PLAIN,
      accessKey: 'a@b@c',
      host: 'h',
      port: 1,
    });
  });

  it.each([
    ['https://k@h:1', 'not an ostp:// link'],
    ['ostp://h:1', 'link has no access key (expected KEY@HOST:PORT)'],
    ['ostp://@h:1', 'link has an empty access key'],
    ['ostp://k@h', 'link has no port'],
    ['ostp://k@[::1]', 'link has no port'],
    ['ostp://k@:1', 'link has no host'],
    ['ostp://k@[]:1', 'link has no host'],
    ['ostp://k@h:99999', "invalid port '99999'"],
    ['ostp://k@h:', "invalid port ''"],
    ['ostp://k@[::1', 'unterminated IPv6 address'],
    ['ostp://%ff@h:1', 'link contains invalid UTF-8'],
    ['ostp://k@h:1?name=%c3', 'link contains invalid UTF-8'],
  ])('refuses %s', (link, message) => {
    expect(() => readShareLink(link)).toThrow(message);
  });

  it('reads back every link that it writes', () => {
    const text = fc.string({ unit: codePoint, minLength: 1 });
    const maybe = fc.option(text);
    const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6());
    const links = fc
      .record({
        accessKey: text,
        host,
        port: fc.integer({ min: 0, max: 65_535 }),
        type: fc.constantFrom('udp' as const, 'uot' as const),
        tls: fc.boolean(),
        sni: maybe,
        insecure: fc.boolean(),
        path: maybe,
        tun: fc.boolean(),
        dns: maybe,
        ownDns: fc.boolean(),
        name: maybe,
      })
      .map((link): ShareLink => ({ ...link, type: link.tls || link.path !== null ? 'uot' : link.type }));
    fc.assert(
      fc.property(links, (link) => {
        const written = writeShareLink(link);
        expect(readShareLink(written)).toEqual(link);
        expect(written).toMatch(/^ostp:\/\/[\w.~%-]+@(?:\[[\da-f:.]+\]|[\w.-]+):\d+\?[\w.~%&=-]+$/i);
      }),
    );
  });
});
