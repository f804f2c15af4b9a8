import { describe, expect, it } from 'vitest';
import { keyDigest } from '../../src/core/key-digest.js';
import type { AccessKey, ConfigurationChange } from '../../src/core/model.js';
import { changeDocument } from '../../src/document/change.js';
import { ConfigurationShapeError, readDocument } from '../../src/document/document.js';

function change(text: string, wanted: ConfigurationChange): string {
  const { document } = readDocument(Buffer.from(text));
  const after = changeDocument(document, wanted);
  expect(after).toEqual(readDocument(after.bytes).document);
  return after.bytes.toString();
}

function keys(...records: readonly (AccessKey | string)[]): ConfigurationChange {
  return {
    keys: new Map(records.map((record) => (typeof record === 'string' ? [record, null] : [record.accessKey, record]))),
  };
}

const key = (accessKey: string, name: string | null = null, limitBytes: bigint | null = null): AccessKey => {
  return { accessKey, name, limitBytes };
};

const PRETTY = `{
  "mode": "server",
  // who may in
  "access_keys": [
    "alpha", // the first
    {
      "access_key": "beta",
      "name": "Beta", /* keep */
      "limit_bytes": 1000
    }, # the second
    "gamma" // last
  ],
  "debug": false
}
`;

describe('changing keys', () => {
  it('a new key goes behind the comment that follows the last one', () => {
    expect(change(PRETTY, keys(key('new')))).toBe(PRETTY.replace('"gamma" // last', '"gamma", // last\n    "new"'));
  });

  it('a new key with a name is written like the objects beside it', () => {
    const object =
      '{\n      "access_key": "new",\n      "name": "N",\n      "limit_bytes": 18446744073709551615\n    }';
    const after = change(PRETTY, keys(key('new', 'N', 2n ** 64n - 1n)));
    expect(after).toBe(PRETTY.replace('"gamma" // last', `"gamma", // last\n    ${object}`));
  });

  it('a removed key takes its comma and leaves the comments that are not its own', () => {
    expect(change(PRETTY, keys('alpha'))).toBe(PRETTY.replace('"alpha", // the first', '// the first'));
    expect(change(PRETTY, keys('gamma'))).toBe(
      PRETTY.replace('}, # the second', '} # the second').replace('"gamma" // last', '// last'),
    );
  });

  it('a removed key takes its line when nothing is left on it', () => {
    const text = '{\r\n\t"access_keys": [\r\n\t\t"a",\r\n\t\t"b",\r\n\t\t"c"\r\n\t]\r\n}';
    expect(change(text, keys('b'))).toBe(text.replace('\t\t"b",\r\n', ''));
    expect(change(text, keys('c'))).toBe(text.replace('"b",\r\n\t\t"c"', '"b"'));
    expect(change(text, keys('a', 'b', 'c'))).toBe('{\r\n\t"access_keys": [\r\n\t]\r\n}');
    expect(change(text, keys('b', key('d')))).toBe(text.replace('"b"', '"c"').replace('"c"\r\n', '"d"\r\n'));
  });

  it('a key is added, one changed and one removed at once as one after the other', () => {
    const both = keys('alpha', key('beta', 'B', 1000n), key('new'));
    const inTurn = change(change(change(PRETTY, keys('alpha')), keys(key('beta', 'B', 1000n))), keys(key('new')));
    expect(change(PRETTY, both)).toBe(inTurn);
  });

  it('a new key takes the place of the last ones, the comments there staying', () => {
    expect(change(PRETTY, keys('gamma', key('new')))).toBe(
      PRETTY.replace('# the second\n    "gamma" // last', '# the second\n    "new"\n    // last'),
    );
    expect(change(PRETTY, keys('gamma', 'beta', key('new')))).toBe(
      `${PRETTY.slice(0, PRETTY.indexOf('\n    {'))}\n    "new"\n    # the second\n    // last\n  ],\n  "debug": false\n}\n`,
    );
    const line = '{"access_keys": ["a", "x", /* b */ "b"]}';
    expect(change(line, keys('b', key('c')))).toBe('{"access_keys": ["a", "x", "c" /* b */]}');
  });

  it('keys on one line stay on one line', () => {
    const text = '{"access_keys":["a","b", "c"],"x":1e3}';
    expect(change(text, keys('b'))).toBe('{"access_keys":["a","c"],"x":1e3}');
    expect(change(text, keys('c'))).toBe('{"access_keys":["a","b"],"x":1e3}');
    expect(change(text, keys(key('d', 'D')))).toBe(
      '{"access_keys":["a","b", "c", {"access_key":"d", "name":"D"}],"x":1e3}',
    );
  });

  it('only the value of a changed member changes', () => {
    expect(change(PRETTY, keys(key('beta', 'B', 1000n)))).toBe(PRETTY.replace('"Beta"', '"B"'));
    const unlimited = PRETTY.replace('"Beta", /* keep */\n      "limit_bytes": 1000\n', '"Beta" /* keep */\n');
    expect(change(PRETTY, keys(key('beta', 'Beta')))).toBe(unlimited);
    expect(change(PRETTY, keys(key('beta', 'Beta', 1000n)))).toBe(PRETTY);
  });

  it('an element becomes a string only when nothing but the key is left', () => {
    const list = (element: string): string => `{ "access_keys": [ ${element} ] }`;
    expect(change(list('{"access_key": "\\u0061", "name": "A"}'), keys(key('a')))).toBe(list('"\\u0061"'));
    expect(change(list('{"access_key": "a", "name": "A", "x": 1}'), keys(key('a')))).toBe(
      list('{"access_key": "a", "x": 1}'),
    );
    expect(change(list('{"access_key": "a", /* why */ "name": "A"}'), keys(key('a')))).toBe(
      list('{"access_key": "a" /* why */}'),
    );
    expect(change(list('{"access_key": "a"}'), keys(key('a')))).toBe(list('{"access_key": "a"}'));
  });

  it('a string becomes an object when it gets a name', () => {
    const object = '{\n      "access_key": "alpha",\n      "name": "A"\n    }';
    expect(change(PRETTY, keys(key('alpha', 'A')))).toBe(PRETTY.replace('"alpha"', object));
  });

  it('an inserted name stands between the key and the limit', () => {
    const text = '{"access_keys": [{ "access_key": "a", "limit_bytes": 5 }]}';
    expect(change(text, keys(key('a', 'A', 5n)))).toBe(
      '{"access_keys": [{ "access_key": "a", "name": "A", "limit_bytes": 5 }]}',
    );
  });

  it('a file without a key list gets one', () => {
    expect(change('{\n  "mode": "server" // m\n}', keys(key('a')))).toBe(
      '{\n  "mode": "server", // m\n  "access_keys": [\n    "a"\n  ]\n}',
    );
    expect(change('{"mode":"server"}', keys(key('a')))).toBe('{"mode":"server","access_keys":["a"]}');
    expect(change('{}', keys(key('a')))).toBe('{"access_keys": ["a"]}');
    expect(change('{\n}', keys(key('a')))).toBe('{\n  "access_keys": [\n    "a"\n  ]\n}');
  });

  it('a key list of another type is an error that names it', () => {
    const { document } = readDocument(Buffer.from('{"access_keys": {"a": 1}}'));
    expect(() => changeDocument(document, keys(key('a')))).toThrow(ConfigurationShapeError);
    expect(() => changeDocument(document, keys(key('a')))).toThrow('access_keys: expected an array');
    const none = readDocument(Buffer.from('{"inbounds": []}')).document;
    expect(() => changeDocument(none, keys(key('a')))).toThrow('inbounds: expected one with the protocol "ostp"');
  });

  it('a removal that finds nothing is the same document', () => {
    const { document } = readDocument(Buffer.from(PRETTY));
    expect(changeDocument(document, keys('nobody'))).toBe(document);
  });
});

