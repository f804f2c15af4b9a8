import { describe, expect, it } from 'vitest';
import { domainName, isLinkLocal } from '../../src/wire/dns-values.js';
import { dnsOfFourMembers } from '../../src/wire/traits/dns-form.js';

describe('POST /dns/config', () => {
  it.each([
    [{ doh_upstream: 'ftp://dns.example/' }, 'doh_upstream: expected an http or https URL'],
    [{ doh_upstream: '' }, 'doh_upstream: expected an http or https URL'],
    [{ adblock_urls: ['https://a.example/l', 'file:///etc/passwd'] }, 'adblock_urls[1]: expected an http or https URL'],
    [
      { adblock_urls: ['http://169.254.169.254/latest'] },
      'adblock_urls[0]: expected a URL whose host is no link-local',
    ],
    [{ adblock_urls: ['http://0xA9FEA9FE/'] }, 'adblock_urls[0]: expected a URL whose host is no link-local'],
    [{ adblock_urls: ['http://[fe80::1]/'] }, 'adblock_urls[0]: expected a URL whose host is no link-local'],
    [{ adblock_urls: ['http://[::ffff:169.254.1.1]/'] }, 'adblock_urls[0]: expected a URL whose host is no link-local'],
    [{ custom_domains: { 'a b': '192.0.2.1' } }, 'custom_domains["a b"]: expected a domain name'],
    [{ custom_domains: { 'a.*.b': '192.0.2.1' } }, 'custom_domains["a.*.b"]: expected a domain name'],
    [{ custom_domains: { a: '192.0.2' } }, 'custom_domains["a"]: expected an IPv4 or IPv6 address'],
    [{ custom_domains: { a: 'fe80::1%eth0' } }, 'custom_domains["a"]: expected an IPv4 or IPv6 address'],
  ])('with %j is refused and names the place', (body, expected) => {
    expect(() => dnsOfFourMembers.decode({ enabled: true, ...body })).toThrow(expected);
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
  ])('of %s is %s', (text, expected) => {
    expect(domainName(text)).toBe(expected);
  });
});

describe('isLinkLocal', () => {
  it.each([
    ['169.254.0.1', true],
    ['fe80::1', true],
    ['::ffff:a9fe:a9fe', true],
    ['127.0.0.1', false],
    ['::1', false],
    ['example.com', false],
  ])('of %s is %s', (address, expected) => {
    expect(isLinkLocal(address)).toBe(expected);
  });
});
