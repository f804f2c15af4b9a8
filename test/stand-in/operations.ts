import type { AnnouncedServer, DnsConfig, OutboundAction, OutboundRule } from '../../src/core/model.js';
import { sha256Hash } from '../../src/core/password.js';
import type { ClockPort, RandomPort } from '../../src/core/ports.js';
import { clientConfig } from '../../src/wire/client-config.js';
import { commonErrors, type FailureName } from '../../src/wire/errors.js';
import { isJsonObject, JsonSyntaxError, type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { encodeJson, writeJson } from '../../src/wire/json/write-json.js';
import type { OperationName } from '../../src/wire/operations.js';
import { traitsOf } from '../../src/wire/traits/revision.js';
import { shareLink } from '../../src/wire/traits/share-link.js';
import type { Behaviour } from './behaviour.js';
import {
  isFlag,
  isText,
  isTextMap,
  isTexts,
  isU64,
  type JsonBody,
  listBody,
  type MemberShape,
  objectBody,
} from './body.js';
import { parseConfiguration } from './configuration.js';
import type { ServerFile } from './file.js';
import type { Memory } from './memory.js';

/** What an operation works on. */
export interface Server {
  readonly behaviour: Behaviour;
  readonly memory: Memory;
  readonly file: ServerFile;
  readonly announced: AnnouncedServer;
  /** The host of its TLS links, from 0.4.6 on; null without TLS. */
  readonly tlsHost: string | null;
  /** Bytes of a body that it takes at most. */
  readonly mostBodyBytes: number;
  readonly clock: ClockPort;
  readonly random: RandomPort;
}

export interface Asked {
  readonly server: Server;
  /** Of the path; empty where it has none. */
  readonly key: string;
  readonly accept: string;
  readonly query: URLSearchParams;
  /** Throws `BodyRefused`. */
  body(): JsonBody;
}

const TLS_PORT = 443;

function endpointOf({ host, port }: AnnouncedServer, tlsHost: string | null): JsonValue {
  const tls = tlsHost === null ? null : { host: tlsHost, port: BigInt(TLS_PORT), path: null };
  return { host, udp_port: BigInt(port), tls, subscription_prefix: null, dns_enabled: false };
}

/** A failure in the words of the servers. */
export class Failed extends Error {
  readonly status: number;

  constructor(row: FailureName, detail = '') {
    const { status, text } = commonErrors[row];
    super(detail === '' ? text : `${text}: ${detail}`);
    this.status = status;
  }
}

/** `data` as JSON text. Throws `Failed` and `BodyRefused`. */
export type Handler = (asked: Asked) => Promise<string>;

const LIMIT = { limit_bytes: isU64 };
const RECORD = { name: isText, ...LIMIT };

/** Every operation as the servers do it: memory first, then the file, and the answer whether it was written or not. */
export const HANDLERS: Readonly<Record<OperationName, Handler>> = {
  async getStatus({ server: { memory, behaviour, clock, announced, tlsHost } }) {
    const uptime = Math.floor((clock.monotonic() - memory.startedAt) / 1000);
    return writeJson({
      version: behaviour.version,
      uptime_seconds: BigInt(uptime),
      active_users: BigInt(memory.active),
      total_users: BigInt(memory.size),
      ...(behaviour.tellsEndpoint && { endpoint: endpointOf(announced, tlsHost) }),
    });
  },
  async getConfig({ server }) {
    const bytes = await server.file.read().catch((error) => failWith('configReadFailed', error));
    try {
      return writeJson(parseConfiguration(bytes));
    } catch (error) {
      const isComment = error instanceof JsonSyntaxError && error.step === 'comments';
      return failWith(isComment ? 'configStripFailed' : 'configParseFailed', error);
    }
  },
  async putConfig({ server, body }) {
    const { value } = body();
    if (!isJsonObject(value) || value.mode === undefined) throw new Failed('configModeMissing');
    await server.file.write(value).catch((error) => failWith('configWriteFailed', error));
    return 'true';
  },
  async listUsers({ server: { memory, behaviour } }) {
    const down = (accessKey: string) => memory.snapshot(accessKey)?.counters?.bytesDown ?? 0n;
    const keys = memory.keys().map(([accessKey]) => ({ accessKey, down: down(accessKey) }));
    keys.sort((a, b) => (a.down === b.down ? 0 : a.down > b.down ? -1 : 1));
    return `[${keys.map(({ accessKey }) => snapshotText(memory, behaviour, accessKey)).join(',')}]`;
  },
  async getUser({ server: { memory, behaviour }, key }) {
    return snapshotText(memory, behaviour, key) ?? failWith('userNotFound');
  },
  async createUser({ server, body }) {
    const {
      access_key: given,
      name,
      limit_bytes: limit,
    } = objectBody(body(), 'CreateUserRequest', {}, { access_key: isText, ...RECORD });
    const accessKey = typeof given === 'string' ? given : server.random.bytes(16).toString('hex');
    server.memory.put(accessKey, recordOf(name, limit), 'fresh');
    await save(server);
    return JSON.stringify(accessKey);
  },
  async bulkCreateUsers({ server, body }) {
    const { count, limit_bytes: limit } = objectBody(body(), 'BulkCreateRequest', { count: isU64 }, LIMIT);
    if (typeof count !== 'bigint' || count > 1000n) throw new Failed('countTooLarge');
    const keys = Array.from({ length: Number(count) }, () => server.random.bytes(8).toString('hex'));
    for (const accessKey of keys) server.memory.put(accessKey, recordOf(null, limit), 'bare');
    await save(server).catch(() => undefined);
    return JSON.stringify(keys);
  },
  async updateUser({ server, key, body }) {
    const { name, limit_bytes: limit } = objectBody(body(), 'UpdateUserRequest', {}, RECORD);
    if (!server.memory.hasKey(key)) throw new Failed('userNotFoundCapital');
    server.memory.put(key, recordOf(name, limit), 'kept');
    await save(server);
    return '"User updated"';
  },
  async setLimit({ server, key, body }) {
    const { limit_bytes: limit } = objectBody(body(), 'SetLimitRequest', {}, LIMIT);
    const known = server.memory.snapshot(key) ?? failWith('userNotFound');
    server.memory.put(key, recordOf(known.name, limit), 'kept');
    await save(server);
    return 'true';
  },
  async deleteUser({ server, key }) {
    if (!server.memory.hasKey(key)) throw new Failed('userNotFoundCapital');
    server.memory.remove(key);
    await save(server);
    return '"User removed"';
  },
  async resetUser({ server, key }) {
    if (!server.memory.reset(key)) throw new Failed('userNotFound');
    return 'true';
  },
  async subscribe({ server: { memory, behaviour, announced, tlsHost }, key, accept, query: asked }) {
    if (!memory.hasKey(key)) throw new Failed('invalidAccessKey');
    // What nobody asks to have over UDP is answered over TLS where that is set up.
    if (tlsHost !== null && asked.get('transport') !== 'udp') {
      const overTls = { ...announced, host: tlsHost, port: TLS_PORT };
      if (!accept.includes('text/plain')) return encodeJson(clientConfig(key, overTls));
      return JSON.stringify(shareLink(encodeURIComponent(key), overTls, '?type=uot&tls=1'));
    }
    if (!accept.includes('text/plain')) return encodeJson(clientConfig(key, announced));
    const query = behaviour.revision.shareQuery.query(announced.shareQuery, memory.dns.enabled);
    const written = behaviour.tellsEndpoint ? encodeURIComponent(key) : key;
    return JSON.stringify(shareLink(written, announced, query));
  },
  async login({ server: { memory, random }, body }) {
    const { username, password } = objectBody(body(), 'LoginRequest', { username: isText }, { password: isText });
    const { credentials } = memory.start;
    if (credentials.username === '' || credentials.passwordHash === '') throw new Failed('authNotConfigured');
    const digest = sha256Hash(typeof password === 'string' ? password : '');
    if (username !== credentials.username || digest !== credentials.passwordHash) throw new Failed('unauthorized');
    const token = random.uuid();
    memory.session.begin(token);
    return JSON.stringify({ token });
  },
  listAudit: async ({ server: { memory } }) => JSON.stringify(memory.audit.list()),
  async addAudit({ server, body }) {
    const event = objectBody(body(), 'AuditRequest', { eventEn: isText, eventRu: isText, success: isFlag });
    const { eventEn, eventRu, success } = event;
    server.memory.audit.add({ eventEn: String(eventEn), eventRu: String(eventRu), success: success === true });
    return 'true';
  },
  async clearAudit({ server }) {
    server.memory.audit.clear();
    return 'null';
  },
  async getRules({ server: { memory, behaviour } }) {
    const { form } = traitsOf(behaviour.revision, 'rules');
    return encodeJson((memory.rules ?? []).map((rule) => form.encode(rule)));
  },
  async putRules({ server, body }) {
    const { memory, behaviour, file } = server;
    const rules = rulesIn(body());
    if (memory.rules === null) throw new Failed('outboundNotConfigured');
    memory.rules = rules;
    const { form } = traitsOf(behaviour.revision, 'rules');
    const wire = encodeJson(rules.map((rule) => form.encode(rule)));
    // A write that fails does not change the answer.
    await file.saveRules(parseJson(Buffer.from(wire))).catch(() => undefined);
    return 'true';
  },
  async getDnsConfig({ server: { memory, behaviour } }) {
    return encodeJson(traitsOf(behaviour.revision, 'dns').form.encode(memory.dns));
  },
  async putDnsConfig({ server, body }) {
    const { memory, behaviour, file } = server;
    const { form } = traitsOf(behaviour.revision, 'dns');
    memory.dns = dnsIn(body(), memory.dns, encodeJson(form.encode(memory.dns)).includes('"local_port"'));
    const wire = parseJson(Buffer.from(encodeJson(form.encode(memory.dns))));
    await file.saveMember(['dns'], wire).catch(() => undefined);
    return 'true';
  },
  listDnsQueries: async () => '[]',
  refreshBlocklists: async () => 'true',
};

async function save({ file }: Server): Promise<void> {
  await file.saveKeys().catch(() => failWith('saveFailed'));
}

function failWith(row: FailureName, error?: unknown): never {
  throw new Failed(row, error instanceof Error ? error.message : '');
}

function snapshotText(memory: Memory, { revision }: Behaviour, accessKey: string): string | undefined {
  const key = memory.snapshot(accessKey);
  return key && revision.snapshot.encode(key, revision.online.isOnline(key.counters));
}

function recordOf(name: JsonValue | undefined, limit: JsonValue | undefined) {
  return { name: typeof name === 'string' ? name : null, limitBytes: typeof limit === 'bigint' ? limit : null };
}

/** A body's list, whatever of a rule is optional left out. */
function rulesIn(body: JsonBody): readonly OutboundRule[] {
  return listBody(body).map((value) => {
    const optional = { domain_suffix: isTexts, ip_cidr: isTexts, protocol: isText };
    const rule = objectBody({ ...body, value }, 'OutboundRule', { action: isAction }, optional);
    return {
      domainSuffix: (rule.domain_suffix ?? []) as readonly string[],
      ipCidr: (rule.ip_cidr ?? []) as readonly string[],
      protocol: (rule.protocol ?? null) as string | null,
      action: rule.action as OutboundAction,
    };
  });
}

const isAction: MemberShape = {
  expected: 'an action',
  fits: (value) => value === 'proxy' || value === 'direct' || value === 'block',
};

/** Unlike Keyway the servers want every member of their object. */
function dnsIn(asked: JsonBody, before: DnsConfig, hasPort: boolean): DnsConfig {
  const four = { enabled: isFlag, doh_upstream: isText, adblock_urls: isTexts, custom_domains: isTextMap };
  const members = hasPort ? { ...four, local_port: isU64, intercept_all_port53: isFlag } : four;
  const body = objectBody(asked, 'DnsConfig', members);
  const domains = body.custom_domains as Readonly<Record<string, string>>;
  return {
    ...before,
    enabled: body.enabled === true,
    dohUpstream: String(body.doh_upstream),
    adblockUrls: body.adblock_urls as readonly string[],
    customDomains: new Map(Object.entries(domains)),
    ...(hasPort ? { localPort: Number(body.local_port), interceptAllPort53: body.intercept_all_port53 === true } : {}),
  };
}