const INBOUNDS = `{
  "inbounds": [
    { "protocol": "api", "listen": "::1", "port": 9999, "token": "t" },
    { "protocol": "ostp", "listen": "203.0.113.7", "port": 50000, "users": [
      {"key": "a", "x": 0.10}, "b"
    ] },
    {
      "protocol": "ostp",
      "users": [
        {
          "key": "c"
        },
        "a"
      ]
    }
  ],
  "outbounds": [
    { "protocol": "http", "tag": "h" },
    { "protocol": "socks5", "tag": "p", "server": "192.0.2.1", "port": 1080 },
    { "protocol": "block", "tag": "no" }
  ],
  "routing": {
    "rules": [
      { "domain_suffix": [".a"], "outbound": "h", "note": 1 },
      { "ip_cidr": ["10.0.0.0/8"], "outbound": "no" } // lan
    ],
    "default_outbound": "no"
  }
}`;

describe('the layout with inbounds', () => {
  it('reads keys, listener, address and routing', () => {
    const { configuration } = readDocument(Buffer.from(INBOUNDS));
    expect(configuration.keys).toEqual([key('a'), key('b'), key('c')]);
    expect(configuration.listener).toEqual({
      enabled: true,
      bind: '[::1]:9999',
      token: 't',
      webpath: '',
      username: '',
      passwordHash: '',
    });
    expect(configuration.listen).toBe('203.0.113.7:50000');
    expect(configuration.outbound).toEqual({
      enabled: true,
      protocol: 'socks5',
      address: '192.0.2.1',
      port: 1080,
      defaultAction: 'block',
      rules: [
        { domainSuffix: ['.a'], ipCidr: [], protocol: null, action: 'proxy' },
        { domainSuffix: [], ipCidr: ['10.0.0.0/8'], protocol: null, action: 'block' },
      ],
    });
    expect(configuration.warnings).toEqual([
      'inbounds[2].users: these keys count too; new ones go to inbounds[1].users',
      'inbounds[2].users[1]: this key stands in the file before; the last counts',
    ]);
  });

  it.each([
    [
      'no inbound for keys',
      '[{"protocol": "api"}]',
      'inbounds: expected one with the protocol "ostp": there are no keys',
    ],
    [
      'several of them',
      '[{"protocol": "ostp", "users": []}, {"protocol": "ostp", "users": []}]',
      'inbounds[1].users: these keys count too; new ones go to inbounds[0].users',
    ],
    ['one without users', '[{"protocol": "ostp"}]', 'inbounds[0].users: absent; there are no keys'],
    [
      'the same key in two',
      '[{"protocol": "ostp", "users": ["a"]}, {"protocol": "ostp", "users": ["a"]}]',
      'inbounds[1].users[0]: this key stands in the file before; the last counts',
    ],
    [
      'users that are no array',
      '[{"protocol": "ostp", "users": {"a": 1}}]',
      'inbounds[0].users: expected an array; it is ignored',
    ],
    [
      'a port of 70000',
      '[{"protocol": "ostp", "users": [], "port": 70000}]',
      'inbounds[0].port: expected an integer from 0 to 65535; it is ignored',
    ],
    [
      'a listener port of 70000',
      '[{"protocol": "ostp", "users": []}, {"protocol": "api", "port": 70000}]',
      'inbounds[1].port: expected an integer from 0 to 65535; it is ignored',
    ],
    [
      'no array at all',
      '{"protocol": "ostp"}',
      'inbounds: expected an array; it is ignored, and the keys are those of access_keys',
    ],
  ])('with %s warns and names the place', (_, inbounds, warning) => {
    const { configuration } = readDocument(Buffer.from(`{"mode": "server", "inbounds": ${inbounds}}`));
    expect(configuration.warnings).toContain(warning);
  });

  it('with a root list beside it says which keys differ, as digests, and reads the inbounds alone', () => {
    const text = INBOUNDS.replace(
      '{',
      '{ "access_keys": ["b", {"key": "new"}, {"access_key": "a", "limit_bytes": 5}, 7],',
    );
    const { configuration } = readDocument(Buffer.from(text));
    expect(configuration.keys).toEqual([key('a'), key('b'), key('c')]);
    const [unread, ...differences] = configuration.warnings;
    expect(unread).toContain('access_keys: it is not read in a file with inbounds');
    expect(differences.slice(0, 3)).toEqual([
      `access_keys: 1 key stands only there: ${keyDigest('new')}`,
      `access_keys: 1 key stands only in inbounds, perhaps deleted through a server's own API: ${keyDigest('c')}`,
      `access_keys: 1 key stands there and in inbounds with another name or limit: ${keyDigest('a')}`,
    ]);
  });

  it('a key keeps its inbound and stays an object, a new one goes to the first', () => {
    const after = change(INBOUNDS, keys(key('c', 'C'), key('d')));
    expect(after).toBe(
      INBOUNDS.replace('"key": "c"', '"key": "c",\n          "name": "C"').replace('}, "b"', '}, "b", {"key": "d"}'),
    );
    expect(change(INBOUNDS, keys('a'))).toBe(
      INBOUNDS.replace('{"key": "a", "x": 0.10}, "b"', '"b"').replace('},\n        "a"\n', '}\n'),
    );
  });

  it('rules map actions back to tags, and unchanged ones keep their text', () => {
    const rules = readDocument(Buffer.from(INBOUNDS)).configuration.outbound?.rules ?? [];
    const added = { domainSuffix: [], ipCidr: [], protocol: 'tcp', action: 'proxy' } as const;
    const text = change(INBOUNDS, { rules: [...rules.slice(0, 1), added, ...rules.slice(1)] });
    const first = '{ "domain_suffix": [".a"], "outbound": "h", "note": 1 },\n      ';
    expect(text.startsWith(INBOUNDS.slice(0, INBOUNDS.indexOf(first) + first.length))).toBe(true);
    expect(text).toContain('"outbound": "p"');
    expect(text).toContain('{ "ip_cidr": ["10.0.0.0/8"], "outbound": "no" } // lan');
    expect(readDocument(Buffer.from(text)).configuration.outbound?.rules).toEqual([rules[0], added, rules[1]]);
    expect(change(INBOUNDS, { rules })).toBe(INBOUNDS);
  });

  it('an action that no outbound serves is an error that names it', () => {
    const { document } = readDocument(Buffer.from(INBOUNDS));
    const rules = [{ domainSuffix: [], ipCidr: [], protocol: null, action: 'direct' } as const];
    expect(() => changeDocument(document, { rules })).toThrow(
      'outbounds: none with a tag can serve a rule whose action is "direct"',
    );
  });
});

