import type { Whole } from '../../src/text/whole.js';
import { ApiFailure } from './failure.js';
import { dataOf, entityTag, type HttpAnswer, type HttpCall } from './http.js';
import * as wire from './wire.js';

/** Sends calls with the credential that stands; what happens at a 401 is the session's business. */
export type Sender = (call: Omit<HttpCall, 'authorization'>) => Promise<HttpAnswer>;

/** Settings with the tag that a change of just these names; null where the server tells none. */
export interface Tagged<T> {
  readonly settings: T;
  readonly tag: string | null;
}

export interface NewUser {
  readonly access_key?: string;
  readonly name?: string;
  readonly limit_bytes?: Whole;
}

/** A list of 100,000 keys may come over a slow line. */
const LIST_TIMEOUT = 120_000;

/** Throws where URL rules would rewrite the path (`.` and `..`, in any spelling). */
function keyPath(key: string): string {
  if (key === '.' || key === '..') throw new ApiFailure('unaddressable');
  return encodeURIComponent(key);
}

/** Every operation of the API, typed. Each rejects with `ApiFailure`. */
export function createServer(send: Sender) {
  const write = async (call: Parameters<Sender>[0]) => dataOf((await send(call)).text);
  const get = (path: string) => write({ path });
  const getTagged = async <T>(path: string, read: (data: unknown) => T): Promise<Tagged<T>> => {
    const answer = await send({ path });
    return { settings: read(dataOf(answer.text)), tag: entityTag(answer) };
  };
  const ifMatch = (tag: string | null) => (tag === null ? {} : { headers: { 'if-match': tag } });
  const getText = async (path: string) => (await send({ path, timeout: LIST_TIMEOUT })).text;
  const run = async (call: Parameters<Sender>[0]): Promise<void> => void (await write(call));
  const user = (key: string, rest = '') => `/users/${keyPath(key)}${rest}`;
  return {
    /** `timeout` in milliseconds. */
    status: async (timeout?: number) =>
      wire.readStatus(await write({ path: '/server/status', ...(timeout !== undefined && { timeout }) })),
    /** The whole answer as text, so that an unchanged list need not be read again. */
    usersText: () => getText('/users'),
    createUser: async (body: NewUser) => wire.readText(await write({ method: 'POST', path: '/users', body }), 'data'),
    createUsers: async (count: number, limit: Whole | null) =>
      wire.readTexts(
        await write({ method: 'POST', path: '/users/bulk', body: { count, limit_bytes: limit ?? undefined } }),
      ),
    updateUser: async (key: string, name: string | null, limit: Whole | null) =>
      run({ method: 'PUT', path: user(key), body: { name, limit_bytes: limit } }),
    setLimit: async (key: string, limit: Whole | null) =>
      run({ method: 'PUT', path: user(key, '/limit'), body: { limit_bytes: limit } }),
    resetUser: async (key: string) => run({ method: 'POST', path: user(key, '/reset') }),
    deleteUser: async (key: string) => run({ method: 'DELETE', path: user(key) }),
    shareLink: async (key: string) =>
      wire.readText(await write({ path: `/subscribe/${keyPath(key)}`, accept: 'text/plain' }), 'data'),
    /** The address of the key's subscription; null where the server has none. */
    subscription: async (key: string) => {
      const { subscription } = wire.fieldsOf(await get(user(key, '/share'))).members;
      return typeof subscription === 'string' ? subscription : null;
    },
    /** Pretty-printed. */
    clientConfig: async (key: string) => JSON.stringify(await get(`/subscribe/${keyPath(key)}`), null, 2),
    /** The whole answer, whose `data` member is the file. */
    configText: () => getText('/server/config'),
    replaceConfig: (text: string) =>
      run({ method: 'PUT', path: '/server/config', text, timeout: LIST_TIMEOUT, endsSession: true }),
    audit: async () => wire.readAudit(await get('/audit')),
    /** Goes out also where the page is left right after. */
    addAudit: (eventEn: string, eventRu: string, success: boolean) =>
      run({ method: 'POST', path: '/audit', body: { eventEn, eventRu, success }, keepalive: true }),
    clearAudit: () => run({ method: 'DELETE', path: '/audit' }),
    rules: () => getTagged('/router/rules', wire.readRules),
    /** Rejects where the tag is that of other rules by now (`isChangedMeanwhile`); null changes any. */
    replaceRules: (rules: readonly wire.OutboundRule[], tag: string | null) =>
      run({ method: 'PUT', path: '/router/rules', body: rules, ...ifMatch(tag) }),
    dns: () => getTagged('/dns/config', wire.readDns),
    /** Rejects as `replaceRules` does. */
    replaceDns: (settings: Partial<wire.DnsSettings>, tag: string | null) =>
      run({ method: 'POST', path: '/dns/config', body: settings, ...ifMatch(tag) }),
    dnsQueries: async () => wire.readQueries(await get('/dns/queries')),
    refreshBlocklists: () => run({ method: 'POST', path: '/dns/blocklists/refresh' }),
  };
}

export type Server = ReturnType<typeof createServer>;
