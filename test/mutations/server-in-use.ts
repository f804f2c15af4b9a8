import { createHash } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Caller } from '../../src/client/call.js';
import { createCaller } from '../../src/client/caller.js';
import { createControl } from '../../src/client/signed-in-caller.js';
import type { DnsQuery } from '../../src/core/model.js';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { createFixedClock } from '../../src/embedded/stage.js';
import { createGateway } from '../../src/index.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { revisionNamed } from '../lab/live-server.js';
import { bytesOf, startScriptedServer } from '../stand-in/scripted-server.js';
import type { Asked, Forward, Mutation, Reply, Site } from './mutation.js';

export const OPERATOR = { username: 'boss', password: 'live-password-7' };
const TOKEN = 'live-token-7';

/** A limit that no double holds. */
const GREAT_LIMIT = 2n ** 53n + 1n;

/** Whatever the configuration of a server may say, with keys of every kind. */
const FILE = `{
  "mode": "server",
  "listen": "198.51.100.9:50000",
  "access_keys": [
    "idle",
    { "access_key": "used", "name": "Used", "limit_bytes": 1000000 },
    "connected",
    { "access_key": "with/slash", "limit_bytes": ${GREAT_LIMIT} },
    "with blank"
  ],
  "outbound": {
    "enabled": true,
    "protocol": "socks5",
    "address": "127.0.0.1",
    "port": 9050,
    "default_action": "direct",
    "rules": [
      { "domain_suffix": [".onion"], "ip_cidr": ["10.0.0.0/8"], "protocol": "tcp", "action": "proxy" },
      { "domain_suffix": [".local"], "action": "direct" },
      { "domain_suffix": [".ads"], "action": "block" }
    ]
  },
  "dns": {
    "enabled": true,
    "doh_upstream": "https://dns.example/dns-query",
    "adblock_urls": ["https://lists.example/a.txt"],
    "custom_domains": { "nas.example": "192.0.2.7" },
    "local_port": 5353
  },
  "api": {
    "enabled": true,
    "bind": "127.0.0.1:9090",
    "token": "${TOKEN}",
    "webpath": "/panel",
    "username": "${OPERATOR.username}",
    "password_hash": "${createHash('sha256').update(OPERATOR.password).digest('hex')}"
  }
}
`;

/** A server of this line; the token of its session is any. */
export function siteOf(line: string): Site {
  const revision = revisionNamed(line);
  const session = revision.capabilities.login === undefined ? null : 'session';
  return { revision, ...revision.root.paths('/panel'), token: TOKEN, session };
}

/** A Keyway of one line in use, behind a proxy that makes it wrong. */
export interface MutatedServer {
  readonly site: Site;
  /** Its answers made wrong, without a socket. */
  caller(mutation: Mutation | null): Caller;
  /** Has it listen, made wrong; resolves to its origin. */
  listen(mutation: Mutation | null): Promise<string>;
  close(): Promise<void>;
}

export interface MutatedServerOptions {
  /** Its query log: scenarios that are played begin with an empty one. */
  readonly queries?: readonly DnsQuery[];
  /** The query of its share links. */
  readonly shareQuery?: string;
}

