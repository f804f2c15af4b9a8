import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { checkFile } from '../../../src/document/check/file-check.js';
import { readServerText } from '../../../src/document/check/server-text.js';
import { readingOf } from '../../../src/document/check/servers.js';
import { startProblem } from '../../../src/document/check/start.js';
import { convertFile } from '../../../src/document/convert/convert.js';
import type { ConversionTarget } from '../../../src/document/convert/target.js';
import { type ConfigurationDocument, readDocument } from '../../../src/document/document.js';
import { commentsBetween } from '../../../src/document/sequence.js';
import { isJsonObject, type JsonValue, parseJson } from '../../../src/wire/json/json.js';
import {
  domainFile as FLAT_2,
  overnetFile as FLAT_3,
  flatAgainFile,
  inboundsFile,
  loginFile,
  namedKeysFile,
  plainKeysFile,
  protocolRulesFile,
  tokenAndDnsFile,
} from '../../../src/wire/traits/server-file.js';
import { ROOT } from '../../clone.js';
import { behaviourOf } from '../../stand-in/behaviour.js';
import { parseConfiguration, readAtStart } from '../../stand-in/configuration.js';
import { tries } from '../../tries.js';
import { WHOLE } from '../../whole.js';
import { anyFile } from '../generated.js';
import { flatFile, nestedFile } from '../started.js';

const RUNS = tries(WHOLE ? 50 : 25);

const sample = (name: string) => readFile(join(ROOT, 'fixtures/samples', name));

const FLAT: ConversionTarget = { layout: 'access_keys', configVersion: null, laterMembers: [] };
const NESTED: ConversionTarget = { ...FLAT, layout: 'inbounds' };

function there(bytes: Buffer): Buffer {
  const { layout } = readDocument(bytes).document;
  return convertFile(bytes, layout.name === 'inbounds' ? FLAT : NESTED).bytes;
}

/** The comments inside the brackets of the lists of keys, in their order. */
function besideKeys({ bytes, lists }: ConfigurationDocument): readonly string[] {
  return lists.flatMap(({ open, close }) => commentsBetween(bytes, open, close).map(({ text }) => text));
}

function allComments(bytes: Buffer): readonly string[] {
  return commentsBetween(bytes, 0, bytes.length)
    .map(({ text }) => text)
    .toSorted();
}

/** The elements of all lists, as values, the key under one name. */
function elements({ bytes, lists, layout }: ConfigurationDocument): readonly JsonValue[] {
  return lists.flatMap(({ starts, ends }) =>
    Array.from(starts, (start, index) => {
      const element = parseJson(bytes.subarray(start, ends[index]), { comments: true, duplicates: 'last' });
      if (!isJsonObject(element)) return element;
      return Object.fromEntries(
        Object.entries(element).map(([name, value]) => [name === layout.keyMember ? 'KEY' : name, value]),
      );
    }),
  );
}

