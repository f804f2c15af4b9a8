import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createGateway } from '../../../src/index.js';
import { isJsonObject, parseJson } from '../../../src/wire/json/json.js';
import type { Revision } from '../../../src/wire/traits/revision.js';
import { folderForTest } from '../../folder-for-test.js';
import type { Lacking } from '../../stand-in/behaviour.js';
import { startFaultyProxy } from '../../stand-in/faulty-proxy.js';
import { apiOf, CREDENTIALS, fileOf } from '../../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';

/** A server of a line, with mounts of an older and of the newest revision in front of it. */
interface Front {
  /** What a mount answers under its API root, as JSON; `old` has the older DNS endpoints, `new` everything of the newest. */
  ask(mount: 'old' | 'new', method: Method, path: string, body?: object): Promise<Answer>;
  /** What the server itself answers. */
  own(method: string, path: string, body?: object): Promise<Answer>;
  /** What the front asked the server for, as `GET /path`. */
  readonly requests: readonly string[];
  /** A member of the root of the server's file. */
  inFile(member: string): Promise<unknown>;
  /** A client of the server connects, and goes: one in all. */
  connectsOnce(): void;
}

type Method = 'GET' | 'PUT' | 'POST';

interface Answer {
  readonly ok?: boolean;
  readonly data?: unknown;
  readonly links?: Readonly<Record<string, unknown>>;
}

/** Tells whether the loss is there, in front of the server. */
type Look = (front: Front) => Promise<boolean>;

const ANNOUNCED = { host: 'announced.example', port: 50_000, shareScheme: 'ostp', shareQuery: '' };

/** The file of the line with a domain of its own. */
const fileWithDomain = (line: string) => fileOf(line).replace('"mode"', '"domain": "domain.example", "mode"');

export async function openFront({ reportedVersion }: Revision, lacking: readonly Lacking[] = []): Promise<Front> {
  const file = join(await folderForTest(), 'server.jsonc');
  await writeFile(file, fileWithDomain(reportedVersion));
  const standIn = await standInOf(reportedVersion, { ...LOSES_NOTHING, announced: ANNOUNCED, file, lacking });
  const proxy = await startFaultyProxy(standIn.origin);
  onTestFinished(() => proxy.close());
  const { token, username, password } = CREDENTIALS;
  const upstream = { url: proxy.origin + standIn.paths.base, token, username, password };
  const passwordHash = /"password_hash": "(\w+)"/.exec(fileOf('0.2.96'))?.[1] ?? '';
  const app = await createGateway({
    upstream,
    listener: { token: 'front', username, passwordHash },
    mounts: [
      { revision: 'dns', webpath: 'old' },
      { revision: '0.4.7', webpath: 'new' },
    ],
    loginGuard: 'off',
  });
  onTestFinished(() => app.close());
  const ask = async (mount: string, method: Method, path: string, body?: object, bearer = '', accept = '*/*') => {
    const headers = { authorization: `Bearer ${bearer}`, accept };
    const sent = body === undefined ? { headers } : { payload: body, headers };
    return (await app.inject({ method, url: `/${mount}/api${path}`, ...sent })).json() as Answer;
  };
  const { data } = await ask('old', 'POST', '/login', { username, password });
  const session = isText(data, 'token');
  let hasConnected = false;
  return {
    ask: (mount, method, path, body) =>
      ask(mount, method, path, body, mount === 'old' ? session : 'front', PLAIN.test(path) ? 'text/plain' : '*/*'),
    own: async (method, path, body) => (await apiOf(standIn)(method, path, body).catch(() => ({}))) as Answer,
    requests: proxy.requests,
    async inFile(member) {
      const root = parseJson(await readFile(file));
      return isJsonObject(root) ? root[member] : undefined;
    },
    connectsOnce() {
      if (hasConnected) return;
      hasConnected = true;
      standIn.count('alpha', { up: BigInt(USED), connections: 1n });
      standIn.count('alpha', { connections: -1n });
    },
  };
}

/** The path of a subscription that is asked for as a link. */
const PLAIN = /^\/subscribe\/.*[?&]plain/;

const member = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined),
    value,
  );
const isText = (value: unknown, ...path: readonly string[]): string => String(member(value, ...path));

/** Bytes that a client sends. */
const USED = 5;

/** A name that only the configuration has where the server announces another. */
const DOMAIN = 'domain.example';

const connectionsOf =
  (path: string): Look =>
  async ({ ask, connectsOnce }) => {
    connectsOnce();
    const shown = async () => {
      // Sums are those of the last list where a status tells none.
      await ask('new', 'GET', '/users');
      const { data } = await ask('new', 'GET', path);
      return Array.isArray(data) ? data.find((each) => member(each, 'access_key') === 'alpha') : data;
    };
    await expect.poll(async () => member(await shown(), 'bytes_up'), { interval: 200 }).toBe(USED);
    return member(await shown(), 'connections') === 1;
  };

const HANDSHAKES: Readonly<Record<string, Look>> = {
  'getUser connections': connectionsOf('/users/alpha'),
  'listUsers connections': connectionsOf('/users'),
  'getStatus connections': connectionsOf('/server/status'),
};

/** Switches DNS to the other state through the front; null where that was refused. */
async function switched(front: Front, mount: 'old' | 'new') {
  const path = mount === 'old' ? '/dns/config' : '/dns/settings';
  const isOn = async () => member((await front.ask(mount, 'GET', path)).data, 'enabled');
  const enabled = (await isOn()) !== true;
  const { ok } =
    mount === 'old'
      ? await front.ask('old', 'POST', path, { enabled })
      : await front.ask('new', 'PUT', path, { enabled, upstreams: ['tls://192.0.2.1'], lists: [] });
  if (ok !== true) return null;
  return {
    isShown: (await isOn()) === enabled,
    isInFile: member(await front.inFile('dns'), 'enabled') === enabled,
    isFollowed: OWN_DNS_CALLS.some((call) => front.requests.some((request) => request.endsWith(call))),
  };
}