export async function startMutatedServer(
  line: string,
  { queries = QUERIES, shareQuery = '?sni=example.org' }: MutatedServerOptions = {},
): Promise<MutatedServer> {
  const revision = revisionNamed(line);
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/server', 0o700);
  await fileSystem.create('/server/server.jsonc', Buffer.from(FILE), 0o600);
  await fileSystem.makeFolder('/panel/assets', 0o700);
  await fileSystem.create('/panel/index.html', Buffer.from(INDEX_PAGE), 0o600);
  await fileSystem.create('/panel/assets/app.js', Buffer.from('export {};\n'), 0o600);
  const app = await createGateway({
    mounts: [{ revision: line, panelDir: '/panel' }],
    configPath: '/server/server.jsonc',
    announced: { shareQuery },
    loginGuard: 'off',
    // It goes on with every look, so that nobody waits for the uptime.
    clock: createFixedClock(),
    fileSystem,
    resolver: { ...createNoResolver(), queries: () => queries },
  });
  app.keyway.local?.keys.setCounters('used', { bytesUp: 1000n, bytesDown: 2000n, connections: 0n });
  app.keyway.local?.keys.setCounters('connected', { bytesUp: 3000n, bytesDown: 4000n, connections: 2n });
  for (const eventEn of ['Sign-in', 'Sign-out']) app.keyway.core.audit.add({ eventEn, eventRu: 'Вход', success: true });
  const forward: Forward = async ({ method, path, headers, body }) => {
    const answer = await app.inject({
      method: method as 'GET', // Any method is passed on; the type lists the usual ones.
      url: path,
      headers: Object.fromEntries(headers),
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: answer.statusCode, headers: namedHeaders(answer.headers), body: answer.rawPayload };
  };
  const { api, base } = siteOf(line);
  const target = { origin: 'http://127.0.0.1', apiRoot: api, base };
  const remembered = remembering(forward, `${api}/server/status`);
  const plain = callerOf(remembered);
  const session = await createControl(plain, {
    target,
    revision,
    credentials: { token: null, operator: OPERATOR },
  }).session();
  const opened: (() => Promise<void>)[] = [];
  return {
    site: { ...siteOf(line), session },
    caller: (mutation) => (mutation === null ? plain : callerOf((asked) => mutation.answer(asked, remembered))),
    async listen(mutation) {
      const origin = await app.listen({ host: '127.0.0.1', port: 0 });
      // Without a socket paths would be rewritten.
      const behind = createCaller({ origin, timeoutMilliseconds: 10_000, connections: 4 });
      const wrong: Forward = (asked) =>
        mutation === null ? behind.send(asked) : mutation.answer(asked, (next) => behind.send(next));
      const proxy = await startScriptedServer(scriptOf(wrong));
      opened.push(proxy.close, async () => behind.close());
      return proxy.origin;
    },
    async close() {
      for (const end of opened) await end();
      await app.close();
    },
  };
}

/** Asks for the same read once, but for the path whose answers differ by the time: nothing changes where all that asks reads. */
function remembering(forward: Forward, moving: string): Forward {
  const known = new Map<string, Promise<Reply>>();
  return (asked) => {
    const { method, path, headers } = asked;
    if ((method !== 'GET' && method !== 'OPTIONS') || path === moving) return forward(asked);
    const id = JSON.stringify([method, path, [...headers]]);
    const reply = known.get(id) ?? forward(asked);
    known.set(id, reply);
    return reply;
  };
}

const INDEX_PAGE = '<!doctype html><title>panel</title><script type="module" src="./assets/app.js"></script>\n';
const QUERIES = [
  { timestamp: 1_750_000_000, domain: 'a.example', clientIp: '192.0.2.1', blocked: false },
  { timestamp: 1_750_000_001, domain: 'b.example', clientIp: '192.0.2.2', blocked: true },
];

function callerOf(forward: Forward): Caller {
  return {
    async send({ method, path, headers, body }) {
      const lower = new Map([...headers].map(([name, value]) => [name.toLowerCase(), value]));
      return { ...(await forward({ method, path, headers: lower, body })), firstByteMilliseconds: 0 };
    },
    close: () => undefined,
  };
}

function namedHeaders(
  given: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): Reply['headers'] {
  return new Map(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(', ')] as const],
    ),
  );
}

function scriptOf(forward: Forward): RequestListener {
  return (request, response) => {
    askedBy(request)
      .then(forward)
      .then(({ status, headers, body }) => {
        const own = [...headers].filter(([name]) => name !== 'content-length' && name !== 'transfer-encoding');
        response.writeHead(status, { ...Object.fromEntries(own), 'content-length': String(body.length) });
        response.end(request.method === 'HEAD' ? undefined : body);
      })
      .catch(() => response.destroy());
  };
}

async function askedBy(request: IncomingMessage): Promise<Asked> {
  const body = await bytesOf(request);
  const headers = namedHeaders(request.headers);
  const hasBody = body.length > 0 || request.headers['content-length'] !== undefined;
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: new Map([...headers].filter(([name]) => name !== 'connection' && name !== 'transfer-encoding')),
    body: hasBody ? body : undefined,
  };
}
