import { describe, expect, it } from 'vitest';
import { checkFile } from '../../../src/document/check/file-check.js';
import { upstreamPlace } from '../../../src/wire/dns-values.js';
import {
  type FileReading,
  typedFlatFile,
  typedFlatFileWithDomain,
  typedFlatFileWithOvernet,
} from '../../../src/wire/traits/file-reading.js';

/** The smallest file from which a server of 0.4.6 starts. */
const SMALLEST = {
  mode: 'server',
  config_version: 2,
  listen: '0.0.0.0:50000',
  access_keys: ['key-a', { access_key: 'key-b', name: 'bob', limit_bytes: 1000 }],
  api: { enabled: true, bind: '127.0.0.1:9090', token: 't', webpath: 'panel' },
};

const TLS = { enabled: true, ws_path: '/s3cr3tpath' };
const PUBLISHED = { domain: 'vpn.example.com', tls: TLS };

const offerOf = (value: object) => checkFile(Buffer.from(JSON.stringify(value))).offer;

/** What ends the start from the smallest file with other members; undefined takes one out. */
function problemWith(members: object, reading: FileReading = typedFlatFileWithDomain): string | null {
  return reading.startProblem(offerOf({ ...SMALLEST, ...members }));
}

describe('a server from 0.4.0 on', () => {
  const lines = [typedFlatFile, typedFlatFileWithDomain, typedFlatFileWithOvernet];

  it.each(lines)('$name: starts from the smallest file, has its keys and serves its API', (reading) => {
    const offer = offerOf(SMALLEST);
    expect(reading.startProblem(offer)).toBeNull();
    expect(reading.atStart(offer)).toMatchObject({ keys: 2, named: 1, limited: 1, note: null });
    expect(reading.atLiveReload(offer, '0.4.6')).toMatchObject({ keys: 2, note: null });
    expect(reading.readsListener(offer)).toBe(true);
  });

  it.each(lines)('$name: passes over members that it does not know, and takes null for absent', (reading) => {
    const others = { monitoring: [1], version: '0.3.21', log: {}, bind_ip: null, dns: null, api: { token: 't', x: 1 } };
    expect(problemWith({ ...others, transport: { mode: 'udp' }, debug: false }, reading)).toBeNull();
    expect(problemWith({ listen: ['0.0.0.0:50000', '[::]:50000'], log_level: 'info' }, reading)).toBeNull();
  });

  it.each<[members: object, problem: string]>([
    [{ mode: 'relay' }, 'mode: expected "server"'],
    [{ mode: undefined }, 'mode: expected "server"'],
    [{ listen: undefined }, 'listen: expected a string or an array of strings'],
    [{ listen: 50000 }, 'listen: expected a string or an array of strings'],
    [{ access_keys: undefined }, 'access_keys: expected an array'],
    [{ access_keys: 'key-a' }, 'access_keys: expected an array'],
    [{ access_keys: [] }, 'access_keys: expected at least one key'],
    [{ access_keys: undefined, inbounds: [] }, 'access_keys: expected an array; it does not read inbounds'],
    [
      { access_keys: ['a', 7, { key: 'b' }, { access_key: 'c', name: 5 }] },
      'access_keys: expected strings or objects with "access_key", found 3 other elements',
    ],
    [{ api: { enabled: 'yes' } }, 'api.enabled: expected true or false'],
    [{ outbound: { enabled: true } }, 'outbound.protocol: expected a string'],
    [
      { outbound: { enabled: true, protocol: 'socks5', address: '127.0.0.1', port: 90_500 } },
      'outbound.port: expected an integer from 0 to 65535',
    ],
    [
      { outbound: { enabled: true, protocol: 'socks5', address: '127.0.0.1', port: 1, rules: [{}] } },
      'outbound.rules[0].action: expected a string',
    ],
  ])('does not start with %j, and says why', (members, problem) => {
    for (const reading of lines) expect(problemWith(members, reading)).toBe(problem);
  });

  it('drops every key at a live reload without a list, and changes nothing at one with an element that is none', () => {
    const reload = (members: object) => typedFlatFile.atLiveReload(offerOf({ ...SMALLEST, ...members }), '0.4.0');
    expect(reload({ access_keys: undefined })).toMatchObject({
      keys: 0,
      note: 'there is no access_keys: every key is dropped',
    });
    expect(reload({ access_keys: ['a', { key: 'b' }] }).note).toContain('stops its live reloads');
  });
});

