import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { checkFile } from '../../../src/document/check/file-check.js';
import { readServerText } from '../../../src/document/check/server-text.js';
import { readingOf } from '../../../src/document/check/servers.js';
import { startProblem } from '../../../src/document/check/start.js';
import { readDocument } from '../../../src/document/document.js';
import { underBase } from '../../../src/wire/traits/api-root.js';
import {
  domainFile,
  flatAgainFile,
  inboundsFile,
  namedKeysFile,
  overnetFile,
  plainKeysFile,
  protocolRulesFile,
  type ServerFile,
  tokenAndDnsFile,
} from '../../../src/wire/traits/server-file.js';

/** The smallest flat file from which a server starts. */
const FLAT = { mode: 'server', listen: '0.0.0.0:50000', access_keys: ['key-a'] };

const OSTP = { protocol: 'ostp', tag: 'in', listen: '0.0.0.0', port: 50000, users: ['key-a'] };
const NESTED = { mode: 'server', inbounds: [OSTP], outbounds: [] };

const problemIn = (text: string, file: ServerFile) => startProblem(readServerText(Buffer.from(text)), file);

/** What ends the start from the smallest flat file with other members; undefined takes one out. */
const flatProblem = (members: object, file: ServerFile) => problemIn(JSON.stringify({ ...FLAT, ...members }), file);