describe('converting a file and back', () => {
  it('is the identity on keys, names, limits, order, elements and the comments beside the keys', () => {
    fc.assert(
      fc.property(anyFile, ({ text }) => {
        const bytes = Buffer.from(text);
        const before = readDocument(bytes);
        const converted = there(bytes);
        const middle = readDocument(converted);
        expect(middle.document.layout.name).not.toBe(before.document.layout.name);
        const after = readDocument(there(converted));
        for (const { configuration, document } of [middle, after]) {
          expect(configuration.keys).toEqual(before.configuration.keys);
          expect(elements(document)).toEqual(elements(before.document));
          expect(besideKeys(document)).toEqual(besideKeys(before.document));
        }
        expect(after.document.layout.name).toBe(before.document.layout.name);
      }),
      { numRuns: RUNS },
    );
  });

  it('loses no comment of the file', () => {
    fc.assert(
      fc.property(anyFile, ({ text }) => {
        const bytes = Buffer.from(text);
        expect(allComments(there(bytes))).toEqual(allComments(bytes));
      }),
      { numRuns: RUNS },
    );
  });

  it('of members that all have a place loses nothing: the file reads the same', () => {
    const optional = { requiredKeys: [] };
    const address = fc.constantFrom('203.0.113.7:50000', '[::1]:9', ':1');
    const rule = fc.record({ domain_suffix: fc.constant(['.a']), action: fc.constantFrom('proxy', 'direct', 'block') });
    const outbound = fc.record({
      enabled: fc.constant(true),
      protocol: fc.constant('socks5'),
      address: fc.constant('192.0.2.1'),
      default_action: fc.constantFrom('proxy', 'block', null),
      rules: fc.array(rule, { maxLength: 3 }),
      extra: fc.constant({ deep: [1] }),
    });
    const api = fc.record({ enabled: fc.constant(true), bind: address, token: fc.constant('t'), tls: fc.constant(1) });
    const members = {
      listen: address,
      access_keys: fc.array(fc.constantFrom('a', { access_key: 'b', name: 'B' }), { maxLength: 3 }),
      api,
      outbound,
      dns: fc.constant({ enabled: true }),
      monitoring: fc.constant([{}]),
    };
    fc.assert(
      fc.property(fc.record(members, optional), fc.constantFrom(0, 2, '\t'), fc.boolean(), (value, indent, marked) => {
        const bytes = Buffer.from(
          `${marked ? '\ufeff' : ''}${JSON.stringify({ mode: 'server', ...value }, null, indent)}`,
        );
        const { configuration } = readDocument(bytes);
        const converted = convertFile(bytes, NESTED);
        const back = convertFile(converted.bytes, FLAT);
        expect([converted.losses, back.losses]).toEqual([[], []]);
        for (const { bytes: one } of [converted, back]) {
          expect({ ...readDocument(one).configuration, warnings: [] }).toEqual({ ...configuration, warnings: [] });
        }
      }),
    );
  });

  it('of the sample with access_keys gives a file that reads the same, and then the same again, without a loss', async () => {
    const bytes = await sample('server.jsonc');
    const before = readDocument(bytes).configuration;
    const { bytes: converted, losses } = convertFile(bytes, NESTED);
    expect(losses).toEqual([]);
    expect(readDocument(converted).configuration).toEqual(before);
    const back = convertFile(converted, FLAT);
    expect(back.losses).toEqual([]);
    expect(readDocument(back.bytes).configuration).toEqual(before);
  });
});

describe('a file that becomes one with inbounds', () => {
  it('is one that a server of that layout starts from, whatever the other had', () => {
    const server = behaviourOf('0.3.21');
    fc.assert(
      fc.property(anyFile, ({ text }) => {
        const bytes = Buffer.from(text);
        if (readDocument(bytes).document.layout.name === 'inbounds') return;
        const { bytes: converted } = convertFile(bytes, NESTED);
        expect(() => readAtStart(parseConfiguration(converted), server)).not.toThrow();
        expect(readingOf(checkFile(converted), inboundsFile, '0.3.21').problem ?? '').not.toContain('outbounds');
      }),
      { numRuns: RUNS },
    );
  });

  it('has what those servers need and others do without: a default, an action of each rule, the first address in brackets', () => {
    const file = {
      mode: 'server',
      listen: ['[::1]:50000', '0.0.0.0:50001'],
      access_keys: ['a'],
      outbound: { enabled: true, protocol: 'socks5', address: '127.0.0.1', port: 9050, rules: [{ ip_cidr: ['::/0'] }] },
      dns: { upstreams: ['9.9.9.9'] },
    };
    const { bytes, losses } = convertFile(Buffer.from(JSON.stringify(file)), inboundsFile);
    expect(losses.map(({ place }) => place)).toEqual(['listen[1]']);
    expect(JSON.parse(bytes.toString())).toMatchObject({
      inbounds: [{ listen: '[::1]', port: 50000 }],
      routing: { rules: [{ ip_cidr: ['::/0'], outbound: 'proxy' }], default_outbound: 'direct' },
      dns: { enabled: false, doh_upstream: '9.9.9.9', custom_domains: {} },
    });
    expect(startProblem(readServerText(bytes), inboundsFile)).toBeNull();
  });

  it('has empty outbounds behind the inbounds, where no routing is configured', () => {
    const text = '{\n  // ours\n  "access_keys": ["a"],\n  "dns": {}\n}\n';
    const { bytes } = convertFile(Buffer.from(text), NESTED);
    expect(bytes.toString()).toMatch(/\n {2}\],\n {2}"outbounds": \[\],\n {2}"dns": \{\}\n\}\n$/);
  });
});

