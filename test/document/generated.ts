import fc from 'fast-check';
import type { AccessKey, ConfigurationChange, DnsChange, OutboundRule } from '../../src/core/model.js';

/** A file made up by chance: blanks, comments, odd numbers and unknown members anywhere. */
export interface GeneratedFile {
  readonly text: string;
  readonly inbounds: boolean;
}

const KEYS = ['alpha', 'beta', 'gamma', 'delta', 'k\u00e9y', 'q"uote', '__proto__', '0'];
const NUMBERS = ['1e3', '0.10', '-0', '18446744073709551615', '12345678901234567890123', '7'];

/** A token, or the name of a place where blanks and comments may stand. */
type Part = string;

const quoted = (text: string): fc.Arbitrary<string> => {
  return fc.constantFrom(
    JSON.stringify(text),
    `"${[...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
  );
};

const commas = (items: readonly (readonly Part[])[]): Part[] =>
  items.flatMap((item, i) => (i === 0 ? item : [',', ...item]));
const array = (items: readonly (readonly Part[])[]): Part[] => ['[', ...commas(items), ']'];
const object = (members: readonly (readonly Part[])[]): Part[] => ['{', ...commas(members), '}'];
const member = (name: string, value: readonly Part[]): Part[] => [JSON.stringify(name), ':', ...value];

const scalar: fc.Arbitrary<Part[]> = fc.oneof(
  fc.constantFrom(...NUMBERS).map((number) => [number]),
  fc.constantFrom('"// no comment"', '"# \\" neither"', 'null', 'true').map((text) => [text]),
);
const unknown: fc.Arbitrary<Part[]> = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 2 }).map(array),
  scalar.map((value) => object([member('deep', value)])),
);

const limit = fc.oneof(
  fc.constantFrom('0', '5', '18446744073709551615', 'null'),
  fc.constantFrom('1e3', '"5"', '-1', '0.10'),
);
const name = fc.oneof(fc.constantFrom('"N"', '"\\u004e"', '""', 'null'), fc.constantFrom('5', '[1, 2]'));

function element(keyMember: string): fc.Arbitrary<Part[]> {
  const key = fc.constantFrom(...KEYS).chain(quoted);
  const whole = fc
    .record({ key, name: fc.option(name), limit: fc.option(limit), extra: fc.option(unknown), twice: fc.boolean() })
    .chain((parts) => {
      const members = [member(keyMember, [parts.key])];
      if (parts.name !== null) members.push(member('name', [parts.name]));
      if (parts.limit !== null) members.push(member('limit_bytes', [parts.limit]));
      if (parts.extra !== null) members.push(member('note', parts.extra));
      if (parts.twice && parts.name !== null) members.push(member('name', ['"again"']));
      return fc.shuffledSubarray(members, { minLength: members.length });
    })
    .map(object);
  return fc.oneof(
    { weight: 4, arbitrary: key.map((text) => [text]) },
    { weight: 4, arbitrary: whole },
    {
      weight: 1,
      arbitrary: fc.oneof(unknown, fc.constant<Part[]>(['""']), fc.constant(object([member('name', ['"x"'])]))),
    },
  );
}

const keyList = (keyMember: string): fc.Arbitrary<Part[]> => fc.array(element(keyMember), { maxLength: 6 }).map(array);

const texts = fc
  .array(fc.constantFrom('".a"', '"10.0.0.0/8"', '5'), { maxLength: 2 })
  .map((list) => array(list.map((text) => [text])));

function rule(target: string, targets: readonly string[]): fc.Arbitrary<Part[]> {
  return fc
    .record({
      domains: fc.option(texts),
      protocol: fc.option(fc.constantFrom('"tcp"', 'null')),
      to: fc.constantFrom(...targets),
      extra: fc.option(unknown),
    })
    .map(({ domains, protocol, to, extra }) => {
      const members = [member(target, [to])];
      if (domains !== null) members.unshift(member('domain_suffix', domains));
      if (protocol !== null) members.push(member('protocol', [protocol]));
      if (extra !== null) members.push(member('note', extra));
      return object(members);
    });
}

const dns = fc
  .record({
    enabled: fc.option(fc.constantFrom('true', 'false', '5')),
    local_port: fc.option(fc.constantFrom('53', '50053', '70000')),
    adblock_urls: fc.option(texts.map((parts) => parts.join(''))),
    custom_domains: fc.option(fc.constantFrom('{}', '{"b": "::1", "0": "10.0.0.1"}', '[]')),
    note: fc.option(fc.constantFrom(...NUMBERS)),
  })
  .map((members) =>
    object(Object.entries(members).flatMap(([of, value]) => (value === null ? [] : [member(of, [value])]))),
  );

const accessKeysRoot = fc
  .record({
    keys: fc.option(keyList('access_key'), { freq: 8 }),
    rules: fc.array(rule('action', ['"proxy"', '"direct"', '"block"', '"maybe"']), { maxLength: 4 }),
    dns: fc.option(fc.oneof(dns, fc.constant(['[', ']']))),
    extra: unknown,
  })
  .chain(({ keys, rules, dns: section, extra }) => {
    const members = [
      member('mode', ['"server"']),
      member('extra', extra),
      member('outbound', object([member('rules', array(rules))])),
    ];
    if (keys !== null) members.push(member('access_keys', keys));
    if (section !== null) members.push(member('dns', section));
    return fc.shuffledSubarray(members, { minLength: members.length });
  })
  .map(object);

const inboundsRoot = fc
  .record({
    users: fc.array(fc.option(keyList('key'), { freq: 8 }), { minLength: 1, maxLength: 3 }),
    rules: fc.array(rule('outbound', ['"p"', '"d"', '"b"', '"nowhere"']), { maxLength: 4 }),
    dns: fc.option(dns),
    extra: unknown,
  })
  .chain(({ users, rules, dns: section, extra }) => {
    const inbounds = users.map((list) => {
      return object([
        member('protocol', ['"ostp"']),
        ...(list === null ? [] : [member('users', list)]),
        member('note', extra),
      ]);
    });
    const out = (protocol: string, tag: string): Part[] =>
      object([member('protocol', [protocol]), member('tag', [tag])]);
    const members = [
      member('inbounds', array([object([member('protocol', ['"api"'])]), ...inbounds])),
      member('outbounds', array([out('"direct"', '"d"'), out('"socks5"', '"p"'), out('"block"', '"b"')])),
      member('routing', object([member('rules', array(rules))])),
      member('extra', extra),
    ];
    if (section !== null) members.push(member('dns', section));
    return fc.shuffledSubarray(members, { minLength: members.length });
  })
  .map(object);

/** Puts numbered comments and blanks between the tokens, as the list of choices says, again and again. */
function write(parts: readonly Part[], fillers: readonly number[], eol: string): string {
  let count = 0;
  const filler = (index: number): string => {
    count += 1;
    const fillersOf = [
      '',
      '',
      ' ',
      eol,
      `${eol}\t`,
      `${eol}    `,
      ` /* ${count} */ `,
      ` // ${count}${eol}`,
      ` # ${count}${eol}  `,
      `/*${eol}${count} */`,
    ];
    return fillersOf[(fillers[index % Math.max(fillers.length, 1)] ?? 0) % fillersOf.length] ?? '';
  };
  return parts.map((part, index) => filler(index) + part).join('') + filler(parts.length);
}