describe('a server of any line', () => {
  const FLAT_LINES = REVISIONS.filter(({ file }) => file.layout === 'access_keys');

  it.each(REVISIONS)('of $id starts from the smallest file of its layout, and passes over what it does not know', ({
    file,
  }) => {
    const smallest = file.layout === 'inbounds' ? NESTED : FLAT;
    expect(problemIn(JSON.stringify(smallest), file)).toBeNull();
    expect(problemIn(JSON.stringify({ ...smallest, monitoring: [{ any: 1.5 }], log: {} }), file)).toBeNull();
    expect(problemIn(`// a\n# b\n/* c * d */ ${JSON.stringify(smallest)} // e`, file)).toBeNull();
  });

  it('is told the line of the file, however many lines its comments have', () => {
    for (const [text, line] of [
      ['{\n/* a\nb */\n"x": "\\ud800"}', 'line 4'],
      [`{\n// a\n/* a\n\nb */\n"x": ${'['.repeat(127)}${']'.repeat(127)}}`, 'line 6'],
    ] as const)
      expect(readServerText(Buffer.from(text)).problem).toContain(line);
  });

  // It took half an hour, because the work grew with the square of their number.
  it('is told what is wrong with paths of a million slashes', () => {
    const path = `/a${'/'.repeat(1_000_000)}x`;
    const others = { domain: 'vpn.example.com', tls: { enabled: true, ws_path: '/s3cr3tpath' } };
    const file = { ...FLAT, ...others, api: { webpath: path }, subscription: { enabled: true, path } };
    const bytes = Buffer.from(JSON.stringify(file));
    expect(startProblem(readServerText(bytes), domainFile)).toBe('subscription.path: expected a path such as /sub');
    expect(readDocument(bytes).configuration.listener?.webpath).toBe(path);
    expect(underBase.paths(path).base).toBe(path);
  });

  it('is judged with paths of ten million characters', () => {
    const others = { domain: 'vpn.example.com', tls: { enabled: true, ws_path: `/${'a'.repeat(10_000_000)}` } };
    const subscription = { enabled: true, path: '/b'.repeat(5_000_000) };
    expect(flatProblem({ ...others, subscription }, domainFile)).toBeNull();
    const doubled = { ...subscription, path: `${subscription.path}//c` };
    expect(flatProblem({ ...others, subscription: doubled }, domainFile)).toMatch(/^subscription\.path: /);
  });

  it.each<[what: string, text: (file: string) => string, problem: RegExp]>([
    ['a byte order mark', (file) => `\ufeff${file}`, /byte order mark/],
    ['a comma behind the last member', (file) => file.replace(/\}$/, ',}'), /unexpected '}'/],
    ['half of a surrogate pair', (file) => file.replace('"mode"', '"x":"\\ud800","mode"'), /lone surrogate/],
    [
      'a number beyond a double',
      (file) => file.replace('"mode"', '"x":1e999,"mode"'),
      /^1e999: expected a number in the range/,
    ],
    [
      '128 levels',
      (file) => file.replace('"mode"', `"x":${'['.repeat(127)}${']'.repeat(127)},"mode"`),
      /deeper than 127/,
    ],
    ['a block comment that ends with two stars', (file) => `/* a **/${file}`, /^a comment is not closed/],
    ['text behind the end', (file) => `${file}{}`, /expected the end of input/],
    ['another root', () => '[]', /^the root: expected an object$/],
    ['an empty file', () => '', /end of input/],
  ])('does not start with %s', (_, text, problem) => {
    for (const { id, file } of REVISIONS) {
      const smallest = JSON.stringify(file.layout === 'inbounds' ? NESTED : FLAT);
      expect(problemIn(text(smallest), file), id).toMatch(problem);
    }
  });

  it.each<[text: string]>([
    ['"x": 123456789012345678901234567890'],
    ['"x": 1e-999'],
    ['"x": "\\ud83d\\ude00"'],
    [`"x": ${'['.repeat(126)}${']'.repeat(126)}`],
    ['"x": 1, "x": 2'],
    ['/***** a *****/ "x": 1'],
  ])('takes %s', (member) => {
    for (const { id, file } of REVISIONS) {
      const smallest = JSON.stringify(file.layout === 'inbounds' ? NESTED : FLAT);
      expect(problemIn(smallest.replace('{', `{${member},`), file), id).toBeNull();
    }
  });

  it.each<[members: object, problem: string]>([
    [{ mode: 'relay' }, 'mode: expected "server"'],
    [{ mode: undefined }, 'mode: expected "server"'],
    [{ listen: undefined }, 'listen: expected a string or an array of strings'],
    [{ listen: 50000 }, 'listen: expected a string or an array of strings'],
    [{ listen: [] }, 'listen: expected at least one address'],
    [{ listen: 'localhost:1' }, 'listen: expected an IP address with a port, such as 0.0.0.0:50000 or [::]:50000'],
    [{ listen: '::1:50000' }, 'listen: expected an IP address with a port, such as 0.0.0.0:50000 or [::]:50000'],
    [{ listen: ['127.0.0.1:1', '127.0.0.1:1'] }, 'listen: expected each address once'],
    [{ access_keys: undefined }, 'access_keys: expected an array of keys'],
    [{ access_keys: 'key-a' }, 'access_keys: expected an array of keys'],
    [{ access_keys: [] }, 'access_keys: expected at least one key'],
    [{ access_keys: ['a', 7] }, 'access_keys[1]: expected a string or an object'],
    [{ log_level: 5 }, 'log_level: expected a string'],
    [{ debug: 'no' }, 'debug: expected true or false'],
    [{ api: [true] }, 'api: expected 3 elements'],
    [{ api: { enabled: 'yes' } }, 'api.enabled: expected true or false'],
    [{ fallback: true }, 'fallback: expected an object'],
    [{ outbound: { enabled: true } }, 'outbound.protocol: expected a string'],
    [
      { outbound: { enabled: true, protocol: 's', address: 'a', port: 90_500 } },
      'outbound.port: expected an integer from 0 to 65535',
    ],
    [
      { outbound: { enabled: true, protocol: 's', address: 'a', port: 1, rules: null } },
      'outbound.rules: expected an array',
    ],
    [
      { outbound: { enabled: true, protocol: 's', address: 'a', port: 1, rules: [{ ip_cidr: [5] }] } },
      'outbound.rules[0].ip_cidr[0]: expected a string',
    ],
  ])('with a root list does not start with %j, and says why', (members, problem) => {
    for (const { id, file } of FLAT_LINES) {
      expect(flatProblem(members, file)?.replace(/\d elements/, '3 elements'), id).toBe(problem);
    }
  });

  it('with a root list takes an array for a section, null for an optional member, and a rule without an action', () => {
    const outbound = { enabled: true, protocol: 's', address: 'a', port: 1, rules: [{}], default_action: null };
    for (const { id, file } of FLAT_LINES)
      expect(flatProblem({ fallback: [true, null, 'x'], outbound, api: null, log_level: null }, file), id).toBeNull();
  });

  it('refuses a known member that stands twice, where it is not read by way of a map', () => {
    const twice = (member: string) => JSON.stringify(FLAT).replace('{', `{${member},`);
    for (const { id, file } of FLAT_LINES) {
      expect(problemIn(twice('"listen":"[::]:1"'), file), id).toBe('listen: it stands there twice');
      expect(problemIn(twice('"api":{"bind":"a","bind":"b"}'), file), id).toBe('api.bind: it stands there twice');
    }
    const member = '"access_keys":[{"access_key":"a","name":"x","name":"y"}],"mode":"server","listen":"[::]:1"';
    expect(problemIn(`{${member}}`, namedKeysFile)).toBe('access_keys[0].name: it stands there twice');
    expect(problemIn(JSON.stringify(NESTED).replace('{', '{"mode":"client",'), inboundsFile)).toBeNull();
    expect(problemIn(twice('"dns":{"enabled":1,"enabled":true}'), domainFile)).toBeNull();
  });
});

const FILES: Readonly<Record<string, ServerFile>> = {
  plainKeysFile,
  namedKeysFile,
  tokenAndDnsFile,
  protocolRulesFile,
  flatAgainFile,
  domainFile,
  overnetFile,
};