describe('a file from which a server starts', () => {
  it('is one from which the servers of the target start, whatever the line', () => {
    fc.assert(
      fc.property(fc.oneof(flatFile, nestedFile), fc.constantFrom(...REVISIONS.map(({ id }) => id)), (file, id) => {
        const to = REVISIONS.find((revision) => revision.id === id)?.file ?? inboundsFile;
        const bytes = Buffer.from(JSON.stringify(file, null, 2));
        fc.pre(REVISIONS.some((revision) => startProblem(readServerText(bytes), revision.file) === null));
        fc.pre(readDocument(bytes).document.layout.name !== to.layout);
        const { bytes: converted } = convertFile(bytes, to);
        expect(startProblem(readServerText(converted), to), `${id}: ${converted}`).toBeNull();
      }),
      { numRuns: RUNS },
    );
  });

  it('has plain keys for servers that take no others, and names what goes with that', () => {
    const users = ['a', { key: 'b', name: 'Bo' }, { key: 'c' }];
    const file = {
      mode: 'server',
      inbounds: [{ protocol: 'ostp', tag: 'in', listen: '0.0.0.0', port: 50000, users }],
      outbounds: [],
    };
    const { bytes, losses } = convertFile(Buffer.from(JSON.stringify(file)), plainKeysFile);
    expect(JSON.parse(bytes.toString()).access_keys).toEqual(['a', 'b', 'c']);
    expect(losses.map(({ place }) => place)).toContain('access_keys');
    expect(startProblem(readServerText(bytes), plainKeysFile)).toBeNull();
  });
});

describe('what has no place in the other layout', () => {
  const lossesOf = (value: object) => {
    const bytes = Buffer.from(JSON.stringify(value));
    const to = 'inbounds' in value ? FLAT : NESTED;
    const { losses, bytes: converted } = convertFile(bytes, to);
    return { places: losses.map(({ place }) => place), converted: JSON.parse(converted.toString()) };
  };

  it.each([
    ['a listener that is not enabled', { api: { bind: '127.0.0.1:1', token: 't' } }, ['api']],
    ['routing that is not enabled', { outbound: { enabled: false, protocol: 'socks5' } }, ['outbound']],
    ['an address that is none', { listen: '203.0.113.7' }, ['listen']],
    ['a bind that is none', { api: { enabled: true, bind: 'nowhere' } }, ['api.bind']],
    ['another proxy than socks5', { outbound: { enabled: true, protocol: 'http' } }, ['outbound.protocol']],
    ['members of the other layout', { routing: {}, outbounds: [] }, ['routing', 'outbounds']],
    ['a member that would be the key', { access_keys: [{ access_key: 'a', key: 'b' }] }, ['access_keys[0].key']],
    ['keys that are no array', { access_keys: { a: 1 } }, ['access_keys']],
    [
      'members that an outbound or a rule has',
      { outbound: { enabled: true, protocol: 'socks5', tag: 1, rules: [{ action: 'direct', outbound: 'x' }] } },
      ['outbound.tag', 'outbound.rules[0].outbound'],
    ],
  ])('%s is named on the way to inbounds, and left out', (_, value, places) => {
    const { converted, ...found } = lossesOf({ mode: 'server', ...value });
    expect(found.places).toEqual(places);
    expect(converted).toMatchObject({ mode: 'server' });
    expect(converted.inbounds[0]).toMatchObject({ protocol: 'ostp' });
  });

  const OSTP = { protocol: 'ostp', port: 1, users: ['a'] };
  const SOCKS = { protocol: 'socks5', tag: 'proxy' };
  it.each([
    ['a second inbound for keys', { inbounds: [OSTP, { ...OSTP, users: ['b'] }] }, ['inbounds[1]']],
    ['an inbound of another kind', { inbounds: [OSTP, { protocol: 'other' }, 5] }, ['inbounds[1]', 'inbounds[2]']],
    ['a second listener', { inbounds: [OSTP, { protocol: 'api' }, { protocol: 'api' }] }, ['inbounds[2]']],
    ['a tag of its own', { inbounds: [{ ...OSTP, tag: 'mine' }] }, ['inbounds[0].tag']],
    ['a member of the inbound', { inbounds: [{ ...OSTP, sni: 'x' }] }, ['inbounds[0].sni']],
    ['a root list beside inbounds', { inbounds: [OSTP], access_keys: ['b'] }, ['access_keys']],
    ['a port of 70000', { inbounds: [{ ...OSTP, port: 70000 }] }, ['inbounds[0].port']],
    ['rules without a proxy', { inbounds: [OSTP], routing: { rules: [{ outbound: 'x' }] } }, ['routing.rules']],
    [
      'another outbound, and the rule to it',
      {
        inbounds: [OSTP],
        outbounds: [SOCKS, { protocol: 'http', tag: 'h' }],
        routing: { rules: [{ outbound: 'h' }, { outbound: 'nowhere' }], strategy: 1 },
      },
      ['outbounds[1]', 'routing.strategy', 'routing.rules[0].outbound', 'routing.rules[1].outbound'],
    ],
  ])('%s is named on the way to access_keys, and left out', (_, value, places) => {
    const { converted, ...found } = lossesOf({ mode: 'server', ...value });
    expect(found.places).toEqual(places);
    expect(converted.access_keys[0]).toBe('a');
  });

  it('the keys of several inbounds become one list in their order', () => {
    const text = `{ "inbounds": [
      { "protocol": "ostp", "users": [ "a", "b" // last of the first
      ] },
      { "protocol": "ostp", "users": [] }, { "protocol": "ostp" },
      { "protocol": "ostp", "users": [ /* first of the last */ { "key": "a" }, { "key": "c" } ] }
    ] }`;
    const { bytes } = convertFile(Buffer.from(text), FLAT);
    const { configuration, document } = readDocument(bytes);
    expect(configuration.keys.map(({ accessKey }) => accessKey)).toEqual(['a', 'b', 'c']);
    expect(besideKeys(document)).toEqual(['// last of the first', '/* first of the last */']);
  });

  it.each([
    ['{"mode": "server", "inbounds": []}', 'the file has the layout with inbounds already'],
    ['{"mode": "server", "api": {"token": "a", "token": "b"}}', 'api.token: it stands there twice; leave one'],
    ['{"mode": ', 'unexpected end of input'],
  ])('%s is an error that says why', (text, message) => {
    expect(() => convertFile(Buffer.from(text), NESTED)).toThrow(message);
  });
});

