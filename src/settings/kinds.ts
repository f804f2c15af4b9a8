import { isIP, isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { domainToASCII } from 'node:url';
import { knownRevisions, nearestRevision, type ResolvedRevision, resolveRevision } from '../../revisions/index.js';
import { FAULT_EXPECTED, type Fault, readFault } from '../core/faults.js';
import { isPasswordHash } from '../core/password.js';
import { LOG_LEVELS, type LogLevel } from '../platform/log-levels.js';
import { didYouMean } from '../wire/suggest.js';
import { withoutEnd, withoutOuterSlashes } from '../wire/text-ends.js';
import type { Revision } from '../wire/traits/revision.js';
import { type Offered, readSwitch, SWITCH_EXPECTED } from './flags.js';

/** The JSON type that a value has in the settings file. */
export type MemberType = 'string' | 'integer' | 'boolean' | 'string or boolean';

/** A kind of value: reads its text. */
export interface Kind<T> {
  readonly member: MemberType;
  /** The valid values, to follow the word "expected". */
  readonly expected: string;
  /** Returns the end of the message about a wrong text: what was probably meant, or what is wrong with it. */
  readonly hint?: ((text: string) => string) | undefined;
  /** Returns the value, or undefined if the text is not one. Relative paths start at `folder`. */
  read(text: string, folder: string): T | undefined;
  readonly offered?: Offered | undefined;
  /** Returns the place on this machine that a value names; absent for a kind that names none. */
  readonly names?: ((value: T) => NamedPlace) | undefined;
}

/** A path, or an address to listen on; `text` is the value as a text, with its path absolute. */
export type NamedPlace =
  | { readonly kind: 'path' | 'socket'; readonly text: string; readonly path: string }
  | { readonly kind: 'port'; readonly text: string; readonly port: number };

/** One `--revision`: what the operator wrote, its resolution, and the web path after its `@`, trimmed of slashes. */
export interface MountSetting extends Omit<ResolvedRevision, 'isLater'> {
  readonly text: string;
  /** The text before the `@`: a revision's name or a server package version. */
  readonly name: string;
  /** Null means the listener's web path. */
  readonly webpath: string | null;
}

/** The running server that `--upstream` names. */
export interface UpstreamAddress {
  /** `http://host:port`, the port as URLs write it. */
  readonly origin: string;
  /** Without leading and trailing slashes; empty if there is none. */
  readonly webpath: string;
  /** The default data folder of this server. */
  readonly dataFolder: string;
}

export interface PanelFolder {
  /** The mount that it is for, by its `--revision` text or by the revision alone; null for all. */
  readonly mount: string | null;
  readonly folder: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

function stringKind<T>(
  expected: string,
  read: (text: string, folder: string) => T | undefined,
  offered?: Offered,
): Kind<T> {
  const hint = Array.isArray(offered) ? (text: string) => didYouMean(text, offered) : undefined;
  return { member: 'string', expected, read, offered, hint };
}

/** A whole number without sign or leading zero, within the bounds. */
function wholeNumber(text: string, least: number, most: number): number | undefined {
  if (!/^(0|[1-9]\d{0,8})$/.test(text)) return undefined;
  const value = Number(text);
  return value >= least && value <= most ? value : undefined;
}

export const anyText = stringKind('a text without control characters', (text) =>
  CONTROL_CHARACTER.test(text) ? undefined : text,
);

export const someText = stringKind('a text that is not empty and has no control characters', (text) =>
  text === '' || CONTROL_CHARACTER.test(text) ? undefined : text,
);

/** A token, which goes into the header of a request: printable ASCII without blanks. */
export const headerToken: Kind<string> = {
  ...stringKind('a token that a header can carry: letters, digits and signs of ASCII, without blanks', (text) =>
    /^[\x21-\x7e]+$/.test(text) ? text : undefined,
  ),
  hint: (text) => (/^bearer\s/i.test(text) ? '; the word Bearer does not belong to it' : ''),
};

/** A header token, or an empty text for no token. */
export const headerTokenOrNone: Kind<string> = {
  ...headerToken,
  read: (text, folder) => (text === '' ? '' : headerToken.read(text, folder)),
};

/**
 * Matches a quotation mark that a web page or a messenger has made of a shell's; a path that really begins with one is
 * written `./“a”`.
 */
const TYPOGRAPHIC_QUOTE = /^[\u2018-\u201f\u00ab\u2039]/;

export const path: Kind<string> = {
  ...stringKind(
    'a path',
    (text, folder) =>
      text === '' || text.includes('\0') || TYPOGRAPHIC_QUOTE.test(text) ? undefined : resolve(folder, text),
    'paths',
  ),
  hint: (text) => (TYPOGRAPHIC_QUOTE.test(text) ? ': its quotes are part of it; a shell knows " and \' alone' : ''),
  names: (absolute) => ({ kind: 'path', text: absolute, path: absolute }),
};

/** A switch: present without a value, or with one of the usual words. */
export const onOrOff: Kind<boolean> = { member: 'boolean', expected: SWITCH_EXPECTED, read: readSwitch };

/** A port that clients can be told: 16 bits, not 0. */
export const port: Kind<number> = {
  member: 'integer',
  expected: 'a whole number from 1 to 65535',
  read: (text) => wholeNumber(text, 1, 65535),
};

/** A host as a link has it; an IPv6 address gets its brackets (RFC 3986 section 3.2.2). */
export const host = stringKind('a host name or an IP address, without a port', (text) => {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (isIPv6(bare)) return `[${bare}]`;
  return /^[^\s:/?#@[\]\\]+$/.test(text) && !CONTROL_CHARACTER.test(text) ? text : undefined;
});

/** A host name as browsers send it: lower case, in ASCII, without a trailing dot. */
export const hostName = stringKind(
  'a host name such as panel.example.org, without a port (addresses and localhost need not be named)',
  (text, folder) => {
    const name = domainToASCII(host.read(text.replace(/\.$/, ''), folder) ?? '');
    return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name) ? name : undefined;
  },
);

/** A listening address. Port 0 lets the system choose. */
const bindAddress: Kind<string> = {
  ...stringKind('an address as host:port, such as 127.0.0.1:9090 or [::1]:9090', (text) => {
    const parts = /^(?:\[([^\]]+)\]|([^\s:/?#@[\]\\*]+)):(\d{1,5})$/.exec(text);
    if (parts === null) return undefined;
    const [, bracketed, plain, portText = ''] = parts;
    if (bracketed !== undefined && !isIPv6(bracketed)) return undefined;
    if (plain !== undefined && CONTROL_CHARACTER.test(plain)) return undefined;
    return wholeNumber(portText, 0, 65535) === undefined ? undefined : text;
  }),
  hint: portHint,
};

/** Returns a hint for the usual mistake, an address without one of its parts. */
function portHint(text: string): string {
  const [, port = ''] = /:(\d+)$/.exec(text) ?? [];
  if (Number(port) > 65535) return ': a port is at most 65535';
  if (text.startsWith('*:')) return `: all addresses are 0.0.0.0:${port} or [::]:${port}`;
  if (/^\d+$/.test(text)) return `: with a host, as 127.0.0.1:${text}`;
  return '';
}

const SOCKET = 'unix:';

/** A listening address or a Unix socket; a relative path starts at the folder. */
export const listenAddress: Kind<string> = {
  ...stringKind(
    'an address as host:port, such as 127.0.0.1:9090 or [::1]:9090, or unix: and a path, such as unix:/run/keyway/api.sock',
    (text, folder) => {
      if (!text.startsWith(SOCKET)) return bindAddress.read(text, folder);
      const found = path.read(text.slice(SOCKET.length), folder);
      return found === undefined ? undefined : SOCKET + found;
    },
  ),
  hint: portHint,
  names: (text) => {
    if (text.startsWith(SOCKET)) return { kind: 'socket', text, path: text.slice(SOCKET.length) };
    return { kind: 'port', text, port: Number(text.slice(text.lastIndexOf(':') + 1)) };
  },
};

export const connections: Kind<number> = {
  member: 'integer',
  expected: 'a whole number from 1 to 1000000',
  read: (text) => wholeNumber(text, 1, 1_000_000),
};

/**
 * A PostgreSQL database. An `@` after the host means that the password contains a character that ends a URL's host
 * (`/`, `?`, `#`); its first part would be taken for host and port, and printed as such.
 */
export const databaseUrl = stringKind(
  'a URL such as postgres://user@host/database: one host, a name that leads to the primary where there are several, and a password that is percent-encoded',
  (text) => {
    if (!URL.canParse(text) || CONTROL_CHARACTER.test(text)) return undefined;
    const { protocol, host, pathname, search, searchParams, hash } = new URL(text);
    const isWhole = hash === '' && !`${pathname}${search}`.includes('@');
    const isOneHost = !`${host}${searchParams.get('host') ?? ''}`.includes(',');
    return ['postgres:', 'postgresql:'].includes(protocol) && isWhole && isOneHost ? text : undefined;
  },
);

/** Milliseconds. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

const MOST_SECONDS = 86_400;

/** A number of seconds, which may be 0; its value is in milliseconds. */
export const seconds: Kind<number> = {
  member: 'integer',
  expected: `a whole number of seconds up to ${MOST_SECONDS}`,
  read: (text) => {
    const count = wholeNumber(text, 0, MOST_SECONDS);
    return count === undefined ? undefined : count * SECOND;
  },
};

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/;

/** RFC 3986 section 3.1. */
export const scheme = stringKind('a URI scheme such as ostp, without ://', (text) =>
  SCHEME.test(text) ? text : undefined,
);

export const shareQuery = stringKind('empty, or a query written with its ?, such as ?type=udp', (text) =>
  text === '' || (/^\?[^\s#]*$/.test(text) && !CONTROL_CHARACTER.test(text)) ? text : undefined,
);

/** Leading and trailing slashes are removed, as the specification does ("Addressing"). */
function readWebpath(text: string): string | undefined {
  const trimmed = withoutOuterSlashes(text);
  const segments = trimmed === '' ? [] : trimmed.split('/');
  const sound = segments.every((segment) => /^[A-Za-z0-9._~-]+$/.test(segment) && !/^\.{1,2}$/.test(segment));
  return sound ? trimmed : undefined;
}

const WEBPATH = 'letters, digits and - . _ ~, in segments parted by /';

export const webpath = stringKind(`empty, or ${WEBPATH}`, readWebpath);

export const passwordHash = stringKind('empty, or a hash as "keyway hash-password" prints it', (text) => {
  return text === '' || (isPasswordHash(text) && text === text.toLowerCase()) ? text : undefined;
});

function readMount(text: string): MountSetting | undefined {
  const at = text.indexOf('@');
  const name = at < 0 ? text : text.slice(0, at);
  const webpath = at < 0 ? null : readWebpath(text.slice(at + 1));
  const resolved = resolveRevision(name);
  if (!resolved.ok || webpath === undefined || webpath === '') return undefined;
  const { revision, version, note } = resolved;
  return { text, name, webpath, revision, version, note };
}

export const mount: Kind<MountSetting> = {
  ...stringKind(`${knownRevisions()}; behind it perhaps @ and a web path (${WEBPATH})`, readMount, 'revisions'),
  hint: (text) => nearestRevision(text.split('@', 1)[0] ?? ''),
};

/** A panel folder. A text before `=` names a mount unless it looks like a path, as in `./a=b`. */
export const panelFolder: Kind<PanelFolder> = {
  ...stringKind(
    'a folder, perhaps with a mount and = before it',
    (text, folder) => {
      const parts = /^([A-Za-z0-9][^=/\\]*(?:@[^=]*)?)=(.*)$/.exec(text);
      const place = path.read(parts?.[2] ?? text, folder);
      return place === undefined ? undefined : { mount: parts?.[1] ?? null, folder: place };
    },
    'paths',
  ),
  names: ({ mount, folder }) => ({ kind: 'path', text: mount === null ? folder : `${mount}=${folder}`, path: folder }),
};

/** A revision with an announced end, as `--sunset` names it. */
export interface Sunset {
  /** The text before the day. */
  readonly mount: string;
  /** The revision that `mount` names; null if it names none by itself, for example with a web path. */
  readonly revision: Revision | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A revision and, after the last `@`, a day in UTC. */
export const sunset: Kind<Sunset> = stringKind(
  'a revision and the day on which it goes, as 0.2.48@2027-03-01',
  (text) => {
    const [, mount = '', day = ''] = /^(.+)@(\d{4}-\d\d-\d\d)$/.exec(text) ?? [];
    const at = Date.parse(day);
    // A day that does not exist, such as 30 February, becomes another day when written again.
    if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(day)) return undefined;
    const named = resolveRevision(mount);
    return { mount, revision: named.ok ? named.revision : null, at };
  },
);

/** Returns the URL; null if the text is not one of HTTP, or has more in it than origin and path. */
function plainHttpUrl(text: string): URL | null {
  if (!URL.canParse(text) || CONTROL_CHARACTER.test(text)) return null;
  const url = new URL(text);
  const { protocol, username, password, search, hash } = url;
  if (protocol !== 'http:' && protocol !== 'https:') return null;
  return username !== '' || password !== '' || search !== '' || hash !== '' ? null : url;
}

/** An address that events are sent to. */
export const webhookUrl = stringKind('a URL such as https://host/path, without a name and password in it', (text) => {
  if (!URL.canParse(text) || CONTROL_CHARACTER.test(text)) return undefined;
  const { protocol, username, password, hash, href } = new URL(text);
  const isHttp = protocol === 'http:' || protocol === 'https:';
  return isHttp && username === '' && password === '' && hash === '' ? href : undefined;
});

/** A secret as Standard Webhooks writes it. */
export const webhookSecret = stringKind('whsec_ and Base64 of 24 to 64 bytes', (text) => {
  const [, base64 = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const { length } = Buffer.from(base64, 'base64');
  return length >= 24 && length <= 64 ? text : undefined;
});

/** The root of a server's API, as `https://host:port/webpath/api`; `/api` is added where it is left out. */
export const apiRoot = stringKind("a server's API as http(s)://host:port/webpath/api, without ? or #", (text) => {
  const url = plainHttpUrl(text);
  if (url === null) return undefined;
  const path = withoutEnd(url.pathname, '/');
  return `${url.origin}${path.endsWith('/api') ? path : `${path}/api`}`;
});

/** Returns the path of a server's address without the `/api` after its web path. */
export function withoutApi({ pathname }: URL): string {
  return pathname.replace(/(?<=.)\/api\/*$/, '');
}

/** The address of a running server's panel or API; `/api` after the web path may be left out. */
export const upstream = stringKind(
  `a server as http(s)://host:port/webpath, without credentials, ? or # (the web path: ${WEBPATH})`,
  (text, folder): UpstreamAddress | undefined => {
    const url = plainHttpUrl(text);
    const webpath = readWebpath(url === null ? '..' : withoutApi(url));
    if (url === null || webpath === undefined) return undefined;
    const { hostname, protocol, port, origin } = url;
    const host = hostname.replace(/[^A-Za-z0-9.-]+/g, '_');
    const name = `keyway-${host}-${port || (protocol === 'https:' ? 443 : 80)}.keyway`;
    return { origin, webpath, dataFolder: join(folder, name) };
  },
);

/** A line that a server is called as. */
export const revision: Kind<ResolvedRevision> = {
  ...stringKind(
    knownRevisions(),
    (text): ResolvedRevision | undefined => {
      const resolved = resolveRevision(text);
      return resolved.ok ? resolved : undefined;
    },
    'revisions',
  ),
  hint: nearestRevision,
};

/** One `--panel-server`: its name in the panel, empty to show host and path, and the root of its API. */
export interface PanelServerSetting {
  readonly name: string;
  readonly root: string;
}

export const panelServer = stringKind(
  "a server's API as http(s)://host:port/webpath/api, without ? or #, perhaps with a name and = before it",
  (text, folder): PanelServerSetting | undefined => {
    const [, name = '', url = text] = /^(?!https?:)([^=]+)=(.*)$/i.exec(text) ?? [];
    const root = apiRoot.read(url, folder);
    return root === undefined || CONTROL_CHARACTER.test(name) ? undefined : { name: name.trim(), root };
  },
);

/** An IP address or a range of them, or `unix`. */
export const proxyAddress = stringKind('an IP address, a range such as 10.0.0.0/8 or fd00::/8, or unix', (text) => {
  if (text === 'unix') return text;
  const slash = text.indexOf('/');
  const family = isIP(slash < 0 ? text : text.slice(0, slash));
  if (family === 0) return undefined;
  if (slash < 0) return text;
  return wholeNumber(text.slice(slash + 1), 0, family === 4 ? 32 : 128) === undefined ? undefined : text;
});

export const loginGuard = stringKind(
  'off, or failures/minutes such as 5/5',
  (text): { readonly failures: number; readonly window: number } | 'off' | undefined => {
    if (text === 'off') return 'off';
    const [failures, minutes, ...rest] = text.split('/');
    if (rest.length > 0) return undefined;
    const count = wholeNumber(failures ?? '', 1, 1_000_000);
    const length = wholeNumber(minutes ?? '', 1, 1_000_000);
    return count === undefined || length === undefined ? undefined : { failures: count, window: length * MINUTE };
  },
);

/** A fault of a gateway for tests. */
export const fault = stringKind(FAULT_EXPECTED, (text): Fault | undefined => readFault(text));

const LOGGED_REQUESTS = ['changes', 'all', 'none'] as const;
type LoggedRequests = (typeof LOGGED_REQUESTS)[number];

/** The requests that get a line in the log: a word, or a switch as in earlier versions. */
export const loggedRequests: Kind<LoggedRequests> = {
  ...stringKind(
    `one of ${LOGGED_REQUESTS.join(', ')}`,
    (text): LoggedRequests | undefined => {
      const on = readSwitch(text);
      if (on !== undefined) return on ? 'all' : 'none';
      return LOGGED_REQUESTS.find((word) => word === text);
    },
    LOGGED_REQUESTS,
  ),
  member: 'string or boolean',
};

export const logLevel = stringKind(
  `one of ${LOG_LEVELS.join(', ')}`,
  (text): LogLevel | undefined => LOG_LEVELS.find((level) => level === text),
  LOG_LEVELS,
);