describe('servers whose members differ', () => {
  it.each<[name: string, members: object, problem: string | null]>([
    ['plainKeysFile', { access_keys: ['a', { access_key: 'b' }] }, 'access_keys[1]: expected a string, as each key'],
    ['namedKeysFile', { access_keys: ['a', { access_key: 'b' }] }, null],
    ['namedKeysFile', { access_keys: [{ key: 'b' }] }, 'access_keys[0].access_key: absent'],
    [
      'namedKeysFile',
      { access_keys: [{ access_key: 'b', limit_bytes: 1.5 }] },
      'access_keys[0].limit_bytes: expected an integer from 0 to 18446744073709551615',
    ],
    ['namedKeysFile', { access_keys: [{ access_key: '' }, ''] }, null],
    ['namedKeysFile', { reality: {} }, 'reality.dest: expected a string'],
    ['protocolRulesFile', { reality: {} }, null],
    ['tokenAndDnsFile', { dns: { enabled: true } }, 'dns.doh_upstream: expected a string'],
    ['flatAgainFile', { dns: { enabled: true } }, 'dns.doh_upstream: expected a string'],
    ['domainFile', { dns: { enabled: true } }, null],
    ['domainFile', { dns: { enabled: null } }, 'dns.enabled: expected true or false'],
    ['domainFile', { dns: { doh_upstream: null, adblock_urls: null } }, null],
    ['domainFile', { transport: { junk_pc: [1] } }, 'transport.junk_pc: expected 2 elements'],
    ['namedKeysFile', { domain: 5, tls: true, config_version: '2' }, null],
    ['domainFile', { overnet: { enabled: 1 }, local_access: 0 }, null],
    ['overnetFile', { overnet: { enabled: 1 } }, 'overnet.enabled: expected true or false'],
    ['overnetFile', { local_access: null }, 'local_access: expected true or false'],
  ])('%s with %j: %s', (name, members, problem) => {
    expect(flatProblem(members, FILES[name] ?? inboundsFile)).toBe(problem);
  });

  it.each<[members: object, problem: string | null]>([
    [{ inbounds: [] }, 'inbounds: expected one with the protocol "ostp"'],
    [{ inbounds: null }, 'inbounds: expected an array'],
    [{ outbounds: undefined }, 'outbounds: expected an array'],
    [{ outbounds: [{ protocol: 'tor', tag: 't' }] }, 'outbounds[0].protocol: expected socks5, socks, direct, block'],
    [{ inbounds: [{ ...OSTP, users: [] }] }, 'inbounds[0].users: expected at least one key'],
    [{ inbounds: [OSTP, { ...OSTP, users: undefined }] }, 'inbounds[1].users: expected an array of keys'],
    [{ inbounds: [{ ...OSTP, port: '1' }] }, 'inbounds[0].port: expected an integer from 0 to 65535'],
    [
      { inbounds: [{ ...OSTP, listen: '::' }] },
      'inbounds: expected an IP address in "listen" of each with the protocol "ostp", an IPv6 address in brackets',
    ],
    [{ routing: { rules: [] } }, 'routing.default_outbound: expected a string'],
    [{ routing: { rules: [{}], default_outbound: 'd' } }, 'routing.rules[0].outbound: expected a string'],
    [{ version: 3, access_keys: [7] }, null],
  ])('with inbounds and %j: %s', (members, problem) => {
    expect(problemIn(JSON.stringify({ ...NESTED, ...members }), inboundsFile)).toBe(problem);
  });

  const TLS = { enabled: true, ws_path: '/s3cr3tpath' };
  const PUBLISHED = { domain: 'vpn.example.com', tls: TLS };

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
    [{ tls: { ...TLS, cert: 'none' }, subscription: { enabled: true } }, 'subscription: expected a domain with it'],
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
    [{ dns: { enabled: true, upstreams: [], cache_min_ttl: 90_000, blocked_services: ['none'] } }, null],
    [{ dns: { upstream_mode: 'both' } }, 'dns.upstream_mode: expected "fallback" or "parallel"'],
    [{ dns: { lists: ['https://lists.example/a.txt'] } }, 'dns.lists[0]: expected an object'],
    [{ dns: { query_log_size: '1' } }, 'dns.query_log_size: expected an integer from 0 to 18446744073709551615'],
  ])('from 0.4.6 on with %j: %s', (members, problem) => {
    for (const file of [domainFile, overnetFile]) expect(flatProblem(members, file)).toBe(problem);
  });

  it('from 0.4.6 on serve no API that nobody could sign in to', () => {
    const serves = (api: object, file: ServerFile = domainFile) =>
      readingOf(checkFile(Buffer.from(JSON.stringify({ ...FLAT, api }))), file, '0.4.6').listener;
    for (const api of [{ token: ' ' }, { token: '' }, { username: 'a' }, {}])
      expect(serves(api), JSON.stringify(api)).toBe(false);
    expect([{ token: 't' }, { username: 'a', password_hash: 'h' }].map((api) => serves(api))).toEqual([true, true]);
    expect(serves({}, flatAgainFile)).toBe(true);
  });

  it('with a root list drop every key at a live reload without it, and change nothing at one with a wrong element', () => {
    const reload = (members: object) =>
      readingOf(checkFile(Buffer.from(JSON.stringify({ ...FLAT, ...members }))), namedKeysFile, '0.2.34').atLiveReload;
    expect(reload({ access_keys: undefined })).toMatchObject({
      keys: [],
      note: 'there is no access_keys: every key is dropped',
    });
    expect(reload({ access_keys: ['a', { key: 'b' }] }).note).toContain('stops their live reloads, too');
  });
});