describe('a file for servers from 0.4.6 on', () => {
  const versionIn = (bytes: Buffer) => {
    const root = parseJson(bytes, { comments: true, duplicates: 'last' });
    return isJsonObject(root) ? root.config_version : null;
  };

  it('from any file and back has the same keys, elements, comments and reading, and its number in between', () => {
    fc.assert(
      fc.property(anyFile, fc.constantFrom(FLAT_2, FLAT_3), ({ text, inbounds }, to) => {
        const bytes = Buffer.from(text);
        const before = readDocument(bytes);
        const there = convertFile(bytes, to);
        const back = convertFile(there.bytes, inbounds ? NESTED : FLAT);
        expect(versionIn(there.bytes)).toBe(BigInt(to.configVersion ?? 0));
        expect(versionIn(back.bytes)).toBeUndefined();
        for (const one of [there.bytes, back.bytes]) {
          const { configuration, document } = readDocument(one);
          expect(configuration.keys).toEqual(before.configuration.keys);
          expect(elements(document)).toEqual(elements(before.document));
          expect(besideKeys(document)).toEqual(besideKeys(before.document));
          expect(allComments(one)).toEqual(allComments(bytes));
        }
        if (!inbounds) expect([there.losses, back.losses]).toEqual([[], []]);
        expect(readDocument(back.bytes).document.layout).toBe(before.document.layout);
      }),
      { numRuns: RUNS },
    );
  });

  it('has its number behind the mode, in the style of the file, and nothing else changes', async () => {
    const bytes = await sample('server.jsonc');
    const { bytes: converted, losses } = convertFile(bytes, FLAT_2);
    expect(losses).toEqual([]);
    expect(converted.toString()).toBe(
      bytes.toString().replace('"mode": "server",\n', '"mode": "server",\n  "config_version": 2,\n'),
    );
    expect(readingOf(checkFile(converted), FLAT_2, '0.4.6').problem).toBeNull();
    const next = convertFile(converted, FLAT_3);
    expect(next.bytes.toString()).toBe(converted.toString().replace('"config_version": 2', '"config_version": 3'));
    expect(() => convertFile(converted, FLAT_2)).toThrow(
      'the file has the layout with access_keys and config_version 2 already',
    );
  });

  it('made from the sample of 0.3.21 is one from which such a server starts, with its token and all keys', async () => {
    const bytes = await sample('server-0.3.21.jsonc');
    const { bytes: converted, losses } = convertFile(bytes, FLAT_2);
    const checked = checkFile(converted);
    const { problem, atStart, listener } = readingOf(checked, FLAT_2, '0.4.6');
    expect(losses.map(({ place }) => place)).toEqual(['access_keys', 'outbounds[0].tag']);
    expect({ problem, listener }).toEqual({ problem: null, listener: true });
    expect(atStart.keys.map(({ name }) => name !== null)).toEqual([false, true, true]);
    expect(checked.configuration.listener?.token).toBe('sample-static-token');
  });

  const LATER = {
    mode: 'server',
    config_version: 3,
    listen: '203.0.113.7:50000',
    access_keys: ['a'],
    domain: 'vpn.example.com',
    tls: { enabled: true, ws_path: '/s3cr3tpath' },
    subscription: { enabled: true },
    overnet: { enabled: true },
    local_access: true,
    outbound: {
      enabled: true,
      protocol: 'socks5',
      address: '127.0.0.1',
      port: 1080,
      default_action: 'direct',
      rules: [{ action: 'proxy' }, { action: 'direct', send_from: '192.0.2.1' }],
    },
  };
  const ALL = ['domain', 'tls', 'subscription', 'overnet', 'local_access'];
  it.each([
    [NESTED, [...ALL, 'outbound.rules[1].send_from']],
    [FLAT, [...ALL, 'outbound.rules[1].send_from']],
    [flatAgainFile, ALL],
    [FLAT_2, ['overnet', 'local_access']],
  ])('moved to $layout with $configVersion names what nobody reads there, and keeps it', (to, places) => {
    const { losses, bytes } = convertFile(Buffer.from(JSON.stringify(LATER)), to);
    expect(losses).toEqual(places.map((place) => ({ place, text: 'servers of the target pass over it; it stays' })));
    const { domain, tls, subscription, overnet, local_access } = LATER;
    expect(JSON.parse(bytes.toString())).toMatchObject({ domain, tls, subscription, overnet, local_access });
    const back = convertFile(bytes, FLAT_3);
    expect(JSON.parse(back.bytes.toString())).toEqual(LATER);
  });

  it('names no member that is null', () => {
    const nulls = { mode: 'server', config_version: 2, access_keys: [], domain: null, overnet: null, tls: null };
    expect(convertFile(Buffer.from(JSON.stringify(nulls)), FLAT).losses).toEqual([]);
  });
});

