import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_RESOLVER,
  foldedIn,
  inFormOf,
  olderMembers,
  resolverSettings,
  switchLists,
} from '../../src/core/dns-settings.js';
import { DEFAULT_DNS, type DnsConfig, type DnsList, MAX_U64, type ResolverSettings } from '../../src/core/model.js';
import { changeDocument } from '../../src/document/change.js';
import { readDocument } from '../../src/document/document.js';
import { readSettings, storedSettings } from '../../src/homes/database/server-settings.js';
import { parseJson } from '../../src/wire/json/json.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { checked } from '../../src/wire/schema-check.js';
import { dnsOfFourMembers, type WireDnsChange } from '../../src/wire/traits/dns-form.js';

const url: fc.Arbitrary<string> = fc.constantFrom('https://a.example/1', 'https://b.example/2', 'https://c.example/3');
const list = fc.record({ name: fc.string(), url, enabled: fc.boolean() });
/** An address may stand there twice, on and off. */
const lists = fc.array(list, { maxLength: 4 });
const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const u64 = fc.bigInt({ min: 0n, max: MAX_U64 });
const domain: fc.Arbitrary<string> = fc.constantFrom('nas.example', '*.lab.example', 'old.example', 'four.example');

const anySettings: fc.Arbitrary<ResolverSettings> = fc.record({
  upstreams: fc.uniqueArray(fc.constantFrom('https://d.example/q', 'tls://dns.example', '9.9.9.9'), { minLength: 1 }),
  upstreamMode: fc.constantFrom('fallback' as const, 'parallel' as const),
  cacheSize: u64,
  cacheMinTtl: number,
  cacheMaxTtl: number,
  blockingMode: fc.constantFrom('nxdomain' as const, 'null_ip' as const, 'refused' as const),
  blockedTtl: number,
  lists,
  allowlists: lists,
  updateIntervalHours: number,
  userRules: fc.array(fc.string(), { maxLength: 3 }),
  rewrites: fc.array(fc.record({ domain, answer: fc.constantFrom('192.0.2.1', '2001:db8::1', 'elsewhere.example') }), {
    maxLength: 5,
  }),
  safeSearch: fc.boolean(),
  blockDohBypass: fc.boolean(),
  blockedServices: fc.subarray(['tiktok', 'reddit']),
  queryLogSize: u64,
});

const withSettings = (resolver: ResolverSettings | null): DnsConfig => ({ ...DEFAULT_DNS, resolver });

/** Files in either form, or without the section. */
const FILES = [
  '{ "mode": "server", "access_keys": [] }',
  '{\n  "mode": "server",\n  "dns": {\n    // ours\n    "enabled": true,\n    "doh_upstream": "https://old.example/q", // the first\n    "adblock_urls": ["https://l.example"],\n    "custom_domains": { "nas.example": "192.0.2.9" },\n    "bind": "127.0.0.1", "note": 1e1\n  }\n}\n',
  '{"mode":"server","dns":{"cache_size":5,"doh_upstream":"https://old.example/q","refresh_hours":7}}',
  '{"mode":"server","dns":[]}',
];

