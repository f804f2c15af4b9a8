import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfigurationChange, OutboundRule } from '../../src/core/model.js';
import { finish } from '../../src/core/steps.js';
import { changeDocument } from '../../src/document/change.js';
import { readDocument } from '../../src/document/document.js';
import { patchDocumentSteps } from '../../src/document/patch/patch-document.js';
import { tries } from '../tries.js';

const changed = (text: string, change: ConfigurationChange): string =>
  changeDocument(readDocument(Buffer.from(text)).document, change).bytes.toString();

function patched(text: string, body: unknown): string {
  const patch = { form: 'json' as const, body: Buffer.from(JSON.stringify(body)), condition: () => undefined };
  return finish(patchDocumentSteps(readDocument(Buffer.from(text)).document, patch)).document.bytes.toString();
}

const rule = (domain: string, action: OutboundRule['action'] = 'proxy'): OutboundRule => {
  return { domainSuffix: [domain], ipCidr: [], protocol: null, action };
};

const FILE = `{
  "mode": "server",
  "outbound": {
    "rules": [
      // ours
      { "domain_suffix": [".a" /* home */], "ip_cidr": [], "protocol": null, "action": "proxy" },
      { "domain_suffix": [".b"], "action": "block", "note": 1 } // theirs
    ]
  },
  "dns": {
    "adblock_urls": ["https://a.example/1", /* slow */ "https://a.example/2"], // lists
    "refresh_hours": 24.0
  }
}
`;