describe('the credentials of an API', () => {
  const PBKDF2 = `pbkdf2-sha256$300000$${'0a'.repeat(16)}$${'0b'.repeat(32)}`;
  const SHA256 = '0c'.repeat(32);
  const lossesOf = (api: object, to: ConversionTarget) => {
    const flat = { mode: 'server', config_version: 3, access_keys: ['a'], api: { enabled: true, ...api } };
    return convertFile(Buffer.from(JSON.stringify(flat)), to).losses;
  };

  it.each([
    ['a token', { token: 't' }, loginFile, ['api.token']],
    ['a login', { username: 'u', password_hash: SHA256 }, namedKeysFile, ['api.username', 'api.password_hash']],
  ])('%s that no server of the target reads is named with what comes of it: the API is open', (_, api, to, places) => {
    const text = 'servers of the target pass over it, and their API would be open to everyone; it stays';
    expect(lossesOf(api, to)).toEqual(places.map((place) => ({ place, text })));
  });

  it.each([
    ['a token beside a login', { token: 't', username: 'u', password_hash: SHA256 }, loginFile, ['api.token']],
    ['a web path beside a token', { token: 't', webpath: 'p' }, namedKeysFile, ['api.webpath']],
  ])('%s is named where no server of the target reads it', (_, api, to, places) => {
    const text = 'servers of the target pass over it; it stays';
    expect(lossesOf(api, to)).toEqual(places.map((place) => ({ place, text })));
  });

  it.each([
    ['a token', { token: 't' }, protocolRulesFile],
    ['a login', { username: 'u', password_hash: SHA256, webpath: 'p' }, loginFile],
    ['a token and a login', { token: 't', username: 'u', password_hash: SHA256, webpath: 'p' }, inboundsFile],
    ['empty ones', { token: '', username: '', password_hash: '', webpath: '' }, plainKeysFile],
    ['a token', { token: 't' }, FLAT],
  ])('%s that servers of the target read are not named', (_, api, to) => {
    expect(lossesOf(api, to)).toEqual([]);
  });

  it('of an inbound are named there', () => {
    const api = { protocol: 'api', tag: 'a', listen: '127.0.0.1', port: 9090, token: 't' };
    const file = { mode: 'server', inbounds: [api, { protocol: 'ostp', users: ['a'] }], outbounds: [] };
    const { losses } = convertFile(Buffer.from(JSON.stringify(file)), loginFile);
    expect(losses.map(({ place }) => place)).toEqual(['inbounds[0].token', 'inbounds[0].tag']);
  });

  it.each([
    FLAT_2,
    protocolRulesFile,
    inboundsFile,
    FLAT,
  ])('with a salted hash are named for $layout with $configVersion, where nobody could sign in by it', (to) => {
    const [loss, ...others] = lossesOf({ username: 'u', password_hash: PBKDF2 }, to);
    expect(loss?.place).toBe('api.password_hash');
    expect(loss?.text).toBe('servers of the target let nobody in by a salted hash; it stays');
    expect(others).toEqual([]);
  });
});

