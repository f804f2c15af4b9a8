import type dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_RESOLVER } from '../../src/core/dns-settings.js';
import { DEFAULT_DNS, type DnsConfig, type ResolverSettings } from '../../src/core/model.js';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { dnsSettingsOfAnEngine } from '../../src/wire/traits/dns-engine-form.js';
import { countRules, type DnsSettings, explain } from '../stand-in/dns-rules.js';
import { tries } from '../tries.js';
import { askUdp, dataOf } from './client.js';
import { cleanUp, later, startResolver } from './harness.js';
import { addressAnswer, answerTo, runPlain } from './servers.js';

afterEach(cleanUp);

const QUIET: ResolverSettings = { ...DEFAULT_RESOLVER, lists: [], upstreams: ['127.0.0.1:1'] };

const configOf = (settings: Partial<ResolverSettings>): DnsConfig => ({
  ...DEFAULT_DNS,
  enabled: true,
  localPort: 0,
  resolver: { ...QUIET, ...settings },
});

function explained(settings: Partial<ResolverSettings>, name: string) {
  const resolver = createNoResolver();
  resolver.configure(configOf(settings), null);
  const { rule, source, ...others } = resolver.explain(name);
  return { ...others, ...(rule === null ? {} : { rule }), ...(source === null ? {} : { source }) };
}

describe('a rule of the user, as servers from 0.4.6 on understand it', () => {
  it.each([
    [
      'blocks its name and those below',
      '||ads.example^',
      ['ads.example', 'a.b.ads.example'],
      ['example', 'bads.example'],
    ],
    ['without bars does the same', 'ads.example', ['ads.example', 'a.ads.example'], ['ads.example.org']],
    ['with one bar blocks its name alone', '|ads.example^', ['ads.example'], ['a.ads.example']],
    [
      'of a hosts line blocks its names alone',
      '0.0.0.0 a.example b.example # why',
      ['a.example', 'b.example'],
      ['x.a.example', 'why'],
    ],
    [
      'with an asterisk stands for any characters',
      '||ad*.example^',
      ['ads.example', 'ad.example', 'x.adx.y.example'],
      ['a.example'],
    ],
    ['that begins with an asterisk needs a name below', '||*.star.example^', ['a.star.example'], ['star.example']],
    ['of one bar and an asterisk is one of whole names', '|ad*.example^', ['ads.example'], ['x.ads.example']],
    ['may end in a comment', 'ads.example # why', ['ads.example'], []],
    ['is understood in any case', '||ADS.Example^', ['ads.example'], []],
  ])('%s', (_what, rule, blocked, open) => {
    const outcome = (name: string) => explained({ userRules: [rule] }, name).outcome;
    expect(blocked.map(outcome)).toEqual(blocked.map(() => 'blocked'));
    expect(open.map(outcome)).toEqual(open.map(() => 'allowed'));
  });

  it.each([
    ['||com^'],
    ['single'],
    ['/re.*/'],
    ['||a.example^$third-party'],
    ['||a.example/path'],
    ['a.example b.example'],
    ['||bücher.example^'],
    ['|||a.example^'],
  ])('%s is not, and counts as that', (rule) => {
    const resolver = createNoResolver();
    resolver.configure(configOf({ userRules: [rule] }), null);
    expect(resolver.figures().lists).toEqual([{ name: 'user rules', rules: 0, unsupported: 1 }]);
    expect(resolver.explain('a.example').outcome).toBe('allowed');
  });

  it.each([
    ['! a'],
    ['# a'],
    ['[Adblock]'],
    ['a.example##.ad'],
    ['127.0.0.1 localhost'],
    [''],
  ])('%s says nothing of names', (rule) => {
    const resolver = createNoResolver();
    resolver.configure(configOf({ userRules: [rule] }), null);
    expect(resolver.figures().lists).toEqual([{ name: 'user rules', rules: 0, unsupported: 0 }]);
  });

  it('is an exception from others but from an important one, and named where it decides', () => {
    const userRules = [
      '||ads.example^',
      '@@||good.ads.example^',
      '||bad.ads.example^$important',
      '@@||bad.ads.example^',
    ];
    expect(explained({ userRules }, 'x.good.ads.example')).toMatchObject({
      outcome: 'allowed',
      rule: '@@||good.ads.example^',
    });
    expect(explained({ userRules }, 'bad.ads.example')).toMatchObject({
      outcome: 'blocked',
      rule: '||bad.ads.example^$important',
    });
    expect(explained({ userRules: ['@@||free.example^'] }, 'free.example')).toMatchObject({
      outcome: 'allowed',
      detail: 'allowed by an exception',
      source: 'user rules',
    });
  });
});

