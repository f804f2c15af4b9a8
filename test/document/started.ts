import fc from 'fast-check';

const key = fc.constantFrom('a', 'b', 'key c');
const name = fc.option(fc.constantFrom('A', 'Ж', ''), { nil: undefined });
export const address = fc.constantFrom('192.0.2.1', '2001:db8::1');
export const url = fc.constantFrom('https://lists.example/a.txt', 'https://lists.example/b.txt');

const olderDns = fc.record({
  enabled: fc.boolean(),
  doh_upstream: fc.constantFrom('https://1.1.1.1/dns-query', ''),
  adblock_urls: fc.array(url, { maxLength: 2 }),
  custom_domains: fc.dictionary(fc.constantFrom('a.example', 'b.example'), address, { maxKeys: 2 }),
});
export const engineDns = fc.record(
  {
    upstreams: fc.array(fc.constantFrom('https://1.1.1.1/dns-query', '9.9.9.9'), { maxLength: 2 }),
    lists: fc.array(fc.record({ name: fc.constant('n'), url, enabled: fc.boolean() }), { maxLength: 2 }),
    rewrites: fc.array(fc.record({ domain: fc.constantFrom('a.example', '*.b.example'), answer: address }), {
      maxLength: 2,
    }),
    cache_size: fc.nat(100),
  },
  { requiredKeys: [] },
);
const dns = fc.oneof(
  fc.constant(undefined),
  fc.constant(null),
  olderDns,
  engineDns,
  fc.tuple(olderDns, engineDns).map(([older, engine]) => ({ ...older, ...engine })),
);

const outbound = fc.record({
  enabled: fc.boolean(),
  protocol: fc.constant('socks5'),
  address: fc.constant('127.0.0.1'),
  port: fc.constant(9050),
  rules: fc.array(fc.record({ domain_suffix: fc.constant(['.a']), action: fc.constantFrom('proxy', 'direct') }), {
    maxLength: 2,
  }),
});

/** A file with a root list of keys, all of its sections as servers want them. */
export const flatFile = fc
  .record({
    keys: fc.array(fc.record({ access_key: key, name }), { minLength: 1, maxLength: 3 }),
    dns,
    outbound: fc.option(outbound, { nil: undefined }),
  })
  .map(({ keys, ...sections }) => ({
    mode: 'server',
    listen: '0.0.0.0:50000',
    access_keys: keys.map((one) => (one.name === undefined ? one.access_key : one)),
    ...sections,
  }));

/** The same with inbounds. */
export const nestedFile = fc
  .record({
    users: fc.array(fc.record({ key, name }), { minLength: 1, maxLength: 3 }),
    dns,
    hasProxy: fc.boolean(),
    hasRouting: fc.boolean(),
  })
  .map(({ users, dns: settings, hasProxy, hasRouting }) => ({
    mode: 'server',
    inbounds: [{ protocol: 'ostp', tag: 'in', listen: '0.0.0.0', port: 50000, users }],
    outbounds: [
      { protocol: 'direct', tag: 'd' },
      { protocol: 'block', tag: 'b' },
      ...(hasProxy ? [{ protocol: 'socks5', tag: 'p', server: '127.0.0.1', port: 9050 }] : []),
    ],
    ...(hasRouting ? { routing: { rules: [], default_outbound: 'd' } } : {}),
    dns: settings,
  }));