describe('what servers of the target pass over', () => {
  const lossesOf = (members: object, to: ConversionTarget) => {
    const file = { mode: 'server', config_version: 3, access_keys: ['a'], ...members };
    return convertFile(Buffer.from(JSON.stringify(file)), to).losses;
  };
  const SOCKS = { enabled: true, protocol: 'socks5', address: '127.0.0.1', port: 1080 };
  const RULES = [
    { action: 'proxy', protocol: null },
    { action: 'block', protocol: 'udp' },
  ];

  it('is named for a rule of one protocol, which is for all of them there', () => {
    const text = 'servers of the target pass over it: the rule is for every protocol there; it stays';
    const losses = [{ place: 'outbound.rules[1].protocol', text }];
    expect(lossesOf({ outbound: { ...SOCKS, rules: RULES } }, tokenAndDnsFile)).toEqual(losses);
    for (const to of [protocolRulesFile, inboundsFile, FLAT_2])
      expect(lossesOf({ outbound: { ...SOCKS, rules: RULES } }, to)).toEqual([]);
  });

  const DNS = { enabled: true, upstreams: ['https://dns.example/'], lists: [], rewrites: [] };
  it.each([
    [
      'the login at a proxy',
      { outbound: { ...SOCKS, username: 'u', password: 'p' } },
      ['outbound.username', 'outbound.password'],
    ],
    ['an address to leave from', { bind_ip: '192.0.2.1' }, ['bind_ip']],
    ['resolvers besides the first', { dns: { ...DNS, upstreams: ['9.9.9.9', '1.1.1.1'] } }, ['dns.upstreams']],
    [
      'a list that is off',
      { dns: { ...DNS, lists: [{ name: 'l', url: 'https://l/', enabled: false }] } },
      ['dns.lists'],
    ],
    ['a name for a name', { dns: { ...DNS, rewrites: [{ domain: 'a.b', answer: 'c.d' }] } }, ['dns.rewrites']],
    [
      'rules of DNS',
      { dns: { ...DNS, user_rules: ['||x^'], safe_search: true } },
      ['dns.user_rules', 'dns.safe_search'],
    ],
  ])('is named: %s', (_, members, places) => {
    for (const to of [protocolRulesFile, inboundsFile])
      expect(lossesOf(members, to).map(({ place }) => place)).toEqual(places);
    expect(lossesOf(members, FLAT_2)).toEqual([]);
  });

  it('is not named where the older members say the same, or it is off', () => {
    const rewrites = [{ domain: 'a.b', answer: '192.0.2.1' }];
    const lists = [{ name: 'l', url: 'https://l/', enabled: true }];
    expect(lossesOf({ dns: { ...DNS, rewrites, lists, cache_size: 10000 } }, protocolRulesFile)).toEqual([]);
    const off = { ...DNS, enabled: false, upstreams: ['9.9.9.9', '1.1.1.1'], user_rules: ['||x^'] };
    for (const to of [namedKeysFile, protocolRulesFile, inboundsFile]) expect(lossesOf({ dns: off }, to)).toEqual([]);
  });

  it('is not named where it is an empty text, which says nothing', () => {
    const empty = { bind_ip: '', outbound: { ...SOCKS, username: '', password: '' } };
    for (const to of [protocolRulesFile, inboundsFile]) expect(lossesOf(empty, to)).toEqual([]);
  });

  it('is all of dns before 0.2.45', () => {
    expect(lossesOf({ dns: { ...DNS, user_rules: ['||x^'] } }, namedKeysFile).map(({ place }) => place)).toEqual([
      'dns',
    ]);
  });
});