describe('rules and own names together', () => {
  const label = fc.constantFrom('a', 'b', 'ab', 'ostp');
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  const pattern = fc.oneof(
    name,
    fc.tuple(fc.constantFrom('*.', 'a*', '*'), name).map((parts) => parts.join('')),
    name.map((each) => `${each}.*`),
  );
  const rule = fc.oneof(
    fc
      .tuple(
        fc.constantFrom('', '@@'),
        fc.constantFrom('', '|', '||'),
        pattern,
        fc.constantFrom('', '^'),
        fc.constantFrom('', '', '$important', '$third-party'),
      )
      .map((parts) => parts.join('')),
    fc
      .tuple(
        fc.constantFrom('0.0.0.0', '127.0.0.1', '::', '192.0.2.7', '2001:db8::7'),
        fc.array(name, { minLength: 1, maxLength: 2 }),
      )
      .map(([address, names]) => `${address} ${names.join(' ')}`),
    fc.constantFrom('! note', '# note', 'a.b##.ad', '/re/', 'localhost', '127.0.0.1 localhost', '  ', 'a.b # why'),
  );
  const rewrite = fc.record({
    domain: fc.oneof(
      name,
      name.map((each) => `*.${each}`),
    ),
    answer: fc.constantFrom('192.0.2.1', '192.0.2.2', '2001:db8::1', 'a.b'),
  });

  it('say of any name what the servers say', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 6 }),
        fc.array(rewrite, { maxLength: 3 }),
        name,
        (userRules, rewrites, asked) => {
          const dns = configOf({ userRules, rewrites });
          const settings = dnsSettingsOfAnEngine.encode(dns) as unknown as DnsSettings; // It is the form of the servers.
          expect(explained({ userRules, rewrites }, asked)).toEqual(explain(settings, asked));
          const resolver = createNoResolver();
          resolver.configure(dns, null);
          const { rules, unsupported } = countRules(userRules);
          expect(resolver.figures().lists).toEqual([
            { name: 'user rules', rules: Number(rules), unsupported: Number(unsupported) },
          ]);
        },
      ),
      { numRuns: tries(200) },
    );
  });
});

describe('a question over the wire', () => {
  async function engine(
    settings: Partial<ResolverSettings>,
    answers: (query: dnsPacket.Packet) => Buffer = addressAnswer,
  ) {
    const upstream = await runPlain((query) => answers(query));
    later(() => upstream.close());
    const wanted = { ...QUIET, ...settings, upstreams: [`127.0.0.1:${upstream.port}`] };
    const { port, resolver } = await startResolver({ resolver: wanted });
    return {
      upstream,
      resolver,
      ask: (name: string, type: dnsPacket.RecordType = 'A') => askUdp(port(), { name, type }),
    };
  }

  it('is answered with every address of its own name, each by its type', async () => {
    const rewrites = ['192.0.2.1', '192.0.2.2', '2001:db8::1'].map((answer) => ({ domain: 'two.lan', answer }));
    const { ask } = await engine({ rewrites, userRules: ['192.0.2.9 host.lan', '192.0.2.8 host.lan'] });
    expect(dataOf(await ask('two.lan'))).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(dataOf(await ask('two.lan', 'AAAA'), 'AAAA')).toEqual(['2001:db8::1']);
    expect((await ask('two.lan', 'TXT')).rcode).toBe('NOERROR');
    expect(dataOf(await ask('host.lan'))).toEqual(['192.0.2.9', '192.0.2.8']);
  });

  it('for a name of the servers or of a browser does not exist and is asked of nobody, whatever blocked names get', async () => {
    const { ask, upstream, resolver } = await engine({ blockingMode: 'null_ip' });
    expect((await ask('other.ostp')).rcode).toBe('NXDOMAIN');
    expect((await ask('dns.google')).rcode).toBe('NXDOMAIN');
    expect((await ask('x.dns.google')).rcode).toBe('NOERROR');
    expect(upstream.asked).toEqual(['udp x.dns.google']);
    expect(resolver.log(3, '').map(({ outcome, rule, source }) => [outcome, rule, source])).toEqual([
      ['allowed', null, null],
      ['blocked', 'browser DNS over HTTPS', 'built-in'],
      ['blocked', '.ostp without a rewrite', null],
    ]);
  });

  it('whose answer leads to a blocked name is blocked, from the cache, too', async () => {
    const { ask, resolver } = await engine({ userRules: ['||tracker.example^'] }, (query) => {
      const name = query.questions?.[0]?.name ?? '';
      return answerTo(query, {
        answers: [
          { type: 'CNAME', name, ttl: 60, data: 'x.Tracker.example' },
          { type: 'A', name: 'x.Tracker.example', ttl: 60, data: '192.0.2.1' },
        ],
      });
    });
    for (let time = 0; time < 2; time += 1) expect((await ask('clean.example')).rcode).toBe('NXDOMAIN');
    expect(resolver.log(2, '').map(({ outcome, rule }) => [outcome, rule])).toEqual([
      ['blocked', '||tracker.example^ (CNAME x.tracker.example)'],
      ['blocked', '||tracker.example^ (CNAME x.tracker.example)'],
    ]);
    expect(resolver.figures()).toMatchObject({ total: 2, blocked: 2 });
  });
});
