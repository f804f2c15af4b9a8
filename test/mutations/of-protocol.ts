import { isJsonObject, type JsonObject, type JsonValue } from '../../src/wire/json/json.js';
import { type Operation, operationNamed } from '../../src/wire/operations.js';
import { otherValue } from './members.js';
import {
  type Asked,
  changing,
  credentialOf,
  isOf,
  type Mutation,
  type Reply,
  redirecting,
  type Site,
  withData,
  withHeader,
} from './mutation.js';

/** What may be wrong beyond single operations, by the sections of the protocol. */
export function mutationsOfProtocol(site: Site): readonly Mutation[] {
  return [
    ...credentialMutations(site),
    ...statusMutations(site),
    ...configurationMutations(site),
    ...keyMutations(site),
    ...linkMutations(site),
    ...(site.revision.capabilities.panel === undefined ? [] : panelMutations(site)),
    ...pathMutations(site),
  ];
}

/** Protocol: "Access check for protected endpoints": each credential passes where it must not, or the other way round. */
function credentialMutations(site: Site): readonly Mutation[] {
  const { revision, token, session, api } = site;
  const known = [['TOKEN', token] as const, ...(session === null ? [] : [['SESSION', session] as const])];
  const spelt = [
    ...known.flatMap(([name, secret]) => [
      [`Bearer ${name}`, (given: string) => given === `Bearer ${secret}`] as const,
      [name, (given: string) => given === secret] as const,
      [
        `a prefix of ${name}`,
        (given: string) => given !== 'Bearer ' && `Bearer ${secret}`.startsWith(given) && given !== `Bearer ${secret}`,
      ] as const,
      [
        `${name} and more`,
        (given: string) => given.startsWith(`Bearer ${secret}`) && given !== `Bearer ${secret}`,
      ] as const,
    ]),
    [
      'any other',
      (given: string) =>
        !known.some(([, secret]) => `Bearer ${secret}`.startsWith(given) || secret === given || given.includes(secret)),
    ] as const,
    ['Bearer and nothing', (given: string) => given === 'Bearer '] as const,
  ];
  const passes = (given: string) =>
    revision.auth
      .decode(given)
      .some(({ kind, secret }) => secret !== '' && secret === (kind === 'session' ? session : token));
  const examples = new Map<string, string>(
    known.flatMap(([name, secret]) => [
      [`Bearer ${name}`, `Bearer ${secret}`],
      [name, secret],
    ]),
  );
  return spelt.map(([name, isIt]) => {
    const example = examples.get(name);
    const isRight = example !== undefined && passes(example);
    const applies = (asked: Asked) => {
      const given = asked.headers.get('authorization');
      return asked.path.startsWith(`${api}/`) && given !== undefined && isIt(given);
    };
    return redirecting(`Authorization, ${name}: ${isRight ? 'is refused' : 'is let in'}`, 'reads', applies, (asked) =>
      withHeader(asked, 'authorization', isRight ? null : credentialOf(site)),
    );
  });
}

const operationOf = (name: Parameters<typeof operationNamed>[0]): Operation => operationNamed(name);

function dataOf(
  site: Site,
  operation: Operation,
  words: string,
  edit: (data: JsonValue) => JsonValue | undefined,
): Mutation {
  const name = `${operation.method} ${operation.path}: ${words}`;
  return changing(
    name,
    'reads',
    (asked) => isOf(operation, asked, site),
    (reply) => withData(reply, edit),
  );
}

/** Protocol: "Server status". */
function statusMutations(site: Site): readonly Mutation[] {
  const status = operationOf('getStatus');
  let first: JsonValue | undefined;
  return [
    dataOf(site, status, 'uptime stands still', (data) => {
      if (!isJsonObject(data)) return undefined;
      first ??= data.uptime_seconds;
      return { ...data, uptime_seconds: first ?? 0n };
    }),
    dataOf(site, status, 'version of another line', (data) =>
      isJsonObject(data) ? { ...data, version: site.revision.from === '0.2.0' ? '0.3.21' : '0.2.0' } : undefined,
    ),
  ];
}

/** Protocol: "Configuration file": what of it other reads show. */
function configurationMutations(site: Site): readonly Mutation[] {
  const { capabilities, shareQuery } = site.revision;
  const of = (words: string, edit: (config: JsonObject) => boolean) =>
    dataOf(site, operationOf('getConfig'), words, (data) => (isJsonObject(data) && edit(data) ? data : undefined));
  const keyed = (config: JsonObject) => {
    const keys = Array.isArray(config.access_keys) ? config.access_keys : [];
    return { keys, rich: keys.filter(isJsonObject)[0] ?? {} };
  };
  const changed = (holder: JsonValue | undefined, name: string) => {
    const value = isJsonObject(holder) ? holder[name] : undefined;
    const other = value === undefined ? undefined : otherValue(value);
    if (isJsonObject(holder) && other !== undefined) holder[name] = other;
    return other !== undefined;
  };
  const rules = (edit: (list: JsonValue[]) => JsonValue[]) => (config: JsonObject) => {
    if (!isJsonObject(config.outbound) || !Array.isArray(config.outbound.rules)) return false;
    config.outbound.rules = edit(config.outbound.rules);
    return true;
  };
  const dnsMembers = capabilities.dns === undefined ? ['enabled'] : ['enabled', 'doh_upstream', 'adblock_urls'];
  return [
    of('keys are empty', (config) => Array.isArray(Object.assign(config, { access_keys: [] }).access_keys)),
    of('lacks a key', (config) => keyed(config).keys.shift() !== undefined),
    of('has a key too many', (config) => keyed(config).keys.push('other') > 0),
    ...['name', 'limit_bytes'].map((name) =>
      of(`another ${name} of a key`, (config) => changed(keyed(config).rich, name)),
    ),
    ...(capabilities.rules === undefined
      ? []
      : [
          of(
            'rules are empty',
            rules(() => []),
          ),
          of(
            'rules are in the opposite order',
            rules((list) => list.toReversed()),
          ),
          of(
            'rules all go to the proxy',
            rules((list) => list.map((each) => (isJsonObject(each) ? { ...each, action: 'proxy' } : each))),
          ),
        ]),
    ...(shareQuery.query('', true) === shareQuery.query('', false) ? [] : dnsMembers).map((name) =>
      of(`another dns.${name}`, (config) => changed(config.dns, name)),
    ),
  ];
}