describe('one edit for rules, DNS settings and patches', () => {
  it('adds a domain to a rule and leaves the rest of its list alone', () => {
    const first = { ...rule('.a'), domainSuffix: ['.a', '.c'] };
    expect(changed(FILE, { rules: [first, rule('.b', 'block')] })).toBe(
      FILE.replace('[".a" /* home */]', '[".a", /* home */ ".c"]'),
    );
  });

  it('puts a new rule in front of the first one and its comment', () => {
    const text = changed(FILE, { rules: [rule('.c'), rule('.a'), rule('.b', 'block')] });
    expect(text).toMatch(/"rules": \[\n {6}\{[^}]*"\.c"[^}]*\},\n {6}\/\/ ours\n {6}\{ "domain_suffix": \["\.a"/);
  });

  it('leaves the comment of the first item a line of its own where later items share one', () => {
    const text = '{\n  "mode": "server",\n  "list": [ // all\n    // ours\n    1, 2\n  ]\n}';
    const added = patched(text, [{ op: 'add', path: '/list/0', value: 0 }]);
    expect(added).toBe(text.replace('// ours', '0,\n    // ours'));
  });

  it('moves an equal rule with its text, even one that leaves members out', () => {
    const text = changed(FILE, { rules: [rule('.b', 'block'), rule('.a')] });
    expect(text).toContain('{ "domain_suffix": [".b"], "action": "block", "note": 1 }');
    expect(text).toContain('[".a" /* home */]');
  });

  it('moves a rule that changes at once with its comments and unknown members', () => {
    const text = changed(FILE, { rules: [rule('.b', 'direct'), rule('.a', 'direct')] });
    expect(text).toContain('{ "domain_suffix": [".b"], "action": "direct", "note": 1,');
    expect(text).toContain(
      '{ "domain_suffix": [".a" /* home */], "ip_cidr": [], "protocol": null, "action": "direct" }',
    );
  });

  it('moves a value that a patch changes at once with its comments, in the indentation of its new place', () => {
    const text =
      '{\n  "mode": "server",\n  "a": {\n    "one": 1, // first\n    "two": [\n      2 // second\n    ]\n  },\n  "b": {}\n}';
    const operations = [
      { op: 'move', from: '/a', path: '/b/a' },
      { op: 'replace', path: '/b/a/two/0', value: 3 },
    ];
    expect(patched(text, operations)).toBe(
      '{\n  "mode": "server",\n  "b": {\n    "a": {\n      "one": 1, // first\n      "two": [\n        3 // second\n      ]\n    }\n  }\n}',
    );
  });

  it('writes a list that becomes empty as an empty one, unless a comment stays in it', () => {
    const plain = FILE.replace('      // ours\n', '').replace(' // theirs', '').replace(' /* home */', '');
    expect(changed(plain, { rules: [] })).toContain('"rules": []\n');
    expect(changed(FILE, { rules: [] })).toContain('"rules": [\n      // ours\n      // theirs\n    ]');
    expect(patched(plain, [{ op: 'replace', path: '/dns/adblock_urls', value: [] }])).toContain('/* slow */');
    expect(patched(plain, [{ op: 'replace', path: '/outbound', value: {} }])).toContain('"outbound": {},');
  });

  it('leaves each element of a list its own comment where others before it go', () => {
    const many = FILE.replace('".a" /* home */', '".a", /* A */ ".b", /* B */ ".c" /* C */');
    const wanted = { ...rule('.a'), domainSuffix: ['.b', '.c', '.d'] };
    const text = changed(many, { rules: [wanted, rule('.b', 'block')] });
    expect(text).toMatch(/"\.b", \/\* B \*\/ "\.c".*\/\* C \*\/ "\.d"|"\.b", \/\* B \*\/ "\.c", "\.d" \/\* C \*\//);
  });

  it('changes one element of a DNS list in its line', () => {
    const adblockUrls = ['https://a.example/1', 'https://a.example/3'];
    expect(changed(FILE, { dns: { adblockUrls } })).toBe(FILE.replace('example/2', 'example/3'));
  });

  it('leaves an element that stays where it is, and its comments, where a new one comes after it', () => {
    const present = '[\n  "c",\n  "f", // home\n  "g" // theirs\n]';
    const text = `{ "mode": "server", "dns": { "adblock_urls": ${present} } }`;
    expect(changed(text, { dns: { adblockUrls: ['f', 'n'] } })).toBe(
      text.replace(present, '[\n  "f", // home\n  "n" // theirs\n]'),
    );
  });

  describe('with names of custom_domains', () => {
    const file = (domains: string) => `{ "mode": "server", "dns": { "custom_domains": ${domains} } }`;
    const present = file('{ "a.example": "10.0.0.1" /* home */, "b.example": "10.0.0.2" }');
    const domains = (...names: string[]) =>
      changed(present, { dns: { customDomains: new Map(names.map((name) => [name, '10.0.0.1'])) } });
    const inOrder = (text: string) => [...readDocument(Buffer.from(text)).configuration.dns.customDomains.keys()];

    it('leaves those that stay alone, and puts new ones after them', () => {
      expect(domains('a.example', 'c.example')).toContain('"a.example": "10.0.0.1" /* home */, "c.example": ');
    });

    it('writes them in the order in which they were given', () => {
      for (const names of [
        ['c.example', 'a.example'],
        ['b.example', 'a.example'],
        ['b.example', 'c.example', 'a.example'],
      ])
        expect(inOrder(domains(...names))).toEqual(names);
      const same = new Map([
        ['b.example', '10.0.0.2'],
        ['a.example', '10.0.0.1'],
      ]);
      const text = changed(present, { dns: { customDomains: same } });
      expect(text).toBe(file('{ "b.example": "10.0.0.2", "a.example": "10.0.0.1" /* home */ }'));
    });

    it('moves a name with the comments before its value, and respells no value that stays', () => {
      const text = file('{ "a": /* why */ "10.0.0.1", "b": "10.0.0\\u002e1", "c": "10.0.0\\u002e1" }');
      const now = (...names: string[]) =>
        changed(text, { dns: { customDomains: new Map(names.map((name) => [name, '10.0.0.1'])) } });
      expect(now('b', 'c', 'a')).toBe(
        file('{ "b": "10.0.0\\u002e1", "c": "10.0.0\\u002e1", "a": /* why */ "10.0.0.1" }'),
      );
      expect(now('a', 'b', 'c', 'd')).toBe(text.replace(' }', ', "d": "10.0.0.1" }'));
    });

    it('leaves the comments of names that keep their order with them, and drops none', () => {
      const old = ['a', 'b', 'c', 'd'];
      const lines = old.map((name) => `  // above ${name}\n  "${name}": "10.0.0.1", // behind ${name}\n`);
      const text = file(`{ // of all\n${lines.join('').replace(/,(?=[^,]*$)/, '')}}`);
      const anyNames = fc.uniqueArray(fc.constantFrom(...old, 'e', 'f', 'g'));
      fc.assert(
        fc.property(anyNames, (names) => {
          const now = changed(text, { dns: { customDomains: new Map(names.map((name) => [name, '10.0.0.1'])) } });
          expect(inOrder(now)).toEqual(names);
          expect(now.match(/\/\/.*/g)?.toSorted()).toEqual(text.match(/\/\/.*/g)?.toSorted());
          const staying = names.filter((name) => old.includes(name));
          if (staying.some((name, index) => name < (staying[index - 1] ?? ''))) return;
          for (const name of staying)
            expect(now).toMatch(new RegExp(`  // above ${name}\n  "${name}": "10.0.0.1",? // behind ${name}\n`));
        }),
        { numRuns: tries(100) },
      );
    });
  });

  describe('with entries of DNS lists', () => {
    const list = '{ "url": "https://a.example/1", "name": "one", "enabled": true, "id": 7 /* ours */ }';
    const other = '{ "url": "https://a.example/2" }';
    const text = `{ "mode": "server", "dns": { "cache_size": 5, "lists": [${list}, ${other}],
      "rewrites": [{ "domain": "a.example", "answer": "b.example", "since": 2020 }] } }`;
    const { resolver } = readDocument(Buffer.from(text)).configuration.dns;
    if (resolver === null) throw new Error('the file has the form of 0.4.6');
    const [one, two] = resolver.lists;
    if (one === undefined || two === undefined) throw new Error('the file has two lists');

    it('leaves them alone where another setting changes', () => {
      expect(changed(text, { dns: { resolver: { ...resolver, cacheSize: 6n } } })).toContain(
        text.slice(text.indexOf('"lists"'), -2).trimEnd(),
      );
    });

    it('keeps what it does not know of one that changes or moves, and of the others', () => {
      const lists = [two, { ...one, enabled: false }];
      const moved = changed(text, { dns: { resolver: { ...resolver, lists } } });
      expect(moved).toContain(`[${other}, ${list.replace('true', 'false')}]`);
      const rewrites = [
        { domain: 'c.example', answer: '10.0.0.1' },
        { domain: 'a.example', answer: '10.0.0.2' },
      ];
      const answered = changed(text, { dns: { resolver: { ...resolver, rewrites } } });
      expect(answered).toContain('{ "domain": "a.example", "answer": "10.0.0.2", "since": 2020 }');
      expect(answered).toContain(list);
    });
  });

  it('writes an integer in place of a number that servers do not accept as one', () => {
    expect(changed(FILE, { dns: { refreshHours: 24 } })).toBe(FILE.replace('24.0', '24'));
  });

  it('gives a member another name where it stands', () => {
    const operations = [
      { op: 'move', from: '/dns/adblock_urls', path: '/dns/urls' },
      { op: 'add', path: '/dns/urls/-', value: 'https://a.example/3' },
    ];
    expect(patched(FILE, operations)).toBe(
      FILE.replace('"adblock_urls"', '"urls"').replace('example/2"]', 'example/2", "https://a.example/3"]'),
    );
  });

  it('gives only one of two copies the name and place of a member that goes', () => {
    const operations = [
      { op: 'copy', from: '/dns/refresh_hours', path: '/dns/one' },
      { op: 'copy', from: '/dns/refresh_hours', path: '/dns/other' },
      { op: 'remove', path: '/dns/refresh_hours' },
    ];
    expect(patched(FILE, operations)).toBe(FILE.replace('"refresh_hours": 24.0', '"one": 24.0,\n    "other": 24.0'));
  });

  it('sets rules and DNS settings of a file that has neither in one edit', () => {
    const text = '{\n  "inbounds": [],\n  "outbounds": [{ "protocol": "socks5", "tag": "p" }] // one\n}';
    const { bytes, members } = changeDocument(readDocument(Buffer.from(text)).document, {
      rules: [rule('.a')],
      dns: { enabled: true },
    });
    expect(members).toEqual(new Set(['inbounds', 'outbounds', 'routing', 'dns']));
    const { configuration } = readDocument(bytes);
    expect(configuration.outbound?.rules).toEqual([rule('.a')]);
    expect(configuration.dns.enabled).toBe(true);
    expect(bytes.toString()).toContain('}], // one\n  "routing": {\n');
  });
});
