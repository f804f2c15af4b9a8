import { pbkdf2Sync } from 'node:crypto';
import type {
  AnnouncedServer,
  DnsConfig,
  OutboundAction,
  OutboundRule,
  TrafficCounters,
} from '../../src/core/model.js';
import { sha256Hash } from '../../src/core/password.js';
import type { ClockPort, RandomPort } from '../../src/core/ports.js';
import { clientConfig } from '../../src/wire/client-config.js';
import { commonErrors, type FailureName } from '../../src/wire/errors.js';
import { isJsonObject, type JsonObject, JsonSyntaxError, type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { encodeJson, writeJson } from '../../src/wire/json/write-json.js';
import type { OperationName } from '../../src/wire/operations.js';
import { traitsOf } from '../../src/wire/traits/revision.js';
import { shareLink } from '../../src/wire/traits/share-link.js';
import type { Behaviour } from './behaviour.js';
import {
  defaulted,
  isFlag,
  isOneOf,
  isText,
  isTextMap,
  isTexts,
  isU64,
  type JsonBody,
  listBody,
  objectBody,
  optional,
  required,
  type Struct,
} from './body.js';
import { parseConfiguration } from './configuration.js';
import type { ServerFile } from './file.js';
import { linksOf } from './links.js';
import type { Memory } from './memory.js';

/** What an operation works on. */
export interface Server {
  readonly behaviour: Behaviour;
  readonly memory: Memory;
  readonly file: ServerFile;
  readonly announced: AnnouncedServer;
  /** The host of its TLS links, from 0.4.6 on; null without TLS. */
  readonly tlsHost: string | null;
  /** Failed sign-ins that are still free; null where none is counted. */
  readonly failedLogins: FailedLogins | null;
  /** Bytes of a body that it takes at most. */
  readonly mostBodyBytes: number;
  readonly clock: ClockPort;
  readonly random: RandomPort;
}

/** One bucket for all who sign in. */
export interface FailedLogins {
  isEmpty(): boolean;
  take(): void;
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

/** The five members of a status from 0.4.6 on. */
function statusOfServer({ memory, announced, tlsHost }: Server): JsonObject {
  const counted = memory.counted().map(([, counters]) => counters);
  const sum = (of: (counters: TrafficCounters) => bigint) => counted.reduce((all, each) => all + of(each), 0n);
  const { tls, domain, prefix, dnsEnabled } = memory.start.published;
  const place = tlsHost === null ? tls : { port: 443, path: null };
  return {
    online_users: BigInt(counted.filter(({ connections }) => connections > 0n).length),
    connections: sum(({ connections }) => connections),
    bytes_up: sum(({ bytesUp }) => bytesUp),
    bytes_down: sum(({ bytesDown }) => bytesDown),
    endpoint: {
      host: announced.host,
      udp_port: BigInt(announced.port),
      tls: place === null ? null : { host: tlsHost ?? domain, port: BigInt(place.port), path: place.path },
      subscription_prefix: prefix,
      dns_enabled: memory.sections.dns === null ? dnsEnabled : memory.sections.dns.enabled === true,
    },
  };
}

/** What a subscription says from 0.4.6 on, members in the order of their names; a link of each carrier beside it. */
function subscriptionOf(server: Server, key: string, accept: string, transport: string | null): WholeEnvelope {
  const links = linksOf(server, key);
  const link = transport === 'udp' || links.tls === null ? links.udp : links.tls;
  const [, address = '', query = ''] = /@([^?]*)\?(.*)$/.exec(link) ?? [];
  const isUdp = link === links.udp;
  const config = {
    access_key: key,
    debug: false,
    exclude: { domains: [], ips: [], processes: [] },
    mode: 'client',
    mux: { enabled: false, sessions: 1n },
    server: address,
    socks5_bind: '127.0.0.1:1088',
    transport: isUdp ? { mode: 'udp' } : { mode: 'uot', tls: true, ws_path: new URLSearchParams(query).get('path') },
    tun: { dns: '1.1.1.1', enable: false },
    turn: { enabled: false },
  };
  return { envelope: encodeJson({ data: accept.includes('text/plain') ? link : config, links, ok: true }) };
}

/** A hash of PBKDF2 from 0.4.7 on, else of SHA-256, whose upper case only those know. */
function passwordFits({ behaviour, memory }: Server, password: string): boolean {
  const { passwordHash } = memory.start.credentials;
  const digest = sha256Hash(password);
  if (!behaviour.later.takesPbkdf2) return digest === passwordHash;
  const [form, iterations, salt, derived, ...others] = passwordHash.split('$');
  if (form !== 'pbkdf2-sha256') return digest === passwordHash.toLowerCase();
  if (salt === undefined || derived === undefined || others.length > 0) return false;
  const found = pbkdf2Sync(password, Buffer.from(salt, 'hex'), Number(iterations), 32, 'sha256').toString('hex');
  return found === derived.toLowerCase();
}

/** A failure in the words of the servers. */
export class Failed extends Error {
  readonly status: number;

  constructor(row: FailureName, detail = '') {
    const { status, text } = commonErrors[row];
    super([text, detail].filter((part) => part !== '').join(': '));
    this.status = status;
  }
}

/** The refusal of every sign-in from 0.4.7 on once too many have failed, in a text that no other server has. */
export class TooManySignIns extends Error {
  constructor() {
    super('too many sign-in attempts, wait a minute');
  }
}

/** An answer that has more than `data`. */
export interface WholeEnvelope {
  readonly envelope: string;
}

/** `data` as JSON text, or all of the answer. Throws `Failed`, `BodyRefused` and `TooManySignIns`. */
export type Handler = (asked: Asked) => Promise<string | WholeEnvelope>;

const LIMIT = { limit_bytes: optional(isU64) };
const RECORD = { name: optional(isText), ...LIMIT };

const readsStruct = (name: string, members: Struct['members']) => (body: JsonBody) =>
  objectBody(body, { name, members });

/** Reads the body of an operation. Throws `BodyRefused`. */
export const READERS = {
  createUser: readsStruct('CreateUserRequest', { access_key: optional(isText), ...RECORD }),
  bulkCreateUsers: readsStruct('BulkCreateRequest', { count: required(isU64), ...LIMIT }),
  updateUser: readsStruct('UpdateUserRequest', RECORD),
  setLimit: readsStruct('SetLimitRequest', LIMIT),
  login: readsStruct('LoginRequest', { username: required(isText), password: optional(isText) }),
  addAudit: readsStruct('AuditRequest', {
    eventEn: required(isText),
    eventRu: required(isText),
    success: required(isFlag),
  }),
  putRules: (body: JsonBody) => rulesIn(body),
} as const;

/**
 * Every operation as the servers do it: memory first, then the file, and the answer whether it was written or not. Those of 0.4.6 on
 * are `LATER_ROUTES`.
 */
export const HANDLERS: Readonly<Partial<Record<OperationName, Handler>>> = {
  async getStatus({ server }) {
    const { memory, behaviour, clock } = server;
    const uptime = Math.floor((clock.monotonic() - memory.startedAt) / 1000);
    return writeJson({
      version: behaviour.version,
      uptime_seconds: BigInt(uptime),
      active_users: BigInt(memory.active),
      total_users: BigInt(memory.size),
      ...(behaviour.later.tellsServer ? statusOfServer(server) : {}),
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
    const { access_key: given, name, limit_bytes: limit } = READERS.createUser(body());
    const accessKey = typeof given === 'string' ? given : server.random.bytes(16).toString('hex');
    server.memory.put(accessKey, recordOf(name, limit), 'fresh');
    await save(server);
    return JSON.stringify(accessKey);
  },
  async bulkCreateUsers({ server, body }) {
    const { count, limit_bytes: limit } = READERS.bulkCreateUsers(body());
    if (typeof count !== 'bigint' || count > 1000n) throw new Failed('countTooLarge');
    const keys = Array.from({ length: Number(count) }, () => server.random.bytes(8).toString('hex'));
    for (const accessKey of keys) server.memory.put(accessKey, recordOf(null, limit), 'bare');
    await save(server).catch(() => undefined);
    return JSON.stringify(keys);
  },
  async updateUser({ server, key, body }) {
    const { name, limit_bytes: limit } = READERS.updateUser(body());
    if (!server.memory.hasKey(key)) throw new Failed('userNotFoundCapital');
    server.memory.put(key, recordOf(name, limit), 'kept');
    await save(server);
    return '"User updated"';
  },
  async setLimit({ server, key, body }) {
    const { limit_bytes: limit } = READERS.setLimit(body());
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
  async subscribe({ server, key, accept, query: asked }) {
    const { memory, behaviour, announced } = server;
    if (!memory.hasKey(key)) throw new Failed('invalidAccessKey');
    if (behaviour.later.tellsServer) return subscriptionOf(server, key, accept, asked.get('transport'));
    if (!accept.includes('text/plain')) return encodeJson(clientConfig(key, `${announced.host}:${announced.port}`));
    const query = behaviour.revision.shareQuery.query(announced.shareQuery, memory.dns.enabled);
    return JSON.stringify(shareLink(key, announced, query));
  },
  async login({ server, body }) {
    const { memory, random, failedLogins } = server;
    const { username, password } = READERS.login(body());
    const { credentials } = memory.start;
    if (credentials.username === '' || credentials.passwordHash === '') throw new Failed('authNotConfigured');
    if (failedLogins?.isEmpty() === true) throw new TooManySignIns();
    const isRight = passwordFits(server, typeof password === 'string' ? password : '');
    if (username !== credentials.username || !isRight) {
      failedLogins?.take();
      throw new Failed('unauthorized');
    }
    const token = random.uuid();
    memory.session.begin(token);
    return JSON.stringify({ token });
  },
  listAudit: async ({ server: { memory } }) => JSON.stringify(memory.audit.list()),
  async addAudit({ server, body }) {
    const event = READERS.addAudit(body());
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
    const rules = READERS.putRules(body());
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
  await file.saveKeys().catch(() => failWith('savedInMemory'));
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

const RULE: Struct = {
  name: 'OutboundRule',
  members: {
    domain_suffix: defaulted(isTexts),
    ip_cidr: defaulted(isTexts),
    protocol: optional(isText),
    action: required(isOneOf('proxy', 'direct', 'block')),
    send_from: optional(isText),
  },
  fewestElements: 4,
};

/** A body's list, whatever of a rule is optional left out. */
function rulesIn(body: JsonBody): readonly OutboundRule[] {
  return listBody(body, RULE).map((rule) => ({
    domainSuffix: (rule.domain_suffix ?? []) as readonly string[],
    ipCidr: (rule.ip_cidr ?? []) as readonly string[],
    protocol: (rule.protocol ?? null) as string | null,
    action: rule.action as OutboundAction,
    ...(typeof rule.send_from === 'string' ? { sendFrom: rule.send_from } : {}),
  }));
}

/** Unlike Keyway the servers want every member of their object. */
function dnsIn(asked: JsonBody, before: DnsConfig, hasPort: boolean): DnsConfig {
  const four = {
    enabled: required(isFlag),
    doh_upstream: required(isText),
    adblock_urls: required(isTexts),
    custom_domains: required(isTextMap),
  };
  const members = hasPort ? { ...four, local_port: required(isU64), intercept_all_port53: required(isFlag) } : four;
  const body = objectBody(asked, { name: 'DnsConfig', members });
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