/** Protocol: "Access key (UserMeta)": any text is one, and limits have 64 bits. */
function keyMutations(site: Site): readonly Mutation[] {
  const single = operationOf('getUser');
  const unreadable = (words: string, encoded: string) =>
    redirecting(
      `${single.method} ${single.path}: a key with ${words} is not found`,
      'reads',
      (asked) => isOf(single, asked, site) && asked.path.slice(site.api.length + '/users/'.length).includes(encoded),
      (asked) => ({ ...asked, path: `${site.api}/users/keyway-nobody` }),
    );
  const rounded = (operation: Operation) =>
    changing(
      `${operation.method} ${operation.path}: integers beyond 2^53 are rounded`,
      'reads',
      (asked) => isOf(operation, asked, site),
      (reply) => ({
        ...reply,
        body: Buffer.from(reply.body.toString().replaceAll(/\d{16,}/g, (digits) => String(BigInt(Number(digits))))),
      }),
    );
  const shown = ['listUsers', 'getUser', ...(site.revision.capabilities.config ? ['getConfig'] : [])] as const;
  return [
    unreadable('a slash', '%2F'),
    unreadable('a blank', '%20'),
    ...shown.map((name) => rounded(operationOf(name as 'listUsers'))),
    dataOf(site, operationOf('listUsers'), 'all are online, or none', (data) => {
      if (!Array.isArray(data)) return undefined;
      const flags = data.map((each) => isJsonObject(each) && each.online === true);
      return data.map((each) => (isJsonObject(each) ? { ...each, online: !flags.every(Boolean) } : each));
    }),
  ];
}

/** Protocol: "Subscription". */
function linkMutations(site: Site): readonly Mutation[] {
  const of = (words: string, edit: (link: string) => string) =>
    dataOf(site, operationOf('subscribe'), words, (data) => (typeof data === 'string' ? edit(data) : undefined));
  const ownDns = /[?&]owndns=true$/;
  const { shareQuery } = site.revision;
  return [
    of('link with another scheme', (link) => link.replace('://', 'x://')),
    of('link of another key', (link) => link.replace('://', '://x')),
    of('link to another host', (link) => link.replace('@', '@x')),
    of('link to another port', (link) => link.replace(/:(\d+)(\?|$)/, ':1$1$2')),
    ...(shareQuery.query('', true) === shareQuery.query('', false)
      ? []
      : [
          of('link with owndns and without exchanged', (link) =>
            ownDns.test(link) ? link.replace(ownDns, '') : shareQuery.query(link, true),
          ),
        ]),
    of('link with another query', (link) => (link.includes('?') ? link.replace('?', '?other=1&') : `${link}?other=1`)),
  ];
}

/** Protocol: "Static panel". */
function panelMutations({ base, revision }: Site): readonly Mutation[] {
  const of = (what: string, path: RegExp, words: string, change: (reply: Reply) => Reply) =>
    changing(
      `GET {base}${what}: ${words}`,
      'reads',
      (asked) => asked.method === 'GET' && asked.path.startsWith(base) && path.test(asked.path.slice(base.length)),
      change,
    );
  const asText = (reply: Reply) => withHeader(reply, 'content-type', 'text/plain');
  const empty = (reply: Reply): Reply => ({ ...reply, body: Buffer.alloc(0) });
  const other = (reply: Reply): Reply => ({ ...reply, status: reply.status === 200 ? 404 : 200 });
  const missingFile = /^\/(?!api\/|assets\/)[^.]+\.(?!html|js)\w+$/;
  const missingPage = /^\/(?!api\/)[^.]+$/;
  const dotted = revision.capabilities.panel?.missingFile.answersIndex('/a.css') === true;
  return [
    of('', /^$/, 'redirect of another kind', (reply) => ({ ...reply, status: 302 })),
    of('', /^$/, 'redirect to elsewhere', (reply) => withHeader(reply, 'location', '/elsewhere/')),
    of('/', /^\/$/, 'status 404', other),
    of('/', /^\/$/, 'as text/plain', asText),
    of('/', /^\/$/, 'without a body', empty),
    of('/…', missingPage, 'status 404', other),
    of('/…', missingPage, 'as text/plain', asText),
    of('/….css', missingFile, dotted ? 'status 404' : 'status 200', other),
    of('/….js', /\.js$/, 'a script as text/plain', asText),
    of('/….js', /\.js$/, 'a script is missing', (reply) => ({ ...reply, status: 404 })),
  ];
}

/** Paths that nobody serves. */
function pathMutations({ api }: Site): readonly Mutation[] {
  const of = (words: string, body: string, type: string) =>
    changing(
      `GET of a path that nobody serves: ${words}`,
      'reads',
      ({ method, path }) =>
        method === 'GET' && /^\/keyway-[a-z-]+$/.test(path.startsWith(api) ? path.slice(api.length) : ''),
      (reply) => ({ ...withHeader(reply, 'content-type', type), status: 200, body: Buffer.from(body) }),
    );
  return [of('an empty 200', '', 'text/plain'), of('a success', '{"ok":true,"data":null}', 'application/json')];
}
