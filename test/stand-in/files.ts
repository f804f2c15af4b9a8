import type { StandIn } from './stand-in.js';

/** SHA-256 of `password`. */
const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

/** What the servers of these files let in. */
export const CREDENTIALS = { token: 'static-token-1', username: 'admin', password: 'password' };

/** A file of servers from 0.2.31 to 0.3.6: `alpha`, and `beta` with name and limit. */
export const ROOT_LIST_FILE = `{
  "mode": "server",
  "listen": "127.0.0.1:50000",
  "access_keys": ["alpha", { "access_key": "beta", "name": "Beta", "limit_bytes": 1000 }],
  "api": {
    "enabled": true,
    "bind": "127.0.0.1:9090",
    "token": "static-token-1",
    "webpath": "/panel",
    "username": "admin",
    "password_hash": "${PASSWORD_HASH}"
  }
}
`;

/** A file of servers up to 0.2.30, which take plain strings alone: `alpha` and `beta`. */
export const STRINGS_FILE = ROOT_LIST_FILE.replace(/\{ "access_key"[^}]+\}/, '"beta"');

/** A file of servers from 0.3.7 on: the same keys, and a rule that proxies. */
export const INBOUNDS_FILE = `{
  "version": "0.3.21",
  "mode": "server",
  "inbounds": [
    {
      "protocol": "ostp",
      "tag": "ostp-in",
      "listen": "127.0.0.1",
      "port": 50000,
      "users": [{ "key": "alpha", "name": "Alpha" }, { "key": "beta", "name": "Beta", "limit_bytes": 1000 }]
    },
    {
      "protocol": "api",
      "tag": "api-in",
      "listen": "127.0.0.1",
      "port": 9090,
      "token": "static-token-1",
      "webpath": "/panel",
      "username": "admin",
      "password_hash": "${PASSWORD_HASH}"
    }
  ],
  "outbounds": [
    { "protocol": "socks5", "tag": "proxy", "server": "127.0.0.1", "server_port": 9050 },
    { "protocol": "direct", "tag": "direct" },
    { "protocol": "block", "tag": "block" }
  ],
  "routing": { "rules": [{ "domain_suffix": [".a"], "outbound": "proxy" }], "default_outbound": "direct" }
}
`;

/** The file that a line's servers start from. */
export function fileOf(line: string): string {
  if (/^0\.2\.([12]?\d|30)$/.test(line)) return STRINGS_FILE;
  return /^0\.3\.([7-9]|\d\d)/.test(line) ? INBOUNDS_FILE : ROOT_LIST_FILE;
}

/** An envelope as it came; `error` where there was none. */
export interface Envelope {
  readonly ok: boolean;
  readonly data?: unknown;
  readonly error?: string;
}

/** A client of a stand-in with a session of its own, as a panel has it: it signs in again when it was signed out. */
export function apiOf({ origin, paths }: Pick<StandIn, 'origin' | 'paths' | 'version'>) {
  let authorization = `Bearer ${CREDENTIALS.token}`;
  const once = async (method: string, path: string, body?: unknown): Promise<Envelope> => {
    const headers = { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${origin}${paths.api}${path}`, { method, headers, ...sent });
    return (await answer.json()) as Envelope;
  };
  const call = async (method: string, path: string, body?: unknown): Promise<Envelope> => {
    const first = await once(method, path, body);
    if (first.ok || first.error !== 'unauthorized') return first;
    const { username, password } = CREDENTIALS;
    const { data } = await once('POST', '/login', { username, password });
    authorization = `Bearer ${(data as { readonly token: string }).token}`;
    return once(method, path, body);
  };
  return Object.assign(call, { once });
}
