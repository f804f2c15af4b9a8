import type { Whole } from '../text/exact-json.js';
import { ApiFailure } from './failure.js';
import { dataOf, type HttpCall } from './http.js';
import * as wire from './wire.js';

/** Sends calls with the credential that stands; what happens at a 401 is the session's business. */
export type Sender = (call: Omit<HttpCall, 'authorization'>) => Promise<string>;

export interface NewUser {
  readonly access_key?: string;
  readonly name?: string;
  readonly limit_bytes?: Whole;
}

/** Every operation of the API, typed. Each rejects with `ApiFailure`. */
export interface Server {
  /** `timeout` in milliseconds. */
  status(timeout?: number): Promise<wire.ServerStatus>;
  /** The whole answer as text, so that an unchanged list need not be read again. */
  usersText(): Promise<string>;
  user(key: string): Promise<wire.User>;
  createUser(user: NewUser): Promise<string>;
  createUsers(count: number, limit: Whole | null): Promise<readonly string[]>;
  updateUser(key: string, name: string | null, limit: Whole | null): Promise<void>;
  setLimit(key: string, limit: Whole | null): Promise<void>;
  resetUser(key: string): Promise<void>;
  deleteUser(key: string, keepalive?: boolean): Promise<void>;
  shareLink(key: string): Promise<string>;
  /** Pretty-printed. */
  clientConfig(key: string): Promise<string>;
  /** The `data` member as the answer spells it. */
  configText(): Promise<string>;
  replaceConfig(text: string): Promise<void>;
  audit(): Promise<readonly wire.AuditEntry[]>;
  /** Goes out also where the page is left right after. */
  addAudit(eventEn: string, eventRu: string, success: boolean): Promise<void>;
  clearAudit(): Promise<void>;
  rules(): Promise<readonly wire.OutboundRule[]>;
  replaceRules(rules: readonly wire.OutboundRule[]): Promise<void>;
  dns(): Promise<wire.DnsSettings>;
  replaceDns(settings: wire.DnsSettings): Promise<void>;
  dnsQueries(): Promise<readonly wire.DnsQuery[]>;
  refreshBlocklists(): Promise<void>;
}

/** A list of 100,000 keys may come over a slow line. */
const LIST_TIMEOUT = 120_000;

/** Throws where URL rules would rewrite the path (`.` and `..`, in any spelling). */
function keyPath(key: string): string {
  if (key === '.' || key === '..') throw new ApiFailure('unaddressable');
  return encodeURIComponent(key);
}

export function createServer(send: Sender): Server {
  const get = async (path: string) => dataOf(await send({ method: 'GET', path }));
  const write = async (call: Parameters<Sender>[0]) => dataOf(await send(call));
  const user = (key: string, rest = '') => `/users/${keyPath(key)}${rest}`;
  return {
    status: async (timeout) =>
      wire.readStatus(
        dataOf(await send({ method: 'GET', path: '/server/status', ...(timeout === undefined ? {} : { timeout }) })),
      ),
    usersText: () => send({ method: 'GET', path: '/users', timeout: LIST_TIMEOUT }),
    user: async (key) => wire.readUsers([await get(user(key))])[0] ?? Promise.reject(new ApiFailure('garbled')),
    createUser: async (body) => wire.readText(await write({ method: 'POST', path: '/users', body }), 'data'),
    createUsers: async (count, limit) =>
      wire.readTexts(
        await write({ method: 'POST', path: '/users/bulk', body: { count, limit_bytes: limit ?? undefined } }),
      ),
    updateUser: async (key, name, limit) =>
      void (await write({ method: 'PUT', path: user(key), body: { name, limit_bytes: limit } })),
    setLimit: async (key, limit) =>
      void (await write({ method: 'PUT', path: user(key, '/limit'), body: { limit_bytes: limit } })),
    resetUser: async (key) => void (await write({ method: 'POST', path: user(key, '/reset') })),
    deleteUser: async (key, keepalive = false) => void (await write({ method: 'DELETE', path: user(key), keepalive })),
    shareLink: async (key) =>
      wire.readText(
        dataOf(await send({ method: 'GET', path: `/subscribe/${keyPath(key)}`, accept: 'text/plain' })),
        'data',
      ),
    clientConfig: async (key) => JSON.stringify(await get(`/subscribe/${keyPath(key)}`), null, 2),
    configText: () => send({ method: 'GET', path: '/server/config', timeout: LIST_TIMEOUT }),
    replaceConfig: async (text) =>
      void (await write({ method: 'PUT', path: '/server/config', text, timeout: LIST_TIMEOUT, endsSession: true })),
    audit: async () => wire.readAudit(await get('/audit')),
    addAudit: async (eventEn, eventRu, success) =>
      void (await write({ method: 'POST', path: '/audit', body: { eventEn, eventRu, success }, keepalive: true })),
    clearAudit: async () => void (await write({ method: 'DELETE', path: '/audit' })),
    rules: async () => wire.readRules(await get('/router/rules')),
    replaceRules: async (rules) => void (await write({ method: 'PUT', path: '/router/rules', body: rules })),
    dns: async () => wire.readDns(await get('/dns/config')),
    replaceDns: async (settings) => void (await write({ method: 'POST', path: '/dns/config', body: settings })),
    dnsQueries: async () => wire.readQueries(await get('/dns/queries')),
    refreshBlocklists: async () => void (await write({ method: 'POST', path: '/dns/blocklists/refresh' })),
  };
}