function pretty(parts: readonly Part[], eol: string): string {
  let depth = 0;
  let text = '';
  for (const [index, part] of parts.entries()) {
    if (part === ']' || part === '}') depth -= 1;
    const opened = index > 0 && '[{'.includes(parts[index - 1] ?? '');
    if ((part === ']' || part === '}') !== opened && (opened || part === ']' || part === '}'))
      text += eol + '  '.repeat(depth);
    if (part === '[' || part === '{') depth += 1;
    text += part === ',' ? `,${eol}${'  '.repeat(depth)}` : part === ':' ? ': ' : part;
  }
  return text;
}

/** Any file of both layouts. */
export const anyFile: fc.Arbitrary<GeneratedFile> = fc
  .record({
    inbounds: fc.boolean(),
    fillers: fc.option(fc.array(fc.nat(9), { maxLength: 60 }), { freq: 4 }),
    eol: fc.constantFrom('\n', '\r\n'),
  })
  .chain(({ inbounds, fillers, eol }) => {
    return (inbounds ? inboundsRoot : accessKeysRoot).map((parts) => {
      return { inbounds, text: fillers === null ? pretty(parts, eol) : write(parts, fillers, eol) };
    });
  });

const record: fc.Arbitrary<AccessKey | null> = fc.option(
  fc.record({
    accessKey: fc.constant(''),
    name: fc.option(fc.constantFrom('N', '', 'a "name" \ud83d\udd11')),
    limitBytes: fc.option(fc.constantFrom(0n, 5n, 2n ** 64n - 1n)),
  }),
  { freq: 2 },
);

/** Any change of keys. */
export const anyKeys: fc.Arbitrary<ReadonlyMap<string, AccessKey | null>> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...KEYS, 'new', 'newer'), record), { selector: ([key]) => key, maxLength: 5 })
  .map(
    (entries) => new Map(entries.map(([key, value]) => [key, value === null ? null : { ...value, accessKey: key }])),
  );

const anyRule: fc.Arbitrary<OutboundRule> = fc.record({
  domainSuffix: fc.subarray(['.a', '10.0.0.0/8']),
  ipCidr: fc.subarray(['::/0']),
  protocol: fc.constantFrom('tcp', null),
  action: fc.constantFrom('proxy' as const, 'direct' as const, 'block' as const),
});

/** Any new set of rules, many of them like those in the files. */
export const anyRules: fc.Arbitrary<readonly OutboundRule[]> = fc.array(anyRule, { maxLength: 5 });

/** Any change of DNS settings. */
export const anyDns: fc.Arbitrary<DnsChange> = fc.record(
  {
    enabled: fc.boolean(),
    dohUpstream: fc.constantFrom('https://a', 'https://cloudflare-dns.com/dns-query'),
    adblockUrls: fc.subarray(['.a', '10.0.0.0/8']),
    customDomains: fc.constantFrom(
      new Map(),
      new Map([
        ['0', '10.0.0.1'],
        ['b', '::1'],
      ]),
    ),
    localPort: fc.constantFrom(53, 50053),
    interceptAllPort53: fc.boolean(),
  },
  { requiredKeys: [] },
);

/** Any change of all three. */
export const anyChange: fc.Arbitrary<ConfigurationChange> = fc.record(
  { keys: anyKeys, rules: anyRules, dns: anyDns },
  { requiredKeys: [] },
);