describe('the layout with access_keys', () => {
  it.each([
    ['["203.0.113.7:443", "[::]:443"]', '203.0.113.7:443'],
    ['[5, "[::]:443"]', '[::]:443'],
    ['[]', null],
  ])('of listen as an array, %s, the first address counts', (listen, first) => {
    const { configuration } = readDocument(Buffer.from(`{"mode": "server", "listen": ${listen}, "access_keys": []}`));
    expect(configuration.listen).toBe(first);
  });

  it('wrong types are read past and named, never thrown', () => {
    const text = `{"mode": 1, "listen": 5, "api": {"enabled": "yes", "token": null}, "dns": 5,
      "outbound": {"port": 70000, "rules": [1, {"action": "maybe"}, {"action": "direct", "ip_cidr": [1, "::/0"]}]},
      "access_keys": [1e3, "", {"name": "x"}, {"access_key": 5}, {"access_key": "a", "limit_bytes": "1"}, {"access_key": "b",
      "limit_bytes": 18446744073709551616, "name": 1}, "a", {"access_key": "c", "access_key": "d"}]}`;
    const { configuration } = readDocument(Buffer.from(text));
    expect(configuration.keys).toEqual([key('a'), key('b'), key('d')]);
    expect(configuration.outbound?.rules).toEqual([
      { domainSuffix: [], ipCidr: [], protocol: null, action: 'proxy' },
      { domainSuffix: [], ipCidr: ['::/0'], protocol: null, action: 'direct' },
    ]);
    expect(configuration.warnings.map((warning) => warning.slice(0, warning.indexOf(':')))).toEqual([
      'mode',
      'access_keys[0]',
      'access_keys[1]',
      'access_keys[2].access_key',
      'access_keys[3].access_key',
      'access_keys[4].limit_bytes',
      'access_keys[5].limit_bytes',
      'access_keys[5].name',
      'access_keys[7].access_key',
      'access_keys[6]',
      'api.enabled',
      'listen',
      'outbound.port',
      'outbound.rules[0]',
      'outbound.rules[1].action',
      'outbound.rules[2].ip_cidr[0]',
      'dns',
    ]);
    expect(change(text, keys(key('b')))).toBe(text.replace(/\{"access_key": "b"[^}]+\}/, '"b"'));
  });

  it.each([
    ['', 'unexpected end of input'],
    ['[]', 'the root: expected an object'],
    ['{"a": }', "unexpected '}', expected a value"],
  ])('%j is an error', (text, message) => {
    expect(() => readDocument(Buffer.from(text))).toThrow(message);
  });

  it('bytes that are no UTF-8 are an error that says so', () => {
    expect(() => readDocument(Buffer.from([0x7b, 0xff, 0x7d]))).toThrow(ConfigurationShapeError);
  });

  it('only differing DNS members are written', () => {
    const text = '{\n  "dns": {\n    "enabled": false, // off\n    "local_port": 53,\n    "x": 0.10\n  }\n}';
    expect(change(text, { dns: { enabled: true, localPort: 53, adblockUrls: [], dohUpstream: 'https://a' } })).toBe(
      '{\n  "dns": {\n    "enabled": true, // off\n    "local_port": 53,\n    "x": 0.10,\n    "doh_upstream": "https://a"\n  }\n}',
    );
    expect(change('{"a":1}', { dns: { enabled: true } })).toBe('{"a":1,"dns":{"enabled":true}}');
    expect(change('{"dns": [1], "b": 2}', { dns: { enabled: true, customDomains: new Map([['a', '::1']]) } })).toBe(
      '{"dns": {"enabled": true, "custom_domains": {"a": "::1"}}, "b": 2}',
    );
  });

  it('rules without an outbound object are an error', () => {
    for (const text of ['{}', '{"outbound": null}', '{"outbound": []}']) {
      expect(() => changeDocument(readDocument(Buffer.from(text)).document, { rules: [] })).toThrow(
        ConfigurationShapeError,
      );
    }
  });

  it('a shorter list of rules keeps the comments between them', () => {
    const text = '{"outbound": {"rules": [ /* 1 */ {"action": "direct"}, /* 2 */ {"action": "block"} /* 3 */ ]}}';
    expect(change(text, { rules: [] })).toBe('{"outbound": {"rules": [ /* 1 */ /* 2 */ /* 3 */ ]}}');
    const block = { domainSuffix: [], ipCidr: [], protocol: null, action: 'block' } as const;
    expect(change(text, { rules: [block] })).toBe(
      '{"outbound": {"rules": [ /* 1 */ /* 2 */ {"action": "block"} /* 3 */ ]}}',
    );
  });
});