describe('DNS settings of the form of 0.4.6', () => {
  it('take over lists and names of the older form in work that grows with their number', () => {
    let reads = 0;
    const counted = (text: string) => {
      reads += 1;
      return text;
    };
    const present = Array.from({ length: 1000 }, (_, index) => String(index));
    const settings: ResolverSettings = {
      ...DEFAULT_RESOLVER,
      lists: present.map((name) => ({
        name,
        enabled: true,
        get url() {
          return counted(name);
        },
      })),
      rewrites: present.map((name) => ({
        answer: '192.0.2.1',
        get domain() {
          return counted(name);
        },
      })),
    };
    const others = present.map((name) => `${name}.example`);
    foldedIn(settings, { adblockUrls: others, customDomains: new Map(others.map((name) => [name, '192.0.2.2'])) });
    expect(reads).toBeLessThanOrEqual(4 * present.length);
  });

  it('are read back as they were written, whichever form the file had, and the file keeps what it says besides', () => {
    fc.assert(
      fc.property(anySettings, fc.constantFrom(...FILES), (resolver, text) => {
        const { document } = readDocument(Buffer.from(text));
        const { bytes } = changeDocument(document, { dns: { resolver } });
        const { configuration } = readDocument(bytes);
        expect(configuration.dns.resolver).toEqual(resolver);
        expect(configuration.warnings).toEqual([]);
        for (const kept of ['// ours', '"note": 1e1', '"bind": "127.0.0.1"'])
          expect(bytes.toString().includes(kept)).toBe(text.includes(kept));
        expect(changeDocument(readDocument(bytes).document, { dns: { resolver } }).bytes).toEqual(bytes);
      }),
    );
  });

  it('are what an older form answers and is sent back leaves, all of it', () => {
    fc.assert(
      fc.property(anySettings, (resolver) => {
        const dns = withSettings(resolver);
        const sent = parseJson(Buffer.from(encodeJson(dnsOfFourMembers.encode(dns))));
        const wire: WireDnsChange = checked(dnsOfFourMembers.schema, sent, 'dns') as WireDnsChange;
        expect(inFormOf(dns, dnsOfFourMembers.decode(wire)).resolver).toEqual(resolver);
      }),
    );
  });

  it('are not written again by an older form that switches DNS alone: others may have changed them meanwhile', () => {
    expect(inFormOf(withSettings(DEFAULT_RESOLVER), dnsOfFourMembers.decode({ enabled: true }))).toEqual({
      enabled: true,
    });
  });

  it('lose nothing that an older form cannot say when that changes them', () => {
    const urls = fc.uniqueArray(url, { maxLength: 3 });
    const domains = fc
      .uniqueArray(fc.tuple(domain, fc.constantFrom('192.0.2.3', '2001:db8::3')), { selector: ([name]) => name })
      .map((entries) => new Map(entries));
    fc.assert(
      fc.property(anySettings, urls, domains, (resolver, adblockUrls, customDomains) => {
        const change = { enabled: true, dohUpstream: 'https://new.example/q', adblockUrls, customDomains };
        const changed = { ...withSettings(resolver), ...inFormOf(withSettings(resolver), change) };
        const now = changed.resolver ?? DEFAULT_RESOLVER;
        const said = olderMembers(changed);
        expect(said.dohUpstream).toBe('https://new.example/q');
        expect(new Set(said.adblockUrls)).toEqual(new Set(adblockUrls));
        for (const [name, answer] of customDomains) expect(said.customDomains.get(name)).toBe(answer);
        const { upstreams, lists: _, rewrites, ...others } = resolver;
        expect(now).toMatchObject(others);
        expect(now.upstreams.slice(1)).toEqual(upstreams.slice(1));
        const wasOn = (wanted: string) => resolver.lists.some((one) => one.enabled && one.url === wanted);
        const stays = (one: DnsList) => (one.enabled ? adblockUrls.includes(one.url) : wasOn(one.url));
        for (const kept of resolver.lists.filter(stays)) expect(now.lists).toContainEqual(kept);
        for (const name of rewrites.filter((one) => one.answer.includes('else')))
          expect(now.rewrites).toContainEqual(name);
      }),
    );
  });

  it('have lists switched by their addresses, in either form, and nothing else changed', () => {
    const switches = fc.array(fc.tuple(url, fc.boolean()), { maxLength: 3 }).map((entries) => new Map(entries));
    fc.assert(
      fc.property(fc.option(anySettings), fc.uniqueArray(url), switches, (resolver, adblockUrls, wanted) => {
        const before = { ...withSettings(resolver), adblockUrls };
        const change = switchLists(before, wanted);
        expect(inFormOf(before, change)).toEqual(change);
        const now = resolverSettings({ ...before, ...change });
        const was = resolverSettings(before);
        expect({ ...now, lists: was.lists, allowlists: was.allowlists }).toEqual(was);
        const isOn = (of: ResolverSettings, one: string) =>
          [...of.lists, ...of.allowlists].some((list) => list.enabled && list.url === one);
        for (const [one, wantedOn] of wanted) expect(isOn(now, one), one).toBe(wantedOn);
        const others = (lists: readonly DnsList[]) => lists.filter((list) => !wanted.has(list.url));
        expect(others(now.lists)).toEqual(others(was.lists));
        expect(others(now.allowlists)).toEqual(others(was.allowlists));
        if (resolver !== null) expect(now.lists.length).toBeGreaterThanOrEqual(was.lists.length);
      }),
    );
  });

  it('lose what an older form takes away of what it shows, and nothing else', () => {
    fc.assert(
      fc.property(anySettings, fc.nat(), (resolver, at) => {
        const dns = withSettings(resolver);
        const { customDomains, adblockUrls } = olderMembers(dns);
        const names = [...customDomains.keys()];
        const name = names[at % (names.length || 1)];
        const gone = resolver.rewrites.findLastIndex(
          (one) => one.domain === name && one.answer !== 'elsewhere.example',
        );
        const url = adblockUrls[at % (adblockUrls.length || 1)];
        const change = {
          adblockUrls: adblockUrls.filter((one) => one !== url),
          customDomains: new Map([...customDomains].filter(([one]) => one !== name)),
        };
        expect(inFormOf(dns, change).resolver).toEqual({
          ...resolver,
          lists: resolver.lists.filter((one) => !(one.enabled && one.url === url)),
          rewrites: resolver.rewrites.filter((_, place) => place !== gone),
        });
      }),
    );
  });

  it('take in the older members of a file that has both, as servers do, and those count no more once they are written', () => {
    const text = '{"mode":"server","dns":{"upstreams":["9.9.9.9"],"doh_upstream":"https://a.example/q","lists":[]}}';
    const read = (bytes: Buffer) => readDocument(bytes).configuration.dns.resolver;
    const resolver = read(Buffer.from(text));
    expect(resolver).toMatchObject({ upstreams: ['https://a.example/q', '9.9.9.9'], cacheSize: 10_000n, lists: [] });
    const next = { ...(resolver ?? DEFAULT_RESOLVER), upstreams: ['1.1.1.1'] };
    const { bytes } = changeDocument(readDocument(Buffer.from(text)).document, { dns: { resolver: next } });
    expect(read(bytes)).toEqual(next);
  });

  it('are those in force of a file in the older form, which stays in it until somebody writes the other', () => {
    const [, older = ''] = FILES;
    const { configuration, document } = readDocument(Buffer.from(older));
    expect(configuration.dns.resolver).toBeNull();
    expect(resolverSettings(configuration.dns)).toMatchObject({
      upstreams: ['https://old.example/q'],
      lists: [{ name: 'https://l.example', url: 'https://l.example', enabled: true }],
      rewrites: [{ domain: 'nas.example', answer: '192.0.2.9' }],
      blockDohBypass: false,
    });
    const change = inFormOf(configuration.dns, { dohUpstream: 'https://new.example/q' });
    expect(changeDocument(document, { dns: change }).bytes.toString()).toBe(
      older.replace('old.example', 'new.example'),
    );
  });

  it('stand for older ones that waited for a write with them', () => {
    const { document } = readDocument(Buffer.from(FILES[1] ?? ''));
    const resolver = { ...DEFAULT_RESOLVER, upstreams: ['9.9.9.9'] };
    const change = { enabled: false, dohUpstream: 'https://waited.example/q', refreshHours: 3, resolver };
    const { bytes } = changeDocument(document, { dns: change });
    expect(readDocument(bytes).configuration.dns).toMatchObject({ enabled: false, resolver });
  });

  it('are read from a database as they were stored', () => {
    fc.assert(
      fc.property(anySettings, (resolver) => {
        const text = JSON.stringify({ mode: 'server', access_keys: [] });
        const { bytes } = changeDocument(readDocument(Buffer.from(text)).document, { dns: { resolver } });
        const { configuration } = readDocument(bytes);
        const stored = JSON.parse(JSON.stringify(storedSettings(configuration)));
        expect(readSettings(stored).dns).toEqual(configuration.dns);
      }),
    );
  });

  it('name what is no such setting', () => {
    const dns = {
      upstreams: [5],
      upstream_mode: 'both',
      cache_size: -1,
      lists: [{ name: 'x' }, 7],
      rewrites: [{ domain: 'a' }],
      block_doh_bypass: 1,
    };
    const { configuration } = readDocument(Buffer.from(JSON.stringify({ mode: 'server', dns })));
    expect(configuration.dns.resolver).toEqual({ ...DEFAULT_RESOLVER, upstreams: [], lists: [] });
    expect(configuration.warnings.map((warning) => warning.split(':')[0])).toEqual([
      'dns.upstreams[0]',
      'dns.upstream_mode',
      'dns.cache_size',
      'dns.lists[0].url',
      'dns.lists[1]',
      'dns.rewrites[0]',
      'dns.block_doh_bypass',
    ]);
  });

  it('join no list or name twice', () => {
    const settings = { ...DEFAULT_RESOLVER, lists: [{ name: 'A', url: 'https://a', enabled: false }] };
    const folded = foldedIn(settings, { adblockUrls: ['https://a', 'https://b'] });
    expect(folded.lists).toEqual([...settings.lists, { name: 'https://b', url: 'https://b', enabled: true }]);
  });
});