/** Switches DNS on through the front; whether an answer says so, null where that was refused. */
async function ownDnsShown(front: Front, path: string): Promise<boolean | null> {
  const first = await switched(front, 'new');
  if (first === null) return null;
  if (member((await front.ask('new', 'GET', '/dns/settings')).data, 'enabled') !== true) await switched(front, 'new');
  const { data } = await front.ask('new', 'GET', path);
  return /owndns=true|"dns_enabled":true/.test(JSON.stringify(data));
}

/** Calls by which servers follow DNS settings at once. */
const OWN_DNS_CALLS = ['POST /api/dns/config', 'POST /panel/api/dns/config', 'PUT /panel/api/dns/settings'];

const dnsByConfig =
  (mount: 'old' | 'new'): Look =>
  async (front) => {
    const now = await switched(front, mount);
    return now?.isShown === true && now.isInFile && !now.isFollowed;
  };

const dnsInMemory =
  (mount: 'old' | 'new'): Look =>
  async (front) => {
    const now = await switched(front, mount);
    return now?.isShown === true && !now.isInFile && !now.isFollowed;
  };

/** The front answers by itself, and asks the server for nothing of the kind. */
const ownResolver =
  (method: Method, path: string, isNothing: (data: unknown) => boolean): Look =>
  async ({ ask, requests }) => {
    const { data } = await ask('new', method, path, method === 'POST' ? { domain: 'a.example' } : undefined);
    const isAsked = requests.some((request) => request === `${method} /panel/api${path}`);
    return isNothing(data) && !isAsked;
  };

const isUnfetched = (data: unknown) => Array.isArray(data) && data.every((list) => member(list, 'ok') === false);
const isEmpty = (data: unknown) => Array.isArray(data) && data.length === 0;

/** Switches overnet on through the front; whether that was taken. */
const overnet = async ({ ask }: Front) => (await ask('new', 'PUT', '/overnet', { enabled: true })).ok === true;

/** By the beginning of a loss's sentence, its places, and how each is seen. */
export const LATER_LOSSES: Readonly<Record<string, Readonly<Record<string, Look>>>> = {
  'A domain in the configuration': {
    'getStatus endpoint.host': async ({ ask }) =>
      isText((await ask('new', 'GET', '/server/status')).data, 'endpoint', 'host') === DOMAIN,
    'getShare udp': async ({ ask }) =>
      isText((await ask('new', 'GET', '/users/alpha/share')).data, 'udp').includes(`@${DOMAIN}:`),
    'subscribe links.udp': async ({ ask }) =>
      isText((await ask('new', 'GET', '/subscribe/alpha')).links, 'udp').includes(`@${DOMAIN}:`),
    'subscribe link': async ({ ask }) =>
      String((await ask('new', 'GET', '/subscribe/alpha?plain')).data).includes(`@${DOMAIN}:`),
    'subscribe server': async ({ ask }) =>
      isText((await ask('new', 'GET', '/subscribe/alpha')).data, 'server').startsWith(`${DOMAIN}:`),
  },
  'A key without a name': {
    'getShare query': async ({ ask }) => {
      await ask('new', 'POST', '/users', { access_key: 'nameless' });
      return isText((await ask('new', 'GET', '/users/nameless/share')).data, 'udp').includes(`name=${DOMAIN}%20`);
    },
  },
  'The server counts handshakes': HANDSHAKES,
  'Betas before 0.4.6-beta.9': HANDSHAKES,
  'Betas before 0.4.6-beta.4': {
    'putDnsSettings resolver': async (front) => {
      const now = await switched(front, 'new');
      const { ok } = await front.own('GET', '/dns/settings');
      return now?.isInFile === true && ok !== true;
    },
  },
  'DNS settings go into': {
    'putDnsConfig enabled': dnsByConfig('old'),
    'putDnsSettings enabled': dnsByConfig('new'),
  },
  'The status and links say': {
    'getStatus endpoint.dns_enabled': async (front) => (await ownDnsShown(front, '/server/status')) === false,
    'subscribe query': async (front) => (await ownDnsShown(front, '/subscribe/alpha?plain')) === false,
    'getShare query': async (front) => (await ownDnsShown(front, '/users/alpha/share')) === false,
  },
  'The server has no DNS': {
    'putDnsConfig enabled': dnsInMemory('old'),
    'putDnsSettings enabled': dnsInMemory('new'),
  },
  'Counts, log and lists': {
    'getDnsStats total': ownResolver('GET', '/dns/stats', (data) => member(data, 'total') === 0),
    'getDnsLog outcome': ownResolver('GET', '/dns/log', isEmpty),
    'testDnsName outcome': ownResolver('POST', '/dns/test', (data) => member(data, 'outcome') === 'allowed'),
    'updateDnsLists ok': ownResolver('POST', '/dns/update', isUnfetched),
  },
  'Settings of overnet go into': {
    'getOvernet serving': async (front) => {
      const isTaken = await overnet(front);
      const { data } = await front.ask('new', 'GET', '/overnet');
      const isAsked = front.requests.some((request) => request.endsWith('/overnet'));
      return isTaken && member(data, 'config', 'enabled') === true && member(data, 'serving') === false && !isAsked;
    },
    'putOvernet config': async (front) =>
      (await overnet(front)) && member(await front.inFile('overnet'), 'enabled') === true,
  },
  'The server has no configuration to keep': {
    'putOvernet config': async (front) => !(await overnet(front)) && (await front.inFile('overnet')) === undefined,
  },
};
