import { describe, expect, it } from 'vitest';
import { checked, objectsFromArrays } from '../../src/wire/schema-check.js';
import { dnsSettingsOfAnEngine } from '../../src/wire/traits/dns-engine-form.js';
import { overnetOfFiveMembers } from '../../src/wire/traits/overnet-form.js';
import { ruleWithSendFrom } from '../../src/wire/traits/rule-form.js';

describe('an array in a body of a line that takes it for an object', () => {
  it.each([
    ['no element means the defaults', overnetOfFiveMembers.body, [], {}],
    [
      'its elements are members in their order',
      overnetOfFiveMembers.body,
      [true, false],
      { enabled: true, entry: false },
    ],
    [
      'a rule may leave out its last member',
      ruleWithSendFrom.body,
      [[['.a'], [], null, 'proxy']],
      [{ domain_suffix: ['.a'], ip_cidr: [], protocol: null, action: 'proxy' }],
    ],
    [
      'it may stand within an object',
      dnsSettingsOfAnEngine.body,
      { lists: [['Own', 'https://l.example']], rewrites: [['a.lan', '192.0.2.1']] },
      { lists: [{ name: 'Own', url: 'https://l.example' }], rewrites: [{ domain: 'a.lan', answer: '192.0.2.1' }] },
    ],
  ])('%s', (_what, schema, given, expected) => {
    expect(objectsFromArrays(schema, given)).toEqual(expected);
    expect(checked(schema, objectsFromArrays(schema, given), 'body')).toEqual(expected);
  });

  it.each([
    ['too few elements', ruleWithSendFrom.body, [[['.a'], []]]],
    ['too many elements', overnetOfFiveMembers.body, [true, true, 'x', true, 'y', 1n]],
  ])('with %s stays what it is, and is refused', (_what, schema, given) => {
    expect(objectsFromArrays(schema, given)).toEqual(given);
    expect(() => checked(schema, given, 'body')).toThrow('a');
  });
});
