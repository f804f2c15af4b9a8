import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { DEFAULT_DNS, type DnsConfig, type OutboundRule } from '../../../src/core/model.js';
import { parseJson } from '../../../src/wire/json/json.js';
import { encodeJson } from '../../../src/wire/json/write-json.js';
import { checked } from '../../../src/wire/schema-check.js';
import { codePoint } from '../../code-points.js';

const texts = fc.array(fc.string({ unit: codePoint }), { maxLength: 3 });
const rule: fc.Arbitrary<OutboundRule> = fc.record({
  domainSuffix: texts,
  ipCidr: texts,
  protocol: fc.option(fc.string()),
  action: fc.constantFrom('proxy', 'direct', 'block'),
});

const ruleForms = [...new Set(REVISIONS.flatMap(({ capabilities }) => capabilities.rules?.form ?? []))];
const dnsForms = [...new Set(REVISIONS.flatMap(({ capabilities }) => capabilities.dns?.form ?? []))];

describe.each(ruleForms)('outbound rules $name', (form) => {
  const bare = { domainSuffix: [], ipCidr: [], protocol: null, action: 'direct' } as const;
  const hasProtocol = encodeJson(form.encode(bare)).includes('"protocol"');
  const saysFrom = !form.unsaid.includes('sendFrom');

  it('are what they were when what was answered is sent back, and fit the schemas of answer and body', () => {
    fc.assert(
      fc.property(fc.array(rule), (rules) => {
        const wire = parseJson(Buffer.from(encodeJson(rules.map(form.encode))));
        checked(form.answer, wire, 'rules');
        const read = checked(form.body, wire, 'rules') as Parameters<typeof form.decode>[0][];
        expect(read.map(form.decode)).toEqual(
          rules.map((one) => ({
            ...one,
            protocol: hasProtocol ? one.protocol : null,
            ...(saysFrom && { sendFrom: null }),
          })),
        );
      }),
    );
  });
});

describe.each(dnsForms)('DNS settings of $name', (form) => {
  const given: fc.Arbitrary<DnsConfig> = fc.record({
    enabled: fc.boolean(),
    dohUpstream: fc.webUrl({ validSchemes: ['http', 'https'] }),
    adblockUrls: fc.array(fc.webUrl({ validSchemes: ['http', 'https'] }), { maxLength: 3 }),
    customDomains: fc
      .uniqueArray(fc.tuple(fc.domain(), fc.ipV4()), { maxLength: 3, selector: ([name]) => name })
      .map((entries) => new Map(entries)),
    localPort: fc.integer({ min: 1, max: 65535 }),
    interceptAllPort53: fc.boolean(),
    bind: fc.constant(DEFAULT_DNS.bind),
    blockedAnswer: fc.constant(DEFAULT_DNS.blockedAnswer),
    refreshHours: fc.constant(DEFAULT_DNS.refreshHours),
    resolver: fc.constant(null),
  });

  it('are what they were when what was answered is sent back, and fit the schema', () => {
    fc.assert(
      fc.property(given, (dns) => {
        const text = encodeJson(form.encode(dns));
        const wire = checked(form.schema, parseJson(Buffer.from(text)), 'dns') as Parameters<typeof form.decode>[0];
        const change = form.decode(wire);
        expect({ ...dns, ...change }).toEqual(dns);
        expect(encodeJson(form.encode({ ...DEFAULT_DNS, ...change }))).toBe(text);
      }),
    );
  });
});

describe('own names in a body', () => {
  const bodies = REVISIONS.flatMap(({ id, capabilities: { dns, dnsEngine } }) => {
    return [dns?.form.schema, dnsEngine?.form.body].flatMap((schema) => (schema === undefined ? [] : [{ id, schema }]));
  });

  it.each(bodies)('of $id have texts for addresses, whatever the name', ({ schema }) => {
    for (const name of ['a', 'a\nb', '__proto__', '']) {
      const body = (address: string) =>
        Buffer.from(`{"enabled":true,"custom_domains":{${JSON.stringify(name)}:${address}}}`);
      expect(() => checked(schema, parseJson(body('5')), 'body'), JSON.stringify(name)).toThrow('custom_domains');
      expect(() => checked(schema, parseJson(body('"192.0.2.1"')), 'body')).not.toThrow();
    }
  });
});