describe('a server from 0.4.6 on', () => {
  it.each<[members: object, problem: string | null]>([
    [{ config_version: 9 }, null],
    [{ config_version: '2' }, 'config_version: expected an integer from 0 to 4294967295'],
    [{ domain: '' }, null],
    [{ domain: 'localhost' }, 'domain: expected a domain name'],
    [{ domain: 'vpn.example.com:443' }, 'domain: expected a domain name'],
    [PUBLISHED, null],
    [{ tls: { ...TLS, enabled: false, ws_path: '/x', frontend: 'other' } }, null],
    [{ tls: TLS }, 'domain: expected a domain name, for which tls.cert "acme" asks'],
    [{ tls: { ...TLS, frontend: 'caddy' } }, null],
    [{ ...PUBLISHED, tls: { ...TLS, frontend: 'other' } }, 'tls.frontend: expected builtin, nginx, apache, caddy'],
    [{ ...PUBLISHED, tls: { ...TLS, cert: 'other' } }, 'tls.cert: expected acme, manual, none'],
    [
      { ...PUBLISHED, tls: { ...TLS, cert: 'manual', cert_path: '/c' } },
      'tls.cert_path: expected both tls.cert_path and tls.key_path, for which tls.cert "manual" asks',
    ],
    ...['/seven77', 's3cr3tpath', '', '/s3cr3t path'].map((path): [object, string] => [
      { ...PUBLISHED, tls: { ...TLS, ws_path: path } },
      'tls.ws_path: expected a path of at least 9 characters that begins with /',
    ]),
    ...['/panel/secret', '/.well-known/x'].map((path): [object, string] => [
      { ...PUBLISHED, tls: { ...TLS, ws_path: path } },
      'tls.ws_path: expected a path that is neither below /.well-known/ nor below the panel',
    ]),
    [{ ...PUBLISHED, tls: { ...TLS, public_port: -1 } }, 'tls.public_port: expected an integer from 0 to 65535'],
    [{ subscription: { enabled: true } }, 'subscription: expected tls to be enabled with it'],
    [{ tls: { ...TLS, cert: 'none' }, subscription: { enabled: true } }, 'subscription: expected a domain beside it'],
    [{ ...PUBLISHED, subscription: { enabled: true, update_interval_hours: 9999 } }, null],
    [{ ...PUBLISHED, subscription: { enabled: true, path: '/sub/' } }, null],
    [{ ...PUBLISHED, subscription: { enabled: true, path: 'sub' } }, 'subscription.path: expected a path such as /sub'],
    [
      { ...PUBLISHED, subscription: { enabled: true, path: '/panel/sub' } },
      'subscription.path: expected a path apart from tls.ws_path and from the panel',
    ],
    ...[['tcp'], []].map((include): [object, string] => [
      { ...PUBLISHED, subscription: { enabled: true, include } },
      'subscription.include: expected "tls", "udp" or both',
    ]),
    [{ subscription: { enabled: false, include: ['tcp'] } }, null],
    [{ dns: { enabled: true, doh_upstream: 'https://dns.example/dns-query', local_port: 50053 } }, null],
    [{ dns: { enabled: true, upstreams: [] } }, 'dns.upstreams: expected at least one upstream'],
    [{ dns: { upstreams: [] } }, null],
    [{ dns: { upstreams: ['1.1.1.1', 'tls://dns.example', 'tcp://[2001:db8::1]:5353'] } }, null],
    [{ dns: { upstreams: ['dns.example'] } }, expect.stringContaining('dns.upstreams: expected https://host/path')],
    [{ dns: { upstream_mode: 'both' } }, 'dns.upstream_mode: expected "fallback" or "parallel"'],
    [{ dns: { blocking_mode: 'zero' } }, 'dns.blocking_mode: expected "nxdomain" or "null_ip" or "refused"'],
    [{ dns: { lists: ['https://lists.example/a.txt'] } }, 'dns.lists[0]: expected a JSON object'],
    [
      { dns: { rewrites: [{ domain: 'a.example', answer: ' ' }] } },
      'dns.rewrites: expected a domain and an answer in each',
    ],
    [{ dns: { custom_domains: { 'a.example': '' } } }, 'dns.rewrites: expected a domain and an answer in each'],
    [{ dns: { blocked_services: ['none'] } }, expect.stringContaining('dns.blocked_services: expected tiktok, ')],
    [{ dns: { cache_min_ttl: 90_000 } }, 'dns.cache_min_ttl: expected no more than dns.cache_max_ttl'],
  ])('with %j: %s', (members, problem) => {
    for (const reading of [typedFlatFileWithDomain, typedFlatFileWithOvernet])
      expect(problemWith(members, reading)).toEqual(problem);
    if (!('config_version' in members)) expect(problemWith(members, typedFlatFile)).toBeNull();
  });

  it('serves no API that nobody could sign in to', () => {
    const serves = (api: object) => typedFlatFileWithDomain.readsListener(offerOf({ ...SMALLEST, api }));
    expect([{ token: ' ' }, { token: '' }, { username: 'a' }, {}].map(serves)).toEqual([false, false, false, false]);
    expect([{ token: 't' }, { username: 'a', password_hash: 'h' }].map(serves)).toEqual([true, true]);
    expect(typedFlatFile.readsListener(offerOf({ ...SMALLEST, api: {} }))).toBe(true);
  });

  it('reads overnet and local_access from 0.4.7 on', () => {
    const members = { overnet: { enabled: 1 }, local_access: 0 };
    expect(problemWith(members)).toBeNull();
    expect(problemWith(members, typedFlatFileWithOvernet)).toBe('overnet.enabled: expected true or false');
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
