import { describe, expect, it } from 'vitest';
import { domainName, isListUrl, upstreamFault, upstreamPlace } from '../../src/wire/dns-values.js';
import { dnsOfFourMembers } from '../../src/wire/traits/dns-form.js';

describe('POST /dns/config', () => {
  it.each([
    [{ doh_upstream: 'ftp://dns.example/' }, 'doh_upstream: expected an http or https URL'],
    [{ doh_upstream: '' }, 'doh_upstream: expected an http or https URL'],
    [{ adblock_urls: ['https://a.example/l', '/etc/hosts'] }, 'adblock_urls[1]: expected an http, https or file URL'],
    [{ adblock_urls: ['ftp://a.example/l'] }, 'adblock_urls[0]: expected an http, https or file URL'],
    [{ adblock_urls: ['file://['] }, 'adblock_urls[0]: expected an http, https or file URL'],
    [{ adblock_urls: ['http://%25eth0]/'] }, 'adblock_urls[0]: expected an http, https or file URL'],
    [{ custom_domains: { 'a b': '192.0.2.1' } }, 'custom_domains["a b"]: expected a domain name'],
    [{ custom_domains: { 'a.*.b': '192.0.2.1' } }, 'custom_domains["a.*.b"]: expected a domain name'],
    [{ custom_domains: { a: '192.0.2' } }, 'custom_domains["a"]: expected an IPv4 or IPv6 address'],
    [{ custom_domains: { a: 'fe80::1%eth0' } }, 'custom_domains["a"]: expected an IPv4 or IPv6 address'],
  ])('with %j is refused and names the place', (body, expected) => {
    expect(() => dnsOfFourMembers.decode({ enabled: true, ...body })).toThrow(expected);
  });

  it.each([
    'file:///etc/keyway/more.txt',
    'FILE:///etc/passwd',
    'file://elsewhere/list.txt',
    'http://169.254.169.254/latest',
    'http://0xA9FEA9FE/',
    'http://[fe80::1]/',
    'http://[fe80::1%25eth0]/list.txt',
    'http://[::ffff:169.254.1.1]/',
    'http://127.0.0.1/list.txt',
  ])('takes the list %s as it is: what is read of it is not decided here', (url) => {
    expect(dnsOfFourMembers.decode({ enabled: true, adblock_urls: [url] }).adblockUrls).toEqual([url]);
  });

  it.each([
    'https://127.0.0.1:8443/dns-query',
    'https://169.254.169.254/',
    'https://[fe80::1%25eth0]/dns-query',
  ])('takes the upstream %s as it is', (url) => {
    expect(dnsOfFourMembers.decode({ enabled: true, doh_upstream: url }).dohUpstream).toBe(url);
  });

  it('with good values changes what it names', () => {
    const body = {
      enabled: true,
      adblock_urls: ['https://a.example/l'],
      custom_domains: { '*.b.example': '2001:db8::1' },
    };
    expect(dnsOfFourMembers.decode(body)).toEqual({
      enabled: true,
      adblockUrls: ['https://a.example/l'],
      customDomains: new Map([['*.b.example', '2001:db8::1']]),
    });
  });
});

describe('domainName', () => {
  it.each([
    ['Example.COM.', 'example.com'],
    ['*.Example.com', '*.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['_dmarc.example', '_dmarc.example'],
    ['1.2.3.4', null],
    ['a..b', null],
    ['', null],
    ['*', null],
    [`${'a'.repeat(64)}.example`, null],
    // Soft hyphens, of which nothing is left in ASCII.
    [`a${'\u00ad'.repeat(253)}.example`, null],
  ])('of %s is %s', (text, expected) => {
    expect(domainName(text)).toBe(expected);
  });
});

describe('the text of an upstream', () => {
  it.each([
    ['https://dns.example/dns-query', { carrier: 'https', url: 'https://dns.example/dns-query' }],
    ['1.1.1.1', { carrier: 'udp', host: '1.1.1.1', port: 53 }],
    [' udp://9.9.9.9:5353 ', { carrier: 'udp', host: '9.9.9.9', port: 5353 }],
    ['2001:db8::1', { carrier: 'udp', host: '2001:db8::1', port: 53 }],
    ['tcp://[2001:db8::1]', { carrier: 'tcp', host: '2001:db8::1', port: 53 }],
    ['tls://dns.example', { carrier: 'tls', host: 'dns.example', port: 853 }],
    ['tls://1.1.1.1:8853/', { carrier: 'tls', host: '1.1.1.1', port: 8853 }],
    ['dns.example', null],
    ['tcp://dns.example', null],
    ['http://dns.example/', null],
    ['tls://', null],
    ['udp://1.1.1.1:66000', null],
    ['', null],
  ])('%s', (text, place) => {
    expect(upstreamPlace(text)).toEqual(place);
  });
});

describe('a text of a million characters', () => {
  const MANY = 1_000_000;
  const ideographs = Array.from({ length: MANY }, (_, n) => String.fromCharCode(0x4e00 + (n % 20_000))).join('');

  // Each took from half a minute to half an hour of the event loop, because the work grew with the square of the length.
  it.each([
    ['slashes before a letter', `tls://${'/'.repeat(MANY)}x`],
    ['brackets before a letter', `x${'['.repeat(MANY)}x`],
    ['ideographs', `https://${ideographs}/`],
  ])('of %s is no upstream', (_, text) => {
    expect(upstreamPlace(text)).toBeNull();
    expect(() => dnsOfFourMembers.decode({ enabled: true, doh_upstream: text })).toThrow('doh_upstream');
  });

  it.each(['/', '['])('of %s is judged in the words of servers', (part) => {
    expect(upstreamFault(`x${part.repeat(MANY)}x`)).toContain('is not an IP address');
    expect(upstreamFault(`tls://${part.repeat(MANY)}x`)).toBeNull();
  });

  it('of ideographs is no name and no URL of a list', () => {
    expect(domainName(ideographs)).toBeNull();
    expect(isListUrl(`https://${ideographs}/`)).toBe(false);
  });
});

it('takes a host in Latin letters other than ASCII, however often it is asked', () => {
  for (let calls = 0; calls < 20_000; calls += 1)
    if (!isListUrl('https://bücher.example/')) expect.unreachable(`refused at call ${calls}`);
});

describe('the words of servers for an upstream', () => {
  it.each([
    ['tls://', '"tls://": no host'],
    ['tls:///', '"tls:///": no host'],
    ['tls://:853', '"tls://:853": no host'],
    ['tls://dns.example:', 'cannot parse integer from empty string'],
    ['tls://dns.example:853//', null],
    ['tls://dns.example:65536/', 'number too large to fit in target type'],
    ['[::1]', null],
  ])('%s: %s', (text, words) => {
    expect(upstreamFault(text)).toBe(words);
  });
});
